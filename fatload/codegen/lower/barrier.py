"""bar, barrier, bar.warp.sync."""

from __future__ import annotations

from fatload.codegen.builder import Value
from fatload.codegen.lowering import Lowering
from fatload.ptx.model import Instruction


def _threads(b: Lowering, i: Instruction, n: int) -> Value | None:
    return b.operand(i.operands[n], "i32") if n < len(i.operands) else None


def sync(b: Lowering, i: Instruction) -> None:
    """bar.sync a{, b}; barrier{.cta}.sync."""
    b.barrier(b.operand(i.operands[0], "i32"), _threads(b, i, 1), "sync", None)


def arrive(b: Lowering, i: Instruction) -> None:
    """bar.arrive a, b."""
    b.barrier(b.operand(i.operands[0], "i32"), _threads(b, i, 1), "arrive", None)


def red(b: Lowering, i: Instruction) -> None:
    """bar.red.popc.u32 d, a{, b}, {!}c; bar.red.and/or.pred."""
    last = len(i.operands) - 1
    threads = b.operand(i.operands[2], "i32") if last == 3 else None
    result = b.barrier(b.operand(i.operands[1], "i32"), threads, i.attrs["op"], b.operand(i.operands[last], "i1"))
    assert result is not None
    b.write(i, 0, result)


def warp_sync(b: Lowering, i: Instruction) -> None:
    """bar.warp.sync membermask."""
    b.converge(b.operand(i.operands[0], "i32"))
    b.fence("acq_rel", "cta")
