"""atom, red, fence, membar."""

from __future__ import annotations

from fatload.codegen.builder import BITS, Value
from fatload.codegen.lower.memory import ORDERINGS, space_of
from fatload.codegen.lowering import IR_TYPES, Lowering
from fatload.ptx.model import Addr, Instruction, Sink

_OPERATIONS = {
    "exch": "xchg", "and": "and", "or": "or", "xor": "xor", "cas": "cas", "inc": "uinc_wrap", "dec": "udec_wrap",
}  # fmt: skip


def operation(b: Lowering, i: Instruction) -> tuple[str, str]:
    """The ``atomicrmw`` operation and the operands' IR type."""
    op, type_ = i.attrs["op"], i.attrs["type"]
    ir = IR_TYPES[type_]
    if op in _OPERATIONS:
        return _OPERATIONS[op], f"i{BITS[ir]}"
    if op == "add":
        return ("fadd" if type_[0] == "f" else "add"), ir
    if op in ("min", "max") and type_[0] in "us":
        return (op if type_[0] == "s" else f"u{op}"), ir
    raise b.unsupported()


def _atomic(b: Lowering, i: Instruction, first: int, want: bool) -> Value | None:
    type_ = i.attrs["type"]
    if "x2" in type_ or type_ in ("bf16", "b128") or "vec" in i.attrs:
        raise b.unsupported()
    op, ir = operation(b, i)
    address_operand = i.operands[first]
    assert isinstance(address_operand, Addr)
    address = b.address(address_operand, space_of(i))
    count = 2 if op == "cas" else 1
    values = [b.operand(i.operands[first + 1 + k], ir) for k in range(count)]
    sem = i.attrs.get("sem", "relaxed")
    return b.atomic(op, space_of(i), address, values, i.attrs.get("scope", "gpu"), ORDERINGS.get(sem, "acq_rel"), want)


def atom(b: Lowering, i: Instruction) -> None:
    """atom: read-modify-write that answers the old value."""
    wanted = not isinstance(i.operands[0], Sink)
    old = _atomic(b, i, 1, wanted)
    if old is not None:
        b.write(i, 0, old)


def red(b: Lowering, i: Instruction) -> None:
    """red: the same without an answer."""
    _atomic(b, i, 0, False)


def fence(b: Lowering, i: Instruction) -> None:
    """fence.sem.scope and membar.level."""
    level = i.attrs.get("level", "")
    scope = i.attrs.get("scope") or {"cta": "cta", "gl": "gpu", "sys": "sys"}.get(level, "sys")
    b.fence(i.attrs.get("sem", "sc"), scope)
