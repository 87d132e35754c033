"""setp, set, selp, slct."""

from __future__ import annotations

from fatload.codegen.builder import FLOATS, UNIFORM, Value
from fatload.codegen.lower.common import flush
from fatload.codegen.lowering import IR_TYPES, Lowering
from fatload.ptx.model import Instruction, Pair

_INTEGER = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_FLOAT = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge",
    "num": "ord", "nan": "uno",
}  # fmt: skip


def comparison(b: Lowering, cmp: str, type_: str, x: Value, y: Value) -> Value:
    """The predicate `x cmp y` for a PTX type."""
    if x.type in FLOATS:
        return b.cmp(_FLOAT[cmp], x, y)
    if cmp in ("eq", "ne"):
        return b.cmp(cmp, x, y)
    unsigned = type_[0] != "s" or cmp in ("lo", "ls", "hi", "hs")
    predicate = ("u" if unsigned else "s") + _INTEGER[cmp]
    if x.kind == 1 and x.aligned and x.stride == 1 and x.ok is None and y.kind == UNIFORM and y.text.isdigit():
        # tid.x against a multiple of the warp's size: the same in all lanes.
        c = int(y.text)
        if x.type == "i32" and (
            (predicate[1:] in ("lt", "ge") and c % 32 == 0) or (predicate[1:] in ("gt", "le") and (c + 1) % 32 == 0)
        ):
            return b.cmp(predicate, Value(x.type, UNIFORM, x.text), y)
    return b.cmp(predicate, x, y)


def combined(b: Lowering, i: Instruction, p: Value, n: int) -> Value:
    """`p` with the optional boolean operation on operand `n`."""
    op = i.attrs.get("bool")
    return b.bin(op, p, b.operand(i.operands[n], "i1")) if op else p


def _operands(b: Lowering, i: Instruction, type_: str) -> tuple[Value, Value]:
    x, y = (b.operand(i.operands[n], IR_TYPES[type_]) for n in (1, 2))
    if i.attrs.get("ftz"):
        x, y = flush(b, x), flush(b, y)
    return x, y


def setp(b: Lowering, i: Instruction) -> None:
    """setp{.bool} p{|q}."""
    type_ = i.attrs["type"]
    x, y = _operands(b, i, type_)
    p = comparison(b, i.attrs["cmp"], type_, x, y)
    d = i.operands[0]
    if isinstance(d, Pair):
        b.assign(d.second, combined(b, i, b.bin("xor", p, b.integer("i1", 1)), 3))
        b.assign(d.first, combined(b, i, p, 3))
    else:
        b.assign(d, combined(b, i, p, 3))


def set(b: Lowering, i: Instruction) -> None:
    """set: the comparison as all ones or 1.0."""
    x, y = _operands(b, i, i.attrs["atype"])
    p = combined(b, i, comparison(b, i.attrs["cmp"], i.attrs["atype"], x, y), 3)
    to = IR_TYPES[i.attrs["dtype"]]
    if to == "float":
        b.write(i, 0, b.select(p, b.real("float", 0x3F800000), b.real("float", 0)))
    else:
        b.write(i, 0, b.cast("sext", p, to))


def selp(b: Lowering, i: Instruction) -> None:
    """selp: p ? a : b."""
    type_ = IR_TYPES[i.attrs["type"]]
    x, y = b.operand(i.operands[1], type_), b.operand(i.operands[2], type_)
    b.write(i, 0, b.select(b.operand(i.operands[3], "i1"), x, y))


def slct(b: Lowering, i: Instruction) -> None:
    """slct: c >= 0 ? a : b (NaN: b; -0 counts as 0; .ftz: a denormal c as 0)."""
    type_ = IR_TYPES[i.attrs["dtype"]]
    x, y = b.operand(i.operands[1], type_), b.operand(i.operands[2], type_)
    if i.attrs["atype"] == "f32":
        c = b.operand(i.operands[3], "float")
        if i.attrs.get("ftz"):
            c = flush(b, c)
        p = b.cmp("oge", c, b.real("float", 0))
    else:
        p = b.cmp("sge", b.operand(i.operands[3], "i32"), b.integer("i32", 0))
    b.write(i, 0, b.select(p, x, y))
