"""The model of a PTX module: what the reader makes and everything behind it consumes.

Names keep their PTX spelling (``%r1``, ``$L__BB0_2``, ``_Z6vecaddPf``). Registers and variables that a nested scope
declares again get a suffix ``@N`` so that a name is unique within its function. Integers are Python integers as written
(an immediate may be negative or up to 64 bits wide); floating-point immediates keep their bit pattern.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fatload.ptx.isa.row import Row

SIZES: Mapping[str, int] = {
    **{f"{k}8": 1 for k in "bus"},
    **{f"{k}16": 2 for k in "bus"},
    **{f"{k}32": 4 for k in "bus"},
    **{f"{k}64": 8 for k in "bus"},
    "b128": 16,
    "f16": 2,
    "bf16": 2,
    "f16x2": 4,
    "bf16x2": 4,
    "u16x2": 4,
    "s16x2": 4,
    "f32": 4,
    "f64": 8,
    "pred": 1,
}
"""Bytes of each fundamental type."""


@dataclass(slots=True, frozen=True)
class Reg:
    """A register, by its unique name."""

    name: str


@dataclass(slots=True, frozen=True)
class Special:
    """A special register: name without ``%`` (``tid``, ``laneid``, ``envreg3``) and component (``x``, ``y``, ``z``, ``w`` or empty)."""

    name: str
    component: str = ""


@dataclass(slots=True, frozen=True)
class Imm:
    """An integer immediate (also ``WARP_SZ`` and constant expressions, already folded)."""

    value: int


@dataclass(slots=True, frozen=True)
class FloatImm:
    """A floating-point immediate: IEEE bits and their width (32 for ``0f…``, 64 for ``0d…`` and decimal spellings)."""

    bits: int
    width: int


@dataclass(slots=True, frozen=True)
class Sym:
    """A name used as a value: variable, function or label, plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(slots=True, frozen=True)
class Addr:
    """A memory operand ``[base + offset]``; base is a register, a variable, or None for an absolute address."""

    base: Reg | Sym | None
    offset: int = 0


@dataclass(slots=True, frozen=True)
class Vec:
    """A vector operand ``{a, b, …}``."""

    items: tuple[Operand, ...]


@dataclass(slots=True, frozen=True)
class Pair:
    """``d|p``: two destinations."""

    first: Operand
    second: Operand


@dataclass(slots=True, frozen=True)
class Not:
    """A negated predicate operand ``!p``."""

    reg: Reg


@dataclass(slots=True, frozen=True)
class Sink:
    """``_``: a result nobody wants."""


@dataclass(slots=True, frozen=True)
class Element:
    """One element of a vector register: ``%v.x`` → (``%v``, 0)."""

    name: str
    index: int


@dataclass(slots=True, frozen=True)
class Selected:
    """Part of an operand of a video instruction: ``%r1.h0``, ``%r1.b3210``."""

    operand: Operand
    selector: str


@dataclass(slots=True, frozen=True)
class CallArgs:
    """A parenthesised list in ``call``."""

    items: tuple[Operand, ...]


Operand = Reg | Special | Imm | FloatImm | Sym | Addr | Vec | Pair | Not | Sink | Element | Selected | CallArgs


