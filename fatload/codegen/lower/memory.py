"""ld, st, ldu, prefetch, cvta, isspacep, alloca."""

from __future__ import annotations

from fatload.codegen.builder import BITS, FLOATS, Value
from fatload.codegen.lowering import IR_TYPES, Lowering
from fatload.ptx.model import Addr, Instruction, Reg, Sink, Sym

ORDERINGS = {"relaxed": "monotonic", "acquire": "acquire", "release": "release", "sc": "seq_cst", "mmio": "monotonic"}
"""Memory orderings of PTX in LLVM's words."""


def space_of(i: Instruction) -> str:
    """The state space, '' for generic."""
    return i.attrs.get("space", "")


def memory_type(type_: str) -> str:
    """IR type of an element in memory: what it is kept as there."""
    return {"f16": "i16", "pred": "i8"}.get(type_, IR_TYPES[type_])


def _address(i: Instruction, n: int) -> Addr:
    o = i.operands[n]
    if isinstance(o, Addr):
        return o
    if isinstance(o, Reg | Sym):
        return Addr(o, 0)
    raise AssertionError(f"{i.name}: operand {n} is no address")


def _order(b: Lowering, i: Instruction) -> tuple[bool, str]:
    sem = i.attrs.get("sem", "")
    if sem == "volatile":
        return True, ""
    return False, ORDERINGS.get(sem, "")


def ld(b: Lowering, i: Instruction) -> None:
    """ld in every space, scalar or vector; narrower values are extended to the register."""
    type_ = i.attrs["type"]
    items = b.vector_items(i.operands[0])
    volatile, ordering = _order(b, i)
    address = b.address(_address(i, 1), space_of(i))
    values = b.load(space_of(i), address, [memory_type(type_)] * len(items), volatile, ordering)
    for item, v in zip(items, values, strict=True):
        _assign_extended(b, item, v, type_)


def _assign_extended(b: Lowering, item: object, v: Value, type_: str) -> None:
    if isinstance(item, Sink):
        return
    assert isinstance(item, Reg)
    want = BITS[b.register_type(item.name)]
    if want > BITS[v.type]:
        v = b.extend(b.as_int(v), f"i{want}", type_[0] == "s")
    b.assign(item, v)


def st(b: Lowering, i: Instruction) -> None:
    """st in every space, scalar or vector; wider registers are cut."""
    t = memory_type(i.attrs["type"])
    volatile, ordering = _order(b, i)
    address = b.address(_address(i, 0), space_of(i))
    raw = t if t in FLOATS else f"i{BITS[t]}"
    values = [b.operand(item, raw) for item in b.vector_items(i.operands[1])]
    b.store(space_of(i), address, values, volatile, ordering)


def ldu(b: Lowering, i: Instruction) -> None:
    """ldu: a load from an address that is the same in all lanes of the warp."""
    ld(b, i)


def prefetch(b: Lowering, i: Instruction) -> None:
    """prefetch, prefetchu, discard, applypriority: hints without an effect that a program could see."""


def cvta(b: Lowering, i: Instruction) -> None:
    """cvta{.to}: between a state space's addresses and generic ones."""
    space = i.attrs["space"]
    bits = BITS[IR_TYPES[i.attrs["type"]]]
    o = i.operands[1]
    v = b.address(o, space) if isinstance(o, Addr) else b.operand(o, "i64")
    if bits == 32:
        raise b.unsupported("32-bit generic addresses")
    b.write(i, 0, b.from_generic(space, v) if i.attrs.get("to") else b.to_generic(space, v))


def isspacep(b: Lowering, i: Instruction) -> None:
    """isspacep: whether a generic address lies in a space."""
    b.write(i, 0, b.is_space(i.attrs["space"], b.operand(i.operands[1], "i64")))


def alloca(b: Lowering, i: Instruction) -> None:
    """alloca: bytes on the thread's stack."""
    align = i.operands[2].value if len(i.operands) > 2 and hasattr(i.operands[2], "value") else 8
    b.write(i, 0, b.stack_allocate(b.operand(i.operands[1], "i32"), align))
