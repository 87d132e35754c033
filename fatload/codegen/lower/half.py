"""f16, bf16 and pairs of them: computed in f32 or f64 and rounded once."""

from __future__ import annotations

from collections.abc import Callable

from fatload.codegen.builder import Value
from fatload.codegen.lower import approx
from fatload.codegen.lower.common import flush
from fatload.codegen.lower.compare import comparison
from fatload.codegen.lower.convert import join_halves, split_halves
from fatload.codegen.lower.narrow import BF16, narrow, to_odd, widen_bf16, widen_half
from fatload.codegen.lowering import Lowering
from fatload.ptx.model import Instruction, Pair

NAN = 0x7FFF


def is_bf16(type_: str) -> bool:
    """Whether a type is bf16 or a pair of them."""
    return type_.startswith("bf16")


def elements(b: Lowering, i: Instruction, count: int, f: Callable[[list[Value]], Value], first: int = 1) -> None:
    """Applies `f` to the i16 bits of operands `first` … of a single value or of both halves of a pair, and writes the result."""
    if i.types[0].endswith("x2"):
        pairs = [split_halves(b, b.operand(i.operands[first + n], "i32")) for n in range(count)]
        b.write(i, 0, join_halves(b, f([p[0] for p in pairs]), f([p[1] for p in pairs])))
    else:
        b.write(i, 0, f([b.operand(i.operands[first + n], "i16") for n in range(count)]))


def widen(b: Lowering, i: Instruction, v: Value, type_: str) -> Value:
    """The bits of a half as f32, flushed with .ftz."""
    if i.attrs.get("ftz") and not is_bf16(type_):
        v = b.bitcast(flush(b, b.bitcast(v, "half")), "i16")
    return widen_bf16(b, v) if is_bf16(type_) else widen_half(b, v)


def rounded(b: Lowering, i: Instruction, v: Value, type_: str) -> Value:
    """f32 rounded to the bits of a half, with .relu, .sat and .ftz."""
    if i.attrs.get("relu"):
        v = b.select(b.cmp("ole", v, b.real("float", 0)), b.real("float", 0), v)
    if is_bf16(type_):
        return b.trunc(narrow(b, v, BF16, "rn"), "i16")
    if i.attrs.get("sat"):
        zero, one = b.real("float", 0), b.real("float", 0x3F800000)
        v = b.select(b.cmp("ogt", v, zero), v, zero)
        v = b.select(b.cmp("olt", v, one), v, one)
    if i.attrs.get("ftz"):
        # Tininess is detected after rounding to 11 bits with any exponent: below 2^-14 * (1 - 2^-12).
        tiny = b.cmp("olt", b.intrinsic("fabs", "float", (v,)), b.real("float", 0x387FF000))
        v = b.select(tiny, b.intrinsic("copysign", "float", (b.real("float", 0), v)), v)
    half = b.cast("fptrunc", v, "half")
    bits = b.bitcast(half, "i16")
    return b.select(b.cmp("uno", v, v), b.integer("i16", NAN), bits)


def _arithmetic(b: Lowering, i: Instruction, op: str) -> None:
    type_ = i.attrs["type"]

    def one(v: list[Value]) -> Value:
        # f32 has more than twice the bits and two: rounding twice is rounding once.
        return rounded(b, i, b.bin(op, widen(b, i, v[0], type_), widen(b, i, v[1], type_)), type_)

    elements(b, i, 2, one)


def add(b: Lowering, i: Instruction) -> None:
    """add."""
    _arithmetic(b, i, "fadd")


def sub(b: Lowering, i: Instruction) -> None:
    """sub."""
    _arithmetic(b, i, "fsub")


def mul(b: Lowering, i: Instruction) -> None:
    """mul."""
    _arithmetic(b, i, "fmul")


def fma(b: Lowering, i: Instruction) -> None:
    """fma: the product is exact in f64; the sum is rounded to odd on its way down."""
    type_ = i.attrs["type"]

    def one(v: list[Value]) -> Value:
        x, y, z = (b.cast("fpext", widen(b, i, u, type_), "double") for u in v)
        return rounded(b, i, fused(b, x, y, z), type_)

    elements(b, i, 3, one)


def fused(b: Lowering, x: Value, y: Value, z: Value) -> Value:
    """x * y + z of f64 values with at most 11 significant bits, as f32 rounded to odd."""
    p = b.bin("fmul", x, y)
    s = b.bin("fadd", p, z)
    # The error of the sum, exactly (Knuth's two-sum); it decides the sticky bit.
    bb = b.bin("fsub", s, p)
    error = b.bin("fadd", b.bin("fsub", p, b.bin("fsub", s, bb)), b.bin("fsub", z, bb))
    bits = b.bitcast(s, "i64")
    one, zero = b.integer("i64", 1), b.real("double", 0)
    inexact = b.cmp("one", error, zero)
    even = b.cmp("eq", b.bin("and", bits, one), b.integer("i64", 0))
    grows = b.cmp("eq", b.cmp("ogt", error, zero), b.cmp("ogt", s, zero))
    moved = b.select(grows, b.bin("add", bits, one), b.bin("sub", bits, one))
    odd = b.select(b.bin("and", inexact, even), moved, bits)
    return to_odd(b, b.bitcast(odd, "double"))


def _sign(b: Lowering, i: Instruction, op: str, constant: int) -> None:
    type_ = i.attrs["type"]

    def one(v: list[Value]) -> Value:
        x = v[0]
        if i.attrs.get("ftz"):
            x = b.bitcast(flush(b, b.bitcast(x, "half")), "i16")
        nan = b.cmp(
            "ugt", b.bin("and", x, b.integer("i16", 0x7FFF)), b.integer("i16", 0x7F80 if is_bf16(type_) else 0x7C00)
        )
        return b.select(nan, b.integer("i16", NAN), b.bin(op, x, b.integer("i16", constant)))

    elements(b, i, 1, one)