@dataclass(slots=True)
class Instruction:
    """One instruction: ``@%p1 add.sat.s32 %r1, %r2, 5;``.

    ``row`` is the table row that fits, ``attrs`` what the modifiers say by group name (``{"type": "s32", "sat": "sat"}``; an
    optional group that is absent is missing from the dictionary), ``types`` the type of each operand (``"s32"``, ``"pred"``, ``"addr"``, ``"label"`` …).
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: int
    guard: Reg | None = None
    guard_negated: bool = False
    row: Row | None = None
    attrs: Mapping[str, str] = field(default_factory=dict)
    types: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Opcode with modifiers, as written: ``add.sat.s32``."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(slots=True)
class Label:
    """A label, by its unique name."""

    name: str
    line: int


Statement = Instruction | Label


@dataclass(slots=True, frozen=True)
class Address:
    """An element of an initialiser that is an address: of a variable or function, ``generic()`` or not, plus bytes; ``mask``
    is the byte selector of ``0xFF(name)`` initialisers, or None."""

    name: str
    offset: int = 0
    generic: bool = False
    mask: int | None = None


@dataclass(slots=True)
class Variable:
    """A variable of any state space.

    ``dims`` is empty for a scalar, ``(0,)`` for an unsized extern array. ``vector`` is 1, 2 or 4. ``init`` holds the
    flattened initial elements (int: bits of the element's type), shorter than the variable when the rest is zero.
    """

    name: str
    space: str  # global const shared local param
    type: str
    line: int
    dims: tuple[int, ...] = ()
    vector: int = 1
    align: int = 0  # bytes, always set by the reader (declared or natural)
    init: tuple[int | Address, ...] | None = None
    linkage: str = ""  # "", visible, extern, weak, common
    managed: bool = False
    pointer: tuple[str, int] | None = None  # parameters: `.ptr .global .align 16`

    @property
    def element_size(self) -> int:
        """Bytes of one element."""
        return SIZES[self.type] * self.vector

    @property
    def size(self) -> int:
        """Bytes of the whole variable; 0 for an unsized array."""
        total = self.element_size
        for d in self.dims:
            total *= d
        return total


@dataclass(slots=True)
class Prototype:
    """A `.callprototype`: parameters and results of an indirect call."""

    params: list[Variable]
    returns: list[Variable]
    noreturn: bool = False


@dataclass(slots=True)
class Body:
    """A function's body, flattened: scopes are gone, names unique."""

    registers: dict[str, tuple[str, int]]  # name → (type, vector width)
    variables: dict[str, Variable]  # .shared .local .param declared inside
    statements: list[Statement]
    targets: dict[str, tuple[str, ...]]  # .branchtargets and .calltargets
    prototypes: dict[str, Prototype]


@dataclass(slots=True)
class Function:
    """A kernel (``entry``) or device function."""

    name: str
    entry: bool
    params: list[Variable]
    returns: list[Variable]
    line: int
    linkage: str = ""
    body: Body | None = None
    noreturn: bool = False
    error: PtxError | None = (
        None  # why the body cannot be used (unknown instruction): raised for the kernels that reach it
    )
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)  # maxntid, reqntid, minnctapersm, maxnreg, …


@dataclass(slots=True)
class Module:
    """A PTX module."""

    version: tuple[int, int]
    target: tuple[str, ...]  # ("sm_75", "debug")
    address_size: int
    variables: dict[str, Variable]
    functions: dict[str, Function]
    aliases: dict[str, str] = field(default_factory=dict)
    address_taken: tuple[str, ...] = ()  # device functions whose address is taken anywhere in the text, in its order

    @property
    def sm(self) -> int:
        """The number in the target: 75."""
        digits = "".join(c for c in self.target[0] if c.isdigit())
        return int(digits or 0)


class PtxError(Exception):
    """What is wrong with a PTX text: ``line``, ``column`` (from 1; 0: unknown), ``text`` (the offending words), ``code`` (CUresult)."""

    def __init__(self, message: str, line: int = 0, column: int = 0, text: str = "", code: int = 218) -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.text, self.code = message, line, column, text, code

    def __str__(self) -> str:
        place = f"line {self.line}" + (f", column {self.column}" if self.column else "") + ": " if self.line else ""
        return place + self.message


class Unsupported(Exception):
    """Legal PTX that fatload cannot translate (yet): becomes CUDA_ERROR_NOT_SUPPORTED (801) and names kernel, line and instruction."""

    def __init__(self, what: str, line: int = 0, kernel: str = "") -> None:
        super().__init__(what)
        self.what, self.line, self.kernel = what, line, kernel

    def __str__(self) -> str:
        return (f"line {self.line}: " if self.line else "") + f"{self.what} is not supported"
