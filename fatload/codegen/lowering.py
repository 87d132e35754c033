"""What a lowering function sees: operands as values, results to write, and the small interface in which targets differ."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Callable, Sequence

from fatload.codegen.builder import BITS, FLOATS, VARYING, Builder, Value
from fatload.ptx.model import (
    Addr,
    Element,
    FloatImm,
    Imm,
    Instruction,
    Not,
    Operand,
    Pair,
    Reg,
    Sink,
    Special,
    Sym,
    Unsupported,
    Vec,
)

IR_TYPES = {
    **{f"{k}{n}": f"i{n}" for k in "bus" for n in (8, 16, 32, 64)},
    "b128": "i128",
    "pred": "i1",
    "f16": "half",
    "bf16": "i16",  # bits: arithmetic on bf16 goes through f32
    "f16x2": "i32",
    "bf16x2": "i32",
    "u16x2": "i32",
    "s16x2": "i32",
    "f32": "float",
    "f64": "double",
}
"""IR type of an operand of a PTX type."""

STORAGE = IR_TYPES | {"f16": "i16"}
"""IR type in which a register of a PTX type is kept."""


class Lowering(Builder):
    """A builder that knows the function being translated. One subclass a target."""

    def __init__(self, lanes: int, kernel: str) -> None:
        super().__init__(lanes)
        self.kernel = kernel
        self.instruction: Instruction | None = None
        self.carry: Value | None = None  # CC.CF within a block

    # -- operands -------------------------------------------------------------------------------------------------

    def read(self, i: Instruction, n: int) -> Value:
        """Operand `n` as a value of its PTX type."""
        return self.operand(i.operands[n], IR_TYPES[i.types[n]])

    def read_as(self, i: Instruction, n: int, type_: str) -> Value:
        """Operand `n` as a value of this IR type (same width: its bits)."""
        return self.operand(i.operands[n], type_)

    def operand(self, o: Operand, type_: str) -> Value:
        """An operand's value, its bits seen as `type_` (wider registers are cut, narrower ones zero-extended)."""
        match o:
            case Reg(name):
                return self.coerce(self.load_register(name), type_)
            case Element(name, index):
                return self.coerce(self.load_register(f"{name}#{index}"), type_)
            case Imm(value):
                bits = BITS[type_]
                if type_ in FLOATS:
                    return self.real(type_, value & ((1 << bits) - 1))
                return self.integer(type_, value)
            case FloatImm(bits, width):
                return self._float_immediate(bits, width, type_)
            case Special(name, component):
                return self.coerce(self.special(name, component), type_)
            case Sym(name, offset):
                return self.coerce(self.symbol(name, offset), type_)
            case Not(reg):
                return self.bin("xor", self.load_register(reg.name), self.integer("i1", 1))
            case _:
                raise self.unsupported(f"operand {o}")

    def _float_immediate(self, bits: int, width: int, type_: str) -> Value:
        if type_ in FLOATS and BITS[type_] != width:
            if width == 64 and type_ == "float":
                bits = struct.unpack("<I", struct.pack("<f", struct.unpack("<d", struct.pack("<Q", bits))[0]))[0]
            else:
                raise self.unsupported(f"a {width}-bit constant for {type_}")
            width = 32
        if type_ in FLOATS:
            return self.real(type_, bits)
        if width == 64 and BITS[type_] == 32:
            bits = struct.unpack("<I", struct.pack("<f", struct.unpack("<d", struct.pack("<Q", bits))[0]))[0]
        return self.integer(type_, bits)

    def coerce(self, v: Value, type_: str) -> Value:
        """The bits of `v` as `type_`: bit casts for equal widths, else truncation or zero extension."""
        if v.type == type_:
            return v
        have, want = BITS[v.type], BITS[type_]
        if have == want:
            return self.bitcast(v, type_)
        v = self.as_int(v)
        v = self.trunc(v, f"i{want}") if have > want else self.extend(v, f"i{want}", False)
        return self.bitcast(v, type_)

    def write(self, i: Instruction, n: int, v: Value) -> None:
        """Writes destination `n`."""
        self.assign(i.operands[n], v)

    def assign(self, o: Operand, v: Value) -> None:
        """Writes a register (its bits), or drops the value for ``_``."""
        match o:
            case Reg(name):
                self.store_register(name, self.coerce(v, self.register_type(name)))
            case Element(name, index):
                name = f"{name}#{index}"
                self.store_register(name, self.coerce(v, self.register_type(name)))
            case Sink():
                pass
            case Pair(first, _):
                self.assign(first, v)
            case _:
                raise self.unsupported(f"destination {o}")

    def write_extended(self, i: Instruction, n: int, v: Value, signed: bool) -> None:
        """Writes an integer to a register that may be wider, sign- or zero-extended to it."""
        o = i.operands[n]
        if isinstance(o, Reg):
            bits = BITS[self.register_type(o.name)]
            if bits > BITS[v.type]:
                v = self.extend(v, f"i{bits}", signed)
        self.assign(o, v)

    def vector_items(self, o: Operand) -> tuple[Operand, ...]:
        """The elements of a vector operand; a scalar is a vector of one."""
        return o.items if isinstance(o, Vec) else (o,)

    def unsupported(self, what: str = "") -> Unsupported:
        """The error for legal PTX that cannot be lowered: raise it."""
        i = self.instruction
        name = f"{i.name}" if i is not None else "this"
        return Unsupported(f"{name}: {what}" if what else name, i.line if i is not None else 0, self.kernel)

    # -- registers and names (targets) ----------------------------------------------------------------------------

    @abstractmethod
    def register_type(self, name: str) -> str:
        """IR storage type of a register."""

    @abstractmethod
    def load_register(self, name: str) -> Value:
        """The current value of a register."""

    @abstractmethod
    def store_register(self, name: str, v: Value) -> None:
        """Defines a register; `v` has its storage type."""

    @abstractmethod
    def special(self, name: str, component: str) -> Value:
        """A special register (i32, or i64 for clock64, globaltimer, gridid)."""

    @abstractmethod
    def symbol(self, name: str, offset: int) -> Value:
        """The address of a variable in its own state space, or a function's number, as i64."""

    # -- memory (targets) -----------------------------------------------------------------------------------------

    @abstractmethod
    def address(self, a: Addr, space: str) -> Value:
        """The address in `space` ('' generic, global, shared, local, const, param) that a memory operand names, as i64."""

    @abstractmethod
    def load(self, space: str, address: Value, types: Sequence[str], volatile: bool, ordering: str = "") -> list[Value]:
        """Loads consecutive elements of these IR types."""

    @abstractmethod
    def store(self, space: str, address: Value, values: Sequence[Value], volatile: bool, ordering: str = "") -> None:
        """Stores consecutive elements in the active lanes."""

    @abstractmethod
    def to_generic(self, space: str, address: Value) -> Value:
        """cvta: an i64 address in `space` as a generic address."""

    @abstractmethod
    def from_generic(self, space: str, address: Value) -> Value:
        """cvta.to: the reverse."""

    @abstractmethod
    def is_space(self, space: str, address: Value) -> Value:
        """isspacep: whether a generic address lies in `space`."""

    @abstractmethod
    def atomic(
        self, op: str, space: str, address: Value, operands: Sequence[Value], scope: str, sem: str, want: bool
    ) -> Value | None:
        """An atomic operation on memory; the old value if wanted. `op`: an ``atomicrmw`` operation, ``cas``, ``load`` or ``store``."""

    @abstractmethod
    def fence(self, sem: str, scope: str) -> None:
        """A memory fence."""

    # -- lanes (targets) ------------------------------------------------------------------------------------------

    @abstractmethod
    def per_lane(
        self, inputs: Sequence[Value], outputs: Sequence[str], body: Callable[[list[Value]], list[Value]]
    ) -> list[Value]:
        """Runs `body` once for each active lane on scalars; its results, as varying values of the types `outputs`."""

    @abstractmethod
    def ballot(self, predicate: Value) -> Value:
        """A uniform i32: bit l says whether lane l is active and its predicate holds."""

    @abstractmethod
    def active(self) -> Value:
        """A uniform i32: the lanes that execute this instruction."""

    @abstractmethod
    def lane(self) -> Value:
        """The lane number, i32."""

    @abstractmethod
    def permute(self, v: Value, source: Value) -> Value:
        """`v` (32 bits) of lane `source` (i32, 0 … 31) in each lane."""

    def permute_constant(self, v: Value, sources: Sequence[int], source: Value) -> Value:
        """`permute` where each lane's source is known; `source` says the same as a value."""
        return self.permute(v, source)

    @abstractmethod
    def equal_lanes(self, v: Value) -> Value:
        """For each lane an i32: the active lanes whose value (i32 or i64) equals its own."""

    @abstractmethod
    def reduce_lanes(self, op: str, v: Value, members: Value) -> Value:
        """``add and or xor smin smax umin umax`` over the active lanes in `members` (i32 mask, may differ by lane)."""

    @abstractmethod
    def barrier(self, id_: Value, threads: Value | None, op: str, predicate: Value | None) -> Value | None:
        """bar: `op` sync, arrive, popc, and, or; the result of a reduction (i32 or i1)."""

    @abstractmethod
    def converge(self, members: Value) -> None:
        """Waits until the lanes in `members` (i32 mask, may differ by lane) that have not exited are here."""

    # -- the rest (targets) ---------------------------------------------------------------------------------------

    @abstractmethod
    def rounded(self, op: str, rnd: str, args: Sequence[Value]) -> Value:
        """``fadd fsub fmul fdiv sqrt fma fptrunc sitofp uitofp`` with rounding rn, rz, rm or rp. Conversions: see `rounded_cast`."""

    @abstractmethod
    def rounded_cast(self, op: str, rnd: str, v: Value, to: str) -> Value:
        """``fptrunc``, ``sitofp`` or ``uitofp`` with a rounding mode."""

    @abstractmethod
    def call(self, i: Instruction) -> None:
        """A call, direct or indirect."""

    @abstractmethod
    def trap(self, reason: str) -> None:
        """Stops the kernel: ``trap`` or ``brkpt``."""

    @abstractmethod
    def clock_sleep(self, nanoseconds: Value) -> None:
        """nanosleep."""

    @abstractmethod
    def stack_allocate(self, size: Value, align: int) -> Value:
        """alloca: a local address."""

    def is_varying(self, v: Value) -> bool:
        """Whether `v` may differ by lane."""
        return v.kind == VARYING or self.lanes == 1
