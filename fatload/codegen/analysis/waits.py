"""Operations for which lanes of a warp wait for each other, and loops that wait for memory to change."""

from __future__ import annotations

from fatload.codegen.analysis.cfg import Block, Branch, Graph
from fatload.codegen.analysis.shapes import Shapes
from fatload.codegen.analysis.ssa import Ssa, destinations, registers, uses_and_defs
from fatload.ptx.model import Imm, Instruction

_MEMBER_LAST = frozenset({"shfl", "vote", "match", "redux", "elect"})
_BARRIERS = frozenset({"bar", "barrier"})


def waits(i: Instruction) -> bool:
    """Whether lanes wait at `i` for others of their warp."""
    if i.opcode in _MEMBER_LAST:
        return "sync" in i.modifiers
    return i.opcode in _BARRIERS and "arrive" not in i.modifiers


def member_operand(i: Instruction) -> int | None:
    """Which operand holds the mask of members; None: all lanes."""
    if i.opcode in _MEMBER_LAST:
        return len(i.operands) - 1
    if i.opcode == "bar" and i.modifiers[:1] == ("warp",):
        return 0
    return None


def needs_irregular(graph: Graph, ssa: Ssa, shapes: Shapes) -> bool:
    """Whether lanes may have to run ahead of each other in this function.

    A device function is called with part of a warp, so that its warp-wide operations may wait for lanes that are not in the call: those
    lanes are not waited for (they cannot arrive), which the mask of the call settles.
    """
    for b in graph.order:
        if b in shapes.divergent and any(waits(i) and not _only_active(i) for i in graph.blocks[b].instructions):
            return True
    return bool(spinning_loops(graph, ssa))


def _only_active(i: Instruction) -> bool:
    operand = member_operand(i)
    return operand is not None and isinstance(i.operands[operand], Imm) and i.operands[operand] == Imm(0)


def split_at_waits(graph: Graph) -> None:
    """Starts a block at each waiting operation (before SSA construction)."""
    for block in list(graph.blocks):
        k = next((k for k, i in enumerate(block.instructions) if k and waits(i)), 0)
        while k:
            rest = Block(len(graph.blocks), block.instructions[k:], block.branch)
            graph.blocks.append(rest)
            block.instructions = block.instructions[:k]
            block.branch = Branch("jump", [rest.index], line=rest.instructions[0].line)
            block = rest
            k = next((k for k, i in enumerate(block.instructions) if k and waits(i)), 0)
    graph.finish()


def reads_changing_memory(i: Instruction) -> bool:
    """An atomic operation, or a load that must see what others write."""
    if i.opcode in ("atom", "red"):
        return True
    if i.opcode == "mbarrier":
        return True
    return i.opcode in ("ld", "ldu") and i.attrs.get("sem") not in (None, "weak")


def spinning_loops(graph: Graph, ssa: Ssa) -> set[int]:
    """Heads of loops an exit of which depends on memory that others change."""
    definitions: dict[str, list[str]] = {}
    changing: set[str] = set()
    for b in graph.order:
        block = graph.blocks[b]
        for phi in block.phis:
            definitions[phi.dest] = [s for s in phi.sources.values() if s is not None]
        for i in block.instructions:
            uses, defs = uses_and_defs(i)
            for d in defs:
                definitions[d] = uses
            if reads_changing_memory(i):
                for n in destinations(i):
                    changing.update(registers(i.operands[n]))
    if not changing:
        return set()
    heads = set()
    for loop in graph.loops:
        work = [
            graph.blocks[source].branch.reg.name  # type: ignore[union-attr]
            for source, _ in loop.exits(graph)
            if graph.blocks[source].branch.reg is not None
        ]
        seen = set(work)
        while work:
            name = work.pop()
            if ssa.defined_in.get(name) not in loop.blocks:
                continue
            if name in changing:
                heads.add(loop.head)
                break
            for u in definitions.get(name, ()):
                if u not in seen:
                    seen.add(u)
                    work.append(u)
    return heads
