"""mov: registers, constants, addresses, special registers; packing and unpacking."""

from __future__ import annotations

from fatload.codegen.builder import BITS, FLOATS, Value
from fatload.codegen.lowering import IR_TYPES, Lowering
from fatload.ptx.model import Instruction, Sink, Vec


def mov(b: Lowering, i: Instruction) -> None:
    """mov in all its shapes."""
    d, a = i.operands[0], i.operands[1]
    type_ = IR_TYPES[i.attrs["type"]]
    if isinstance(a, Vec):
        part = BITS[type_] // len(a.items)
        total: Value | None = None
        for k, item in enumerate(a.items):
            piece = b.cast("zext", b.operand(item, f"i{part}"), type_)
            if k:
                piece = b.bin("shl", piece, b.integer(type_, k * part))
            total = piece if total is None else b.bin("or", total, piece)
        assert total is not None
        b.assign(d, total)
    elif isinstance(d, Vec):
        v = b.as_int(b.operand(a, type_))
        part = BITS[type_] // len(d.items)
        for k, item in enumerate(d.items):
            if isinstance(item, Sink):
                continue
            piece = b.bin("lshr", v, b.integer(v.type, k * part)) if k else v
            b.assign(item, b.trunc(piece, f"i{part}"))
    else:
        b.assign(d, b.operand(a, "float" if type_ in FLOATS and type_ == "float" else type_))