def neg(b: Lowering, i: Instruction) -> None:
    """neg."""
    _sign(b, i, "xor", 0x8000)


def abs(b: Lowering, i: Instruction) -> None:
    """abs."""
    _sign(b, i, "and", 0x7FFF)


def _extreme(b: Lowering, i: Instruction, smaller: bool) -> None:
    type_ = i.attrs["type"]

    def one(v: list[Value]) -> Value:
        x, y = v
        if i.attrs.get("ftz"):
            x, y = (b.bitcast(flush(b, b.bitcast(u, "half")), "i16") for u in (x, y))
        sign: Value | None = None
        if i.attrs.get("xorsign"):
            sign = b.bin("and", b.bin("xor", x, y), b.integer("i16", 0x8000))
            x, y = (b.bin("and", u, b.integer("i16", 0x7FFF)) for u in (x, y))
        fx, fy = (widen_bf16(b, u) if is_bf16(type_) else widen_half(b, u) for u in (x, y))
        nx, ny = b.cmp("uno", fx, fx), b.cmp("uno", fy, fy)
        same = b.bin("or" if smaller else "and", x, y)
        first = b.cmp("olt" if smaller else "ogt", fx, fy)
        result = b.select(b.cmp("oeq", fx, fy), same, b.select(first, x, y))
        canonical = b.integer("i16", NAN)
        if i.attrs.get("nan"):
            result = b.select(b.bin("or", nx, ny), canonical, result)
        else:
            result = b.select(nx, y, b.select(ny, x, result))
            result = b.select(b.bin("and", nx, ny), canonical, result)
        return b.bin("or", result, sign) if sign is not None else result

    elements(b, i, 2, one)


def min(b: Lowering, i: Instruction) -> None:
    """min."""
    _extreme(b, i, True)


def max(b: Lowering, i: Instruction) -> None:
    """max."""
    _extreme(b, i, False)


def _approximate(
    b: Lowering, i: Instruction, f: Callable[[Lowering, Value], Value], finish: Callable[[Lowering, Value], Value]
) -> None:
    type_ = i.attrs["type"]

    def one(v: list[Value]) -> Value:
        x = widen(b, i, v[0], type_)
        if i.attrs.get("ftz"):
            x = flush(b, x)
        result = f(b, x)
        if i.attrs.get("ftz"):
            result = flush(b, result)
        if is_bf16(type_):
            return b.trunc(narrow(b, result, BF16, "rn"), "i16")
        return finish(b, result)

    elements(b, i, 1, one)


def _nearest(b: Lowering, v: Value) -> Value:
    return b.bitcast(b.cast("fptrunc", v, "half"), "i16")


def _cut(b: Lowering, v: Value) -> Value:
    """A positive f32 as f16, rounded toward zero up to the largest number, as ex2 does it."""
    half = b.cast("fptrunc", v, "half")
    above = b.cmp("ogt", b.cast("fpext", half, "float"), v)
    above = b.bin("and", above, b.cmp("olt", v, b.real("float", 0x47800000)))
    return b.bin("sub", b.bitcast(half, "i16"), b.cast("zext", above, "i16"))


def ex2(b: Lowering, i: Instruction) -> None:
    """ex2.approx."""
    _approximate(b, i, approx.exp2, _cut)


def tanh(b: Lowering, i: Instruction) -> None:
    """tanh.approx."""
    _approximate(b, i, approx.tanh_value, _nearest)


def _compared(b: Lowering, i: Instruction, type_: str) -> list[Value]:
    """The comparison of single values, or of the low and the high halves."""
    if type_.endswith("x2"):
        xs, ys = (split_halves(b, b.operand(i.operands[n], "i32")) for n in (1, 2))
    else:
        xs, ys = ((b.operand(i.operands[n], "i16"),) for n in (1, 2))  # type: ignore[assignment]
    return [
        comparison(b, i.attrs["cmp"], "f32", widen(b, i, x, type_), widen(b, i, y, type_))
        for x, y in zip(xs, ys, strict=True)
    ]


def setp(b: Lowering, i: Instruction) -> None:
    """setp on halves; on pairs p is of the low halves, q of the high ones."""
    type_ = i.attrs["type"]
    results = _compared(b, i, type_)
    op = i.attrs.get("bool")
    if op:
        c = b.operand(i.operands[3], "i1")
        results = [b.bin(op, p, c) for p in results]
    d = i.operands[0]
    if not isinstance(d, Pair):
        b.assign(d, results[0])
        return
    if len(results) == 1:
        no = b.bin("xor", _compared(b, i, type_)[0], b.integer("i1", 1))
        results.append(b.bin(op, no, b.operand(i.operands[3], "i1")) if op else no)
    b.assign(d.first, results[0])
    b.assign(d.second, results[1])


def set(b: Lowering, i: Instruction) -> None:
    """set on halves: all ones or 1.0."""
    d, a = i.attrs["dtype"], i.attrs["atype"]
    results = _compared(b, i, a)
    if d in ("f16", "bf16", "f16x2", "bf16x2"):
        one = b.integer("i16", 0x3F80 if is_bf16(d) else 0x3C00)
        parts = [b.select(p, one, b.integer("i16", 0)) for p in results]
    else:
        parts = [b.cast("sext", p, "i16") for p in results]
    if len(parts) == 2:
        b.write(i, 0, join_halves(b, parts[0], parts[1]))
    elif d in ("u32", "s32"):
        b.write(i, 0, b.cast("sext", results[0], "i32"))
    else:
        b.write(i, 0, parts[0])
