"""Control flow inside a block: calls, traps, sleeping. Branches and returns are the graph's (analysis/cfg.py)."""

from __future__ import annotations

from fatload.codegen.lowering import Lowering
from fatload.ptx.model import Instruction


def call(b: Lowering, i: Instruction) -> None:
    """call, direct or indirect."""
    b.call(i)


def trap(b: Lowering, i: Instruction) -> None:
    """trap: stops the kernel with an error."""
    b.trap("trap")


def brkpt(b: Lowering, i: Instruction) -> None:
    """brkpt: without a debugger, the same as trap."""
    b.trap("brkpt")


def nanosleep(b: Lowering, i: Instruction) -> None:
    """nanosleep: others run for a while."""
    b.clock_sleep(b.operand(i.operands[0], "i32"))


def pmevent(b: Lowering, i: Instruction) -> None:
    """pmevent: there is no performance monitor to trigger."""


def branch(b: Lowering, i: Instruction) -> None:
    """bra, brx.idx, ret, exit: never reached, since the graph takes them out of the blocks."""
    raise b.unsupported("a branch inside a block")
