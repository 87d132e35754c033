"""Static single assignment: every register version has one definition, merges are phis at block starts.

A register that is live where a loop is left gets a phi there (loop-closed form): lanes leave a divergent loop in different
iterations, and what they take along is that phi's own, lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fatload.codegen.analysis.cfg import Graph, Phi
from fatload.ptx.model import (
    Addr,
    CallArgs,
    Element,
    Instruction,
    Not,
    Operand,
    Pair,
    Reg,
    Selected,
    Vec,
)


@dataclass(slots=True)
class Ssa:
    """The renamed graph: `register` of each version, where it is defined (block; phis too), blocks that use it."""

    register: dict[str, str] = field(default_factory=dict)
    defined_in: dict[str, int] = field(default_factory=dict)
    crossing: set[str] = field(default_factory=set)  # used outside the block that defines it
    undefined: set[str] = field(default_factory=set)  # registers read where nothing was written


def destinations(i: Instruction) -> range:
    """Which operands an instruction writes, from its row."""
    return range(i.row.outputs) if i.row is not None else range(0)


def map_registers(o: Operand, f: Callable[[str], str]) -> Operand:
    """`o` with every register name replaced."""
    match o:
        case Reg(name):
            return Reg(f(name))
        case Addr(Reg(name), offset):
            return Addr(Reg(f(name)), offset)
        case Vec(items):
            return Vec(tuple(map_registers(x, f) for x in items))
        case CallArgs(items):
            return CallArgs(tuple(map_registers(x, f) for x in items))
        case Pair(a, b):
            return Pair(map_registers(a, f), map_registers(b, f))
        case Not(reg):
            return Not(Reg(f(reg.name)))
        case Selected(inner, selector):
            return Selected(map_registers(inner, f), selector)
        case Element(name, index):
            return Reg(f(f"{name}#{index}"))
        case _:
            return o


def registers(o: Operand) -> Iterable[str]:
    """Register names in an operand."""
    match o:
        case Reg(name) | Addr(Reg(name), _):
            return (name,)
        case Vec(items) | CallArgs(items):
            return [r for x in items for r in registers(x)]
        case Pair(a, b):
            return [*registers(a), *registers(b)]
        case Not(reg):
            return (reg.name,)
        case Selected(inner, _):
            return registers(inner)
        case Element(name, index):
            return (f"{name}#{index}",)
        case _:
            return ()


def uses_and_defs(i: Instruction) -> tuple[list[str], list[str]]:
    """Registers that an instruction reads and writes. A written `Addr` or a store's operands are reads."""
    out = destinations(i)
    uses: list[str] = []
    defs: list[str] = []
    for n, o in enumerate(i.operands):
        (defs if n in out else uses).extend(registers(o))
    return uses, defs


def construct(graph: Graph) -> Ssa:
    """Renames the registers in `graph` (in place) and places phis."""
    blocks, order = graph.blocks, graph.order
    number: dict[str, int] = {}
    names: list[str] = []
    gen: dict[int, int] = {}  # read before written in the block
    kill: dict[int, int] = {}
    io: dict[int, list[tuple[list[str], list[str]]]] = {}

    def bit(name: str) -> int:
        n = number.get(name)
        if n is None:
            n = number[name] = len(names)
            names.append(name)
        return 1 << n

    def_blocks: dict[str, set[int]] = {}
    for b in order:
        read = written = 0
        rows = io[b] = []
        for i in blocks[b].instructions:
            uses, defs = uses_and_defs(i)
            rows.append((uses, defs))
            for u in uses:
                m = bit(u)
                if not written & m:
                    read |= m
            for d in defs:
                written |= bit(d)
                def_blocks.setdefault(d, set()).add(b)
        reg = blocks[b].branch.reg
        if reg is not None and not written & bit(reg.name):
            read |= bit(reg.name)
        gen[b], kill[b] = read, written

    live_in = _liveness(graph, gen, kill)
    _, children, frontier = dominance(graph)
    placed = _place_phis(graph, def_blocks, live_in, frontier, number)
    return _rename(graph, placed, children, io)


def _liveness(graph: Graph, gen: dict[int, int], kill: dict[int, int]) -> dict[int, int]:
    live = dict.fromkeys(graph.order, 0)
    work = list(graph.order)
    pending = set(work)
    while work:
        b = work.pop()
        pending.discard(b)
        out = 0
        for s in graph.blocks[b].succs:
            out |= live[s]
        new = gen[b] | (out & ~kill[b])
        if new != live[b]:
            live[b] = new
            for p in graph.blocks[b].preds:
                if p not in pending:
                    pending.add(p)
                    work.append(p)
    return live


