"""CPU target: state spaces, addresses, loads, stores and atomics.

Global and generic addresses are host pointers; shared and local ones are 32-bit offsets. The shape of an address chooses the
code: one scalar access, one contiguous vector access, or a loop over the active lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fatload.codegen.builder import AFFINE, BITS, FLOATS, UNIFORM, VARYING, Value
from fatload.codegen.cpu.base import LANES, CpuBase
from fatload.ptx.model import Addr, Reg, Sym

_GLOBAL = ("", "global", "const")


def byte_size(type_: str) -> int:
    """Bytes of an IR type in memory."""
    return max(1, BITS[type_] // 8)


class CpuMemory(CpuBase):
    """Memory operations."""

    # -- addresses ------------------------------------------------------------------------------------------------

    def address(self, a: Addr, space: str) -> Value:
        space = space.partition("::")[0]
        match a.base:
            case None:
                return self.integer("i64", a.offset)
            case Sym(name, extra):
                return self._symbol_address(name, extra + a.offset, space)
            case Reg(name):
                v = self.load_register(name)
        if space in ("shared", "local", "param"):
            v = self.trunc(v, "i32")
            if a.offset:
                v = self.add(v, self.integer("i32", a.offset))
            return self.extend(v, "i64", False)
        if BITS[v.type] < 64:
            v = self.extend(v, "i64", False)
        return self.add(v, self.integer("i64", a.offset)) if a.offset else v

    def _symbol_address(self, name: str, offset: int, space: str) -> Value:
        v = self.symbol(name, offset)
        if space == "" and (
            self.unit.shared_offset(name) is not None or name in self.unit.local[self.function.name].offsets
        ):
            # A variable named in a generic access stands for its own state space.
            return self.to_generic("shared" if self.unit.shared_offset(name) is not None else "local", v)
        return v

    def base_of(self, space: str) -> str:
        """Host address (i64) at which `space` begins (for local: lane 0's)."""
        field = {"shared": "shared", "local": "local", "param": "params"}[space]
        key = f"base {space}"
        if key not in self.once:
            self.once[key] = self.let_entry(f"ptrtoint ptr {self.field(field).text} to i64")
        return self.once[key]

    def to_generic(self, space: str, address: Value) -> Value:
        space = space.partition("::")[0]
        if space in _GLOBAL:
            return address
        narrow = self.extend(self.trunc(address, "i32"), "i64", False)
        host = self.add(narrow, Value("i64", UNIFORM, self.base_of(space)))
        return self.add(host, self._lane_offset()) if space == "local" else host

    def from_generic(self, space: str, address: Value) -> Value:
        space = space.partition("::")[0]
        if space in _GLOBAL:
            return address
        v = self.sub(address, Value("i64", UNIFORM, self.base_of(space)))
        if space == "local":
            v = self.sub(v, self._lane_offset())
        return self.extend(self.trunc(v, "i32"), "i64", False)

    def _lane_offset(self) -> Value:
        """lane * local_stride, i64."""
        if "lane offset" not in self.once:
            stride = self.let_entry(f"zext i32 {self.field('local_stride').text} to i64")
            one = self.let_entry(f"insertelement <32 x i64> poison, i64 {stride}, i32 0")
            all_ = self.let_entry(f"shufflevector <32 x i64> {one}, <32 x i64> poison, <32 x i32> zeroinitializer")
            steps = ", ".join(f"i64 {k}" for k in range(LANES))
            self.once["lane offset"] = self.let_entry(f"mul <32 x i64> {all_}, <{steps}>")
        return Value("i64", VARYING, self.once["lane offset"])

    def is_space(self, space: str, address: Value) -> Value:
        space = space.partition("::")[0]
        if space == "const":
            return self.integer("i1", 0)  # const variables lie in the module's data block, as global ones do
        if space == "global":
            outside = self.bin("or", self.is_space("shared", address), self.is_space("local", address))
            return self.bin("xor", outside, self.integer("i1", 1))
        base = Value("i64", UNIFORM, self.base_of(space))
        if space == "shared":
            size = self.extend(self.field("shared_bytes"), "i64", False)
        elif space == "local":
            size = self.bin("mul", self.extend(self.field("local_stride"), "i64", False), self.integer("i64", LANES))
        else:
            size = self.integer("i64", max(1, self.param_bytes))
        return self.cmp("ult", self.sub(address, base), size)

    @property
    def param_bytes(self) -> int:
        """Size of the kernel's parameters in bytes."""
        params = self.unit.kernel.params
        return sum(v.size for v in params) + 8 * len(params)

    def host(self, space: str, address: Value) -> Value:
        """An address in `space` as a host address."""
        space = space.partition("::")[0]
        return address if space in _GLOBAL else self.to_generic(space, address)

    # -- loops over lanes -----------------------------------------------------------------------------------------

    def scratch(self, n: int) -> str:
        """The n-th 256-byte (512 for i128) scratch array of this function; contents last for one operation."""
        key = f"scratch {n}"
        if key not in self.once:
            self.once[key] = self.let_entry("alloca [512 x i8], align 64")
        return self.once[key]

    def per_lane(
        self, inputs: Sequence[Value], outputs: Sequence[str], body: Callable[[list[Value]], list[Value]]
    ) -> list[Value]:
        return self.lane_loop(self.mask, inputs, outputs, lambda _, scalars: body(scalars))

    def lane_loop(
        self,
        mask: str,
        inputs: Sequence[Value],
        outputs: Sequence[str],
        body: Callable[[str, list[Value]], list[Value]],
    ) -> list[Value]:
        """For each lane in `mask` (i32, lowest first) runs ``body(lane, scalars)``; results as varying values."""
        slots: list[str | None] = []
        used = 0
        for v in inputs:
            if v.kind == UNIFORM:
                slots.append(None)
                continue
            slot = self.scratch(used)
            used += 1
            self.emit(f"store {self.vector(v.type)} {self.vec(v)}, ptr {slot}, align 32")
            slots.append(slot)
        results = [self.scratch(used + k) for k in range(len(outputs))]
        kept_splats, kept_mask = dict(self.splats), self._mask_vector
        head, loop, done = self.label("lanes"), self.label("lane"), self.label("lanes_done")
        rest = self._mask_slot()
        self.emit(f"store i32 {mask}, ptr {rest}")
        self.emit(f"br label %{head}")
        self.place(head)
        m = self.let(f"load i32, ptr {rest}")
        empty = self.let(f"icmp eq i32 {m}, 0")
        self.emit(f"br i1 {empty}, label %{done}, label %{loop}")
        self.place(loop)
        self.declare("llvm.cttz.i32", "i32 (i32, i1)")
        lane = self.let(f"call i32 @llvm.cttz.i32(i32 {m}, i1 true)")
        less = self.let(f"add i32 {m}, -1")
        self.emit(f"store i32 {self.let(f'and i32 {m}, {less}')}, ptr {rest}")
        scalars: list[Value] = []
        for v, place in zip(inputs, slots, strict=True):
            if place is None:
                scalars.append(v)
                continue
            t = "i8" if v.type == "i1" else v.type
            if v.type == "i1":
                word = self.let(f"load i32, ptr {place}, align 4")
                bit = self.let(f"lshr i32 {word}, {lane}")
                scalars.append(Value("i1", UNIFORM, self.let(f"trunc i32 {bit} to i1")))
                continue
            p = self.let(f"getelementptr {t}, ptr {place}, i32 {lane}")
            scalars.append(Value(v.type, UNIFORM, self.let(f"load {t}, ptr {p}")))
        saved_mask = self.mask
        for value, result, type_ in zip(body(lane, scalars), results, outputs, strict=True):
            t = "i8" if type_ == "i1" else type_
            text = self.let(f"zext i1 {value.text} to i8") if type_ == "i1" else value.text
            p = self.let(f"getelementptr {t}, ptr {result}, i32 {lane}")
            self.emit(f"store {t} {text}, ptr {p}")
        self.emit(f"br label %{head}")
        self.place(done)
        self.splats, self.mask, self._mask_vector = kept_splats, saved_mask, kept_mask
        out = []
        for result, type_ in zip(results, outputs, strict=True):
            if type_ == "i1":
                raw = self.let(f"load <32 x i8>, ptr {result}, align 32")
                out.append(Value("i1", VARYING, self.let(f"trunc <32 x i8> {raw} to <32 x i1>")))
            else:
                out.append(Value(type_, VARYING, self.let(f"load {self.vector(type_)}, ptr {result}, align 32")))
        return out

    def _mask_slot(self) -> str:
        key = "lanes left"
        if key not in self.once:
            self.once[key] = self.let_entry("alloca i32")
        return self.once[key]

    def pointer(self, address: Value) -> str:
        """A scalar host address as a pointer."""
        return self.let(f"inttoptr i64 {address.text} to ptr")

    # -- loads and stores -----------------------------------------------------------------------------------------

    def load(self, space: str, address: Value, types: Sequence[str], volatile: bool, ordering: str = "") -> list[Value]:
        param = self.param_item(space, address)
        if param is not None:
            return self.load_param(param, types)
        a = self.host(space, address)
        if not volatile and not ordering:
            if a.kind == UNIFORM:
                return self._load_scalar(a, types, False, "")
            if self._contiguous(a, types):
                return self._load_contiguous(a, types)
        return self.lane_loop(
            self.mask, [a], list(types), lambda _, s: self._load_scalar(s[0], types, volatile, ordering)
        )

    def _load_scalar(self, a: Value, types: Sequence[str], volatile: bool, ordering: str) -> list[Value]:
        p = self.pointer(a)
        out, at = [], 0
        for t in types:
            q = self.let(f"getelementptr i8, ptr {p}, i64 {at}") if at else p
            size = byte_size(t)
            if ordering:
                raw = f"i{size * 8}"
                v = Value(raw, UNIFORM, self.let(f"load atomic {raw}, ptr {q} {ordering}, align {size}"))
                out.append(self.bitcast(v, t))
            else:
                out.append(
                    Value(
                        t,
                        UNIFORM,
                        self.let(f"load {'volatile ' if volatile else ''}{t}, ptr {q}, align {min(size, 8)}"),
                    )
                )
            at += size
        return out

    def _contiguous(self, a: Value, types: Sequence[str]) -> bool:
        total = sum(byte_size(t) for t in types)
        return a.kind == AFFINE and a.stride == total and len(set(types)) == 1 and types[0] != "i128"

    def _fast(self, a: Value) -> str:
        full = self.let(f"icmp eq i32 {self.mask}, -1")
        return full if a.ok is None else self.let(f"and i1 {full}, {a.ok}")

    def _load_contiguous(self, a: Value, types: Sequence[str]) -> list[Value]:
        t, n = types[0], len(types)
        fast, slow, done = self.label("all"), self.label("some"), self.label("loaded")
        kept = dict(self.splats)
        self.emit(f"br i1 {self._fast(a)}, label %{fast}, label %{slow}")
        self.place(fast)
        wide = f"<{LANES * n} x {t}>"
        v = self.let(f"load {wide}, ptr {self.pointer(a)}, align {byte_size(t)}")
        quick = (
            [v]
            if n == 1
            else [self.let(f"shufflevector {wide} {v}, {wide} poison, <32 x i32> <{_every(n, k)}>") for k in range(n)]
        )
        self.emit(f"br label %{done}")
        self.place(slow)
        self.splats = dict(kept)
        exact = self.varying(replace(a))  # a copy: what is made here is not to be had elsewhere
        careful = self.lane_loop(
            self.mask, [exact], list(types), lambda _, s: self._load_scalar(s[0], types, False, "")
        )
        last = self.label("some_done")
        self.emit(f"br label %{last}")
        self.place(last)
        self.emit(f"br label %{done}")
        self.place(done)
        self.splats = kept
        return [
            Value(t, VARYING, self.let(f"phi {self.vector(t)} [ {q}, %{fast} ], [ {c.text}, %{last} ]"))
            for q, c in zip(quick, careful, strict=True)
        ]

    def store(self, space: str, address: Value, values: Sequence[Value], volatile: bool, ordering: str = "") -> None:
        param = self.param_item(space, address)
        if param is not None:
            self.store_param(param, values)
            return
        a = self.host(space, address)
        types = [v.type for v in values]
        if a.kind == UNIFORM and not ordering:
            if all(v.kind == UNIFORM for v in values):
                self._store_scalar(a, values, volatile, "")
                return
            # All lanes write one place: which one wins is not defined, so the highest active lane does.
            self.declare("llvm.ctlz.i32", "i32 (i32, i1)")
            zeros = self.let(f"call i32 @llvm.ctlz.i32(i32 {self.mask}, i1 true)")
            lane = self.let(f"sub i32 31, {zeros}")
            picked = [
                v
                if v.kind == UNIFORM
                else Value(v.type, UNIFORM, self.let(f"extractelement {self.vector(v.type)} {self.vec(v)}, i32 {lane}"))
                for v in values
            ]
            self._store_scalar(a, picked, volatile, "")
            return
        if not volatile and not ordering and self._contiguous(a, types):
            self._store_contiguous(a, values)
            return

        def one(_: str, s: list[Value]) -> list[Value]:
            self._store_scalar(s[0], s[1:], volatile, ordering)
            return []

        self.lane_loop(self.mask, [a, *values], [], one)

    def _store_scalar(self, a: Value, values: Sequence[Value], volatile: bool, ordering: str) -> None:
        p = self.pointer(a)
        at = 0
        for v in values:
            q = self.let(f"getelementptr i8, ptr {p}, i64 {at}") if at else p
            size = byte_size(v.type)
            if ordering:
                raw = self.as_int(v)
                self.emit(f"store atomic {raw.type} {raw.text}, ptr {q} {ordering}, align {size}")
            else:
                self.emit(f"store {'volatile ' if volatile else ''}{v.type} {v.text}, ptr {q}, align {min(size, 8)}")
            at += size

    def _store_contiguous(self, a: Value, values: Sequence[Value]) -> None:
        t, n = values[0].type, len(values)
        fast, slow, done = self.label("all"), self.label("some"), self.label("stored")
        texts = [self.vec(v) for v in values]
        kept = dict(self.splats)
        self.emit(f"br i1 {self._fast(a)}, label %{fast}, label %{slow}")
        self.place(fast)
        wide = f"<{LANES * n} x {t}>"
        joined = self._interleave(t, texts)
        self.emit(f"store {wide} {joined}, ptr {self.pointer(a)}, align {byte_size(t)}")
        self.emit(f"br label %{done}")
        self.place(slow)

        def one(_: str, s: list[Value]) -> list[Value]:
            self._store_scalar(s[0], s[1:], False, "")
            return []

        self.splats = dict(kept)
        exact = self.varying(replace(a))
        self.lane_loop(self.mask, [exact, *(Value(t, VARYING, x) for x in texts)], [], one)
        self.emit(f"br label %{done}")
        self.place(done)
        self.splats = kept

    def _interleave(self, t: str, texts: list[str]) -> str:
        if len(texts) == 1:
            return texts[0]
        half = self.vector(t)
        pairs = [
            self.let(
                f"shufflevector {half} {texts[k]}, {half} {texts[k + 1]}, <64 x i32> <{', '.join(f'i32 {x}' for x in range(64))}>"
            )
            for k in range(0, len(texts), 2)
        ]
        n = len(texts)
        wide = f"<64 x {t}>"
        second = pairs[1] if n > 2 else "poison"
        if n == 8:
            raise self.unsupported("vectors of 8 elements")
        order = ", ".join(f"i32 {e * LANES + lane}" for lane in range(LANES) for e in range(n))
        return self.let(f"shufflevector {wide} {pairs[0]}, {wide} {second}, <{LANES * n} x i32> <{order}>")

    # -- atomics --------------------------------------------------------------------------------------------------

    def atomic(
        self, op: str, space: str, address: Value, operands: Sequence[Value], scope: str, sem: str, want: bool
    ) -> Value | None:
        a = self.host(space, address)
        type_ = operands[0].type
        shared = space.partition("::")[0] == "shared"

        def one(_: str, s: list[Value]) -> list[Value]:
            old = self._rmw(op, self.pointer(s[0]), s[1:], not shared)
            return [old] if want else []

        # The loop reads its operands from memory: a uniform address is a scalar there all the same.
        out = self.lane_loop(self.mask, [a, *operands], [type_] if want else [], one)
        return out[0] if want else None

    def _rmw(self, op: str, p: str, operands: list[Value], real: bool) -> Value:
        """One lane's read-modify-write; plain where only this thread sees the memory (shared memory of a CTA)."""
        t = operands[0].type
        size = byte_size(t)
        if op == "cas":
            if t in FLOATS:
                raise self.unsupported("compare-and-swap of a floating-point type")
            if real:
                pair = self.let(
                    f"cmpxchg ptr {p}, {t} {operands[0].text}, {t} {operands[1].text} seq_cst seq_cst, align {size}"
                )
                return Value(t, UNIFORM, self.let(f"extractvalue {{ {t}, i1 }} {pair}, 0"))
            old = Value(t, UNIFORM, self.let(f"load {t}, ptr {p}, align {size}"))
            new = self.select(self.cmp("eq", old, operands[0]), operands[1], old)
            self.emit(f"store {t} {new.text}, ptr {p}, align {size}")
            return old
        if real:
            return Value(t, UNIFORM, self.let(f"atomicrmw {op} ptr {p}, {t} {operands[0].text} seq_cst, align {size}"))
        old = Value(t, UNIFORM, self.let(f"load {t}, ptr {p}, align {size}"))
        self.emit(f"store {t} {self.combine(op, old, operands[0]).text}, ptr {p}, align {size}")
        return old

    def combine(self, op: str, old: Value, x: Value) -> Value:
        """What an ``atomicrmw`` operation stores."""
        t = old.type
        match op:
            case "xchg":
                return x
            case "add" | "and" | "or" | "xor" | "fadd":
                return self.bin(op, old, x)
            case "min" | "max" | "umin" | "umax":
                name = {"min": "smin", "max": "smax"}.get(op, op)
                return self.intrinsic(name, t, (old, x))
            case "uinc_wrap":
                return self.select(self.cmp("uge", old, x), self.integer(t, 0), self.add(old, self.integer(t, 1)))
            case "udec_wrap":
                wrap = self.bin("or", self.cmp("eq", old, self.integer(t, 0)), self.cmp("ugt", old, x))
                return self.select(wrap, x, self.sub(old, self.integer(t, 1)))
        raise self.unsupported(f"atomic operation {op}")

    def fence(self, sem: str, scope: str) -> None:
        self.emit('fence syncscope("singlethread") seq_cst' if scope == "cta" else "fence seq_cst")

    # -- parameters of device functions and calls (in cpu/calls.py) -------------------------------------------------

    def param_item(self, space: str, address: Value) -> tuple[str, int] | None:
        """The call parameter that the current instruction's address names, and the byte offset in it."""
        raise NotImplementedError

    def load_param(self, item: tuple[str, int], types: Sequence[str]) -> list[Value]:
        """Reads from a call parameter."""
        raise NotImplementedError

    def store_param(self, item: tuple[str, int], values: Sequence[Value]) -> None:
        """Writes to a call parameter."""
        raise NotImplementedError


def _every(n: int, k: int) -> str:
    return ", ".join(f"i32 {lane * n + k}" for lane in range(LANES))
