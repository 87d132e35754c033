"""The IR builder: emits LLVM text for values that are one scalar, base + lane * stride, or one element a lane.

With ``lanes`` = 32 (CPU) a varying value is ``<32 x T>``; with ``lanes`` = 1 (amdgcn: the hardware makes the lanes) every value is a
scalar of one lane and the distinction disappears.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

UNIFORM, AFFINE, VARYING = 0, 1, 2

BITS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "i128": 128,
    "half": 16,
    "bfloat": 16,
    "float": 32,
    "double": 64,
}
FLOATS = frozenset({"half", "bfloat", "float", "double"})
FLOAT_OF_BITS = {16: "half", 32: "float", 64: "double"}
MANTISSA = {"half": 10, "bfloat": 7, "float": 23, "double": 52}


@dataclass(slots=True)
class Value:
    """An IR value. ``text``: the scalar (uniform), the base (affine) or the vector (varying). ``ok``: an i1 that says whether the
    affine form holds (None: always); then ``vec`` is the exact vector."""

    type: str
    kind: int
    text: str
    stride: int = 0
    ok: str | None = None
    vec: str | None = None
    aligned: bool = False


class Builder:
    """Emits instructions into ``lines``; allocas and code for the entry block into ``entry``."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.declarations: dict[str, str] = {}  # name → declaration
        self.helpers: dict[str, str] = {}  # internal functions by name
        self.counter = 0
        self.splats: dict[tuple[str, str], str] = {}

    # -- plumbing -------------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        """A new local name."""
        self.counter += 1
        return f"%t{self.counter}"

    def label(self, hint: str) -> str:
        """A new label name (without ``%``)."""
        self.counter += 1
        return f"{hint}{self.counter}"

    def emit(self, text: str) -> None:
        """Appends one instruction that has no result."""
        self.lines.append("  " + text)

    def let(self, text: str) -> str:
        """Appends ``%new = text`` and answers the name."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def let_entry(self, text: str) -> str:
        """As `let`, in the entry block."""
        name = self.fresh()
        self.entry.append(f"  {name} = {text}")
        return name

    def place(self, label: str) -> None:
        """Starts a basic block."""
        self.lines.append(f"{label}:")

    def declare(self, name: str, signature: str) -> None:
        """Declares an intrinsic or function: signature as in ``i32 (i32, i1)``."""
        result, _, args = signature.rpartition(" (")
        self.declarations[name] = f"declare {result} @{name}({args}"

    def vector(self, type_: str) -> str:
        """The type of a varying value of this element type."""
        return type_ if self.lanes == 1 else f"<{self.lanes} x {type_}>"

    def typed(self, v: Value) -> str:
        """The IR type of a uniform or varying value's text."""
        return v.type if v.kind == UNIFORM else self.vector(v.type)

    # -- forms of a value -----------------------------------------------------------------------------------------

    def integer(self, type_: str, value: int) -> Value:
        """An integer constant, wrapped to the type."""
        bits = BITS[type_]
        value &= (1 << bits) - 1
        if bits == 1:
            return Value(type_, UNIFORM, "true" if value else "false")
        if value >> (bits - 1):
            value -= 1 << bits
        return Value(type_, UNIFORM, str(value))

    def real(self, type_: str, bits: int) -> Value:
        """A floating-point constant from its IEEE bits."""
        return Value(type_, UNIFORM, f"bitcast (i{BITS[type_]} {bits} to {type_})")

    def vec(self, v: Value) -> str:
        """The text of `v` with one element a lane."""
        if self.lanes == 1 or v.kind == VARYING:
            return v.text
        if v.kind == AFFINE:
            if v.vec is not None:
                return v.vec
            # Kept by block, not in the value: thread indices, say, are shared by all blocks.
            key = (v.type, f"{v.text} + lane * {v.stride}")
            known = self.splats.get(key)
            if known is None:
                steps = ", ".join(f"{v.type} {_wrap(k * v.stride, BITS[v.type])}" for k in range(self.lanes))
                base = self.splat(v.type, v.text)
                known = self.splats[key] = self.let(f"add {self.vector(v.type)} {base}, <{steps}>")
            return known
        return self.splat(v.type, v.text)

    def splat(self, type_: str, text: str) -> str:
        """A vector with `text` in every lane."""
        if text[:1] != "%":
            return f"splat ({type_} {text})"
        key = (type_, text)
        known = self.splats.get(key)
        if known is None:
            t = self.vector(type_)
            one = self.let(f"insertelement {t} poison, {type_} {text}, i32 0")
            known = self.let(f"shufflevector {t} {one}, {t} poison, <{self.lanes} x i32> zeroinitializer")
            self.splats[key] = known
        return known

    def varying(self, v: Value) -> Value:
        """`v` as one element a lane."""
        return v if v.kind == VARYING else Value(v.type, VARYING, self.vec(v))

    def _forms(self, values: Sequence[Value]) -> tuple[int, list[str]]:
        if self.lanes == 1 or all(v.kind == UNIFORM for v in values):
            return UNIFORM, [v.text for v in values]
        return VARYING, [self.vec(v) for v in values]

    # -- operations -----------------------------------------------------------------------------------------------

    def bin(self, op: str, a: Value, b: Value) -> Value:
        """A binary instruction (``and``, ``fadd``, ``lshr`` …) without poison-generating flags."""
        kind, (x, y) = self._forms((a, b))
        return Value(a.type, kind, self.let(f"{op} {a.type if kind == UNIFORM else self.vector(a.type)} {x}, {y}"))

    def add(self, a: Value, b: Value) -> Value:
        """Integer addition; affine forms stay affine."""
        return self._affine("add", a, b, 1)

    def sub(self, a: Value, b: Value) -> Value:
        """Integer subtraction; affine forms stay affine."""
        return self._affine("sub", a, b, -1)

    def _affine(self, op: str, a: Value, b: Value, sign: int) -> Value:
        if AFFINE not in (a.kind, b.kind) or VARYING in (a.kind, b.kind) or a.type not in ("i32", "i64"):
            return self.bin(op, a, b)
        text = self.let(f"{op} {a.type} {a.text}, {b.text}")
        stride = a.stride + sign * b.stride
        ok = self._both(a.ok, b.ok)
        if ok is None:
            return Value(a.type, AFFINE if stride else UNIFORM, text, stride)
        exact = self.let(f"{op} {self.vector(a.type)} {self.vec(a)}, {self.vec(b)}")
        return Value(a.type, AFFINE, text, stride, ok, exact)

    def _both(self, a: str | None, b: str | None) -> str | None:
        if a is None or b is None or a == b:
            return a or b
        return self.let(f"and i1 {a}, {b}")

    def mul(self, a: Value, b: Value) -> Value:
        """Integer multiplication; an affine value times a constant stays affine."""
        for x, y in ((a, b), (b, a)):
            if x.kind == AFFINE and y.kind == UNIFORM and y.text[:1] != "%" and x.type in ("i32", "i64"):
                factor = int(y.text)
                if factor and abs(x.stride * factor) < 1 << 20:
                    return self._scale(x, factor)
        return self.bin("mul", a, b)

    def _scale(self, x: Value, factor: int) -> Value:
        text = self.let(f"mul {x.type} {x.text}, {factor}")
        exact = None
        if x.ok is not None:
            exact = self.let(f"mul {self.vector(x.type)} {self.vec(x)}, {self.splat(x.type, str(factor))}")
        return Value(x.type, AFFINE, text, x.stride * factor, x.ok, exact, x.aligned)

    def shl_const(self, x: Value, amount: int) -> Value:
        """Shift left by a constant below the width."""
        if x.kind == AFFINE and amount < 20 and abs(x.stride << amount) < 1 << 20 and x.type in ("i32", "i64"):
            return self._scale(x, 1 << amount)
        return self.bin("shl", x, self.integer(x.type, amount))

    def extend(self, v: Value, to: str, signed: bool) -> Value:
        """Sign or zero extension; an affine value stays affine where no lane wraps, which a run-time check decides."""
        if v.type == to:
            return v
        if v.kind != AFFINE or v.type != "i32" or to != "i64" or self.lanes == 1:
            return self.cast("sext" if signed else "zext", v, to)
        exact = self.let(f"{'sext' if signed else 'zext'} {self.vector('i32')} {self.vec(v)} to {self.vector('i64')}")
        base = self.let(f"{'sext' if signed else 'zext'} i32 {v.text} to i64")
        span = (self.lanes - 1) * v.stride
        high = (1 << 31) if signed else (1 << 32)
        # base and base + 31 * stride must both lie in the narrow type's range; base does by construction.
        if span >= 0:
            ok = self.let(f"icmp slt i64 {base}, {high - span}")
        else:
            ok = self.let(f"icmp sge i64 {base}, {(-high if signed else 0) - span}")
        return Value("i64", AFFINE, base, v.stride, self._both(v.ok, ok), exact, v.aligned)

    def trunc(self, v: Value, to: str) -> Value:
        """Truncation of an integer."""
        if v.type == to:
            return v
        if v.kind == AFFINE and v.type == "i64" and to == "i32" and v.ok is None:
            return Value("i32", AFFINE, self.let(f"trunc i64 {v.text} to i32"), v.stride, aligned=v.aligned)
        return self.cast("trunc", v, to)

    def cast(self, op: str, v: Value, to: str) -> Value:
        """A conversion instruction (``bitcast``, ``zext``, ``fptosi`` …)."""
        if op in ("zext", "sext", "trunc") and v.kind == UNIFORM and v.text.lstrip("-").isdigit():
            value = int(v.text)
            return self.integer(to, value & ((1 << BITS[v.type]) - 1) if op == "zext" else value)
        kind, (x,) = self._forms((v,))
        if kind == UNIFORM:
            return Value(to, kind, self.let(f"{op} {v.type} {x} to {to}"))
        return Value(to, kind, self.let(f"{op} {self.vector(v.type)} {x} to {self.vector(to)}"))

    def bitcast(self, v: Value, to: str) -> Value:
        """The same bits as another type of the same width."""
        return v if v.type == to else self.cast("bitcast", v, to)

    def as_int(self, v: Value) -> Value:
        """The bits of a floating-point value."""
        return self.bitcast(v, f"i{BITS[v.type]}") if v.type in FLOATS else v

    def un(self, op: str, v: Value) -> Value:
        """A unary instruction (``fneg``, ``freeze``)."""
        kind, (x,) = self._forms((v,))
        return Value(v.type, kind, self.let(f"{op} {v.type if kind == UNIFORM else self.vector(v.type)} {x}"))

    def cmp(self, predicate: str, a: Value, b: Value) -> Value:
        """``icmp`` or ``fcmp`` by the operands' type."""
        op = "fcmp" if a.type in FLOATS else "icmp"
        kind, (x, y) = self._forms((a, b))
        return Value(
            "i1", kind, self.let(f"{op} {predicate} {a.type if kind == UNIFORM else self.vector(a.type)} {x}, {y}")
        )

    def select(self, c: Value, a: Value, b: Value) -> Value:
        """``c ? a : b`` lane by lane."""
        kind, (x, y) = self._forms((a, b))
        if self.lanes > 1 and c.kind != UNIFORM and kind == UNIFORM:
            kind, x, y = VARYING, self.vec(a), self.vec(b)
        t = a.type if kind == UNIFORM else self.vector(a.type)
        condition = f"i1 {c.text}" if c.kind == UNIFORM or self.lanes == 1 else f"{self.vector('i1')} {self.vec(c)}"
        return Value(a.type, kind, self.let(f"select {condition}, {t} {x}, {t} {y}"))

    def intrinsic(
        self, name: str, result: str, args: Sequence[Value], extra: str = "", mangle: Sequence[str] = ()
    ) -> Value:
        """Calls ``@llvm.<name>`` overloaded on the types in `mangle` (default: the result), e.g. ``fma``, ``ctpop``. `extra`: literal
        arguments behind (``i1 false``)."""
        kind, texts = self._forms(args)
        wrap = (lambda t: t) if kind == UNIFORM else self.vector
        suffix = ".".join(_mangled(t, 1 if kind == UNIFORM else self.lanes) for t in (mangle or (result,)))
        full = f"llvm.{name}.{suffix}"
        types = [wrap(a.type) for a in args]
        extras = [e.split()[0] for e in extra.split(",")] if extra else []
        self.declare(full, f"{wrap(result)} ({', '.join([*types, *extras])})")
        passed = [f"{t} {x}" for t, x in zip(types, texts, strict=True)] + ([extra] if extra else [])
        return Value(result, kind, self.let(f"call {wrap(result)} @{full}({', '.join(passed)})"))

    def clamp_shift(self, op: str, x: Value, amount: Value) -> Value:
        """``shl``/``lshr``/``ashr`` with PTX semantics: amounts (unsigned, same type) of the width and above shift everything out."""
        bits = BITS[x.type]
        if amount.kind == UNIFORM and amount.text[:1] != "%":
            n = int(amount.text) & ((1 << bits) - 1)
            if n < bits:
                return self.shl_const(x, n) if op == "shl" else self.bin(op, x, amount)
            return self.bin(op, x, self.integer(x.type, bits - 1)) if op == "ashr" else self.integer(x.type, 0)
        limit = self.integer(x.type, bits - 1)
        safe = self.intrinsic("umin", x.type, (amount, limit))
        shifted = self.bin(op, x, safe)
        if op == "ashr":
            return shifted
        return self.select(self.cmp("ugt", amount, limit), self.integer(x.type, 0), shifted)


def _wrap(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _mangled(type_: str, lanes: int) -> str:
    base = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64"}.get(type_, type_)
    return base if lanes == 1 else f"v{lanes}{base}"