def dominance(graph: Graph) -> tuple[dict[int, int], dict[int, list[int]], dict[int, set[int]]]:
    """Immediate dominators (Cooper, Harvey, Kennedy), dominator tree children, dominance frontiers."""
    rpo = _reverse_post_order(graph)
    rank = {b: k for k, b in enumerate(rpo)}
    idom = {rpo[0]: rpo[0]}
    changed = True
    while changed:
        changed = False
        for b in rpo[1:]:
            new = -1
            for p in graph.blocks[b].preds:
                if p not in idom:
                    continue
                if new < 0:
                    new = p
                    continue
                x = p
                while x != new:
                    while rank[x] > rank[new]:
                        x = idom[x]
                    while rank[new] > rank[x]:
                        new = idom[new]
            if idom.get(b) != new:
                idom[b] = new
                changed = True
    children: dict[int, list[int]] = {b: [] for b in rpo}
    frontier: dict[int, set[int]] = {b: set() for b in rpo}
    for b in rpo[1:]:
        children[idom[b]].append(b)
    for b in rpo:
        preds = graph.blocks[b].preds
        if len(preds) < 2:
            continue
        for p in preds:
            while p != idom[b]:
                frontier[p].add(b)
                p = idom[p]
    return idom, children, frontier


def _reverse_post_order(graph: Graph) -> list[int]:
    root = graph.order[0]
    seen = {root}
    post: list[int] = []
    stack = [(root, iter(graph.blocks[root].succs))]
    while stack:
        b, succs = stack[-1]
        for s in succs:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(graph.blocks[s].succs)))
                break
        else:
            post.append(b)
            stack.pop()
    return post[::-1]


def _place_phis(
    graph: Graph,
    def_blocks: dict[str, set[int]],
    live_in: dict[int, int],
    frontier: dict[int, set[int]],
    number: dict[str, int],
) -> dict[int, list[str]]:
    closing: dict[str, set[int]] = {}
    names = list(number)
    for loop in graph.loops:
        mask = 0
        for register, where in def_blocks.items():
            if where & loop.blocks:
                mask |= 1 << number[register]
        if not mask:
            continue
        for _, target in loop.exits(graph):
            live = live_in[target] & mask
            while live:
                low = live & -live
                closing.setdefault(names[low.bit_length() - 1], set()).add(target)
                live ^= low
    placed: dict[int, list[str]] = {}
    for register, bit in number.items():
        blocks = def_blocks.get(register)
        if not blocks:
            continue
        forced = closing.get(register, set())
        if len(blocks) == 1 and not forced and not frontier[next(iter(blocks))]:
            continue
        mask = 1 << bit
        have = set(forced)
        work = [*blocks, *forced]
        while work:
            for f in frontier[work.pop()]:
                if f not in have and live_in[f] & mask:
                    have.add(f)
                    work.append(f)
        for b in have:
            placed.setdefault(b, []).append(register)
    return placed


def _rename(
    graph: Graph,
    placed: dict[int, list[str]],
    children: dict[int, list[int]],
    io: dict[int, list[tuple[list[str], list[str]]]],
) -> Ssa:
    ssa = Ssa()
    counts: dict[str, int] = {}
    current: dict[str, list[str]] = {}

    def fresh(register: str, block: int) -> str:
        n = counts.get(register, 0)
        counts[register] = n + 1
        name = f"{register}.{n}"
        ssa.register[name] = register
        ssa.defined_in[name] = block
        current.setdefault(register, []).append(name)
        return name

    def use(register: str, block: int) -> str:
        stack = current.get(register)
        if not stack:
            name = f"{register}.u"
            ssa.undefined.add(name)
            ssa.register[name] = register
            return name
        if ssa.defined_in[stack[-1]] != block:
            ssa.crossing.add(stack[-1])
        return stack[-1]

    for b, regs in placed.items():
        graph.blocks[b].phis = [Phi("", r) for r in regs]

    stack: list[tuple[int, list[str] | None]] = [(graph.order[0], None)]
    while stack:
        b, pushed = stack.pop()
        if pushed is not None:
            for r in pushed:
                current[r].pop()
            continue
        pushed = []
        block = graph.blocks[b]
        for phi in block.phis:
            phi.dest = fresh(phi.register, b)
            pushed.append(phi.register)
        for k, i in enumerate(block.instructions):
            uses, defs = io[b][k]
            if not uses and not defs:
                continue
            renamed = {u: use(u, b) for u in uses}
            made = {d: fresh(d, b) for d in dict.fromkeys(defs)}
            pushed.extend(made)
            out = destinations(i)
            operands = tuple(
                map_registers(o, made.__getitem__ if n in out else renamed.__getitem__)
                for n, o in enumerate(i.operands)
            )
            block.instructions[k] = Instruction(
                i.opcode, i.modifiers, operands, i.line, None, False, i.row, i.attrs, i.types
            )
        branch = block.branch
        if branch.reg is not None:
            branch.reg = Reg(use(branch.reg.name, b))
        for s in block.succs:
            for phi in graph.blocks[s].phis:
                versions = current.get(phi.register)
                phi.sources[b] = versions[-1] if versions else None
                if versions:
                    ssa.crossing.add(versions[-1])
        stack.append((b, pushed))
        stack.extend((c, None) for c in children[b])
    return ssa
