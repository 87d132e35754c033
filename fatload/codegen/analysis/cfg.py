"""The control-flow graph of a function body: blocks, guards turned into branches, and the order of blocks.

The order is a weak topological order (Bourdoncle): every edge goes forward, or back to the head of a loop that holds its
source; the blocks of a loop are contiguous and precede the loop's exits. That holds for irreducible graphs too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fatload.ptx.model import Body, Instruction, Label, PtxError, Reg, Sym

NORETURN = ("ret", "exit", "trap")


@dataclass(slots=True)
class Branch:
    """How a block ends. ``kind``: ``jump`` (1 target), ``cond`` (predicate true → first target), ``index`` (brx.idx), ``ret``,
    ``exit``, ``none`` (noreturn)."""

    kind: str
    targets: list[int] = field(default_factory=list)
    reg: Reg | None = None
    negated: bool = False
    line: int = 0


@dataclass(slots=True)
class Phi:
    """A register's merge at a block's start: ``sources[k]`` comes over the edge from ``block.preds[k]`` (None: undefined there)."""

    dest: str
    register: str
    sources: dict[int, str | None] = field(default_factory=dict)


@dataclass(slots=True)
class Block:
    """Straight-line code. Indices are into `Graph.blocks` and stay stable; `Graph.order` gives the order of execution."""

    index: int
    instructions: list[Instruction] = field(default_factory=list)
    branch: Branch = field(default_factory=lambda: Branch("none"))
    preds: list[int] = field(default_factory=list)
    phis: list[Phi] = field(default_factory=list)

    @property
    def succs(self) -> list[int]:
        """Distinct successors."""
        return list(dict.fromkeys(self.branch.targets))


@dataclass(slots=True)
class Loop:
    """A component of the order: head, blocks (head included), the loop around it."""

    head: int
    blocks: frozenset[int]
    parent: Loop | None = None

    def exits(self, graph: Graph) -> Iterator[tuple[int, int]]:
        """Edges that leave the loop."""
        for b in self.blocks:
            for s in graph.blocks[b].succs:
                if s not in self.blocks:
                    yield b, s


@dataclass(slots=True)
class Graph:
    """A function's blocks, their order and loops (outer loops first)."""

    blocks: list[Block]
    order: list[int] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    position: dict[int, int] = field(default_factory=dict)

    def finish(self) -> None:
        """Recomputes predecessors, order and loops after a change of edges."""
        reach = _reachable(self.blocks)
        for b in self.blocks:
            b.preds = []
        for i in reach:
            for s in self.blocks[i].succs:
                self.blocks[s].preds.append(i)
        self.order, self.loops = _weak_topological_order(self.blocks, reach)
        self.position = {b: k for k, b in enumerate(self.order)}


def build(body: Body) -> Graph:
    """Blocks of `body`, with one latch a loop. Guards of instructions other than branches become branches around them."""
    graph = Graph(_blocks(body))
    graph.finish()
    _one_latch(graph)
    return graph


def _blocks(body: Body) -> list[Block]:
    blocks: list[Block] = [Block(0)]
    labels: dict[str, int] = {}
    fixups: list[tuple[Branch, list[str | int]]] = []
    open_block = True  # whether control can fall into what comes next

    def new() -> Block:
        blocks.append(Block(len(blocks)))
        return blocks[-1]

    def end(
        kind: str, targets: list[str | int], ins: Instruction, reg: Reg | None = None, negated: bool = False
    ) -> None:
        branch = Branch(kind, [], reg, negated, ins.line)
        blocks[-1].branch = branch
        fixups.append((branch, targets))

    for s in body.statements:
        if isinstance(s, Label):
            if (
                open_block
                and not blocks[-1].instructions
                and len(blocks) - 1 not in labels.values()
                and len(blocks) > 1
            ):
                labels[s.name] = len(blocks) - 1
                continue
            previous = blocks[-1]
            b = new()
            if open_block:
                previous.branch = Branch("jump", [b.index], line=s.line)
            labels[s.name] = b.index
            open_block = True
            continue
        if not open_block:
            new()
            open_block = True
        if s.opcode == "bra":
            target = _label(s, 0)
            if s.guard is None:
                end("jump", [target], s)
                open_block = False
            else:
                end("cond", [target, len(blocks)], s, s.guard, s.guard_negated)
                new()
            continue
        if s.guard is not None:
            end("cond", [len(blocks), len(blocks) + 1], s, s.guard, s.guard_negated)
            inner = new()
            s = Instruction(s.opcode, s.modifiers, s.operands, s.line, None, False, s.row, s.attrs, s.types)
            if s.opcode not in ("ret", "exit", "brx"):
                inner.instructions.append(s)
                inner.branch = Branch("jump", [len(blocks)], line=s.line)
            elif s.opcode == "brx":
                end(
                    "index",
                    list(body.targets[_label(s, 1)]),
                    s,
                    s.operands[0] if isinstance(s.operands[0], Reg) else None,
                )
            else:
                end(s.opcode, [], s)
            new()
            continue
        if s.opcode in ("ret", "exit"):
            end(s.opcode, [], s)
            open_block = False
        elif s.opcode == "brx":
            reg = s.operands[0]
            if not isinstance(reg, Reg):
                raise PtxError("brx.idx needs a register as its index", s.line)
            end("index", list(body.targets[_label(s, 1)]), s, reg)
            open_block = False
        elif s.opcode == "trap":
            blocks[-1].instructions.append(s)
            end("none", [], s)
            open_block = False
        else:
            blocks[-1].instructions.append(s)
    if open_block:
        blocks[-1].branch = Branch("ret")
    for branch, names in fixups:
        for n in names:
            if isinstance(n, str):
                if n not in labels:
                    raise PtxError(f"label {n} is not defined", branch.line)
                branch.targets.append(labels[n])
            else:
                branch.targets.append(n)
    if any(0 in b.branch.targets for b in blocks):  # the entry must not be a loop's head
        return _with_entry(blocks)
    return blocks


def _with_entry(blocks: list[Block]) -> list[Block]:
    for b in blocks:
        b.index += 1
        b.branch.targets = [t + 1 for t in b.branch.targets]
    return [Block(0, branch=Branch("jump", [1])), *blocks]


def _label(s: Instruction, n: int) -> str:
    operand = s.operands[n]
    if not isinstance(operand, Sym):
        raise PtxError(f"{s.name}: a label is expected", s.line)
    return operand.name


def _reachable(blocks: list[Block]) -> list[int]:
    seen = {0}
    stack = [0]
    while stack:
        for t in blocks[stack.pop()].branch.targets:
            if t not in seen:
                seen.add(t)
                stack.append(t)
    return sorted(seen)


def _one_latch(graph: Graph) -> None:
    """Gives each loop with several back edges one latch block, so that lanes of one iteration meet before the next."""
    changed = False
    for loop in graph.loops:
        sources = [p for p in graph.blocks[loop.head].preds if p in loop.blocks]
        if len(sources) < 2:
            continue
        latch = Block(len(graph.blocks), branch=Branch("jump", [loop.head]))
        graph.blocks.append(latch)
        for p in sources:
            branch = graph.blocks[p].branch
            branch.targets = [latch.index if t == loop.head else t for t in branch.targets]
        changed = True
    if changed:
        graph.finish()


def _weak_topological_order(blocks: list[Block], reach: list[int]) -> tuple[list[int], list[Loop]]:
    order: list[int] = []
    loops: list[Loop] = []
    # Work items: (nodes of a subgraph, head whose incoming edges are cut, entries, loop around)
    stack: list[tuple[list[int], int, Loop | None] | int] = [(reach, -1, None)]
    while stack:
        item = stack.pop()
        if isinstance(item, int):
            order.append(item)
            continue
        nodes, cut, parent = item
        inside = set(nodes)
        todo: list[tuple[list[int], int, Loop | None] | int] = []
        for component in _components(blocks, nodes, inside, cut):
            node = component[0]
            if len(component) == 1 and (node == cut or node not in blocks[node].branch.targets):
                todo.append(node)
                continue
            members = set(component)
            head = _head(blocks, component, members)
            loop = Loop(head, frozenset(members), parent)
            loops.append(loop)
            if len(component) == 1:
                todo.append(head)
            else:
                todo.append((component, head, loop))
        stack.extend(reversed(todo))
    loops.sort(key=lambda loop: -len(loop.blocks))
    return order, loops


def _head(blocks: list[Block], component: list[int], members: set[int]) -> int:
    """The block through which most outside edges enter; the first in the text among equals."""
    best, most = component[0], -1
    for n in sorted(component):
        entries = sum(p not in members for p in blocks[n].preds)
        if entries > most:
            best, most = n, entries
    return best


def _components(blocks: list[Block], nodes: list[int], inside: set[int], cut: int) -> list[list[int]]:
    """Strongly connected components in topological order (Tarjan, iterative), edges into `cut` left out."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    on: set[int] = set()
    path: list[int] = []
    found: list[list[int]] = []
    roots = [cut] if cut >= 0 else []
    for root in [*roots, *nodes]:
        if root in number:
            continue
        work: list[tuple[int, Iterator[int]]] = []

        def visit(n: int, work: list[tuple[int, Iterator[int]]] = work) -> None:
            number[n] = low[n] = len(number)
            path.append(n)
            on.add(n)
            # The last target first: then the fall-through side comes earlier in the final (reversed) order.
            work.append((n, iter([t for t in blocks[n].branch.targets if t in inside and t != cut])))

        visit(root)
        while work:
            n, targets = work[-1]
            for t in targets:
                if t not in number:
                    visit(t)
                    break
                if t in on:
                    low[n] = min(low[n], number[t])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[n])
                if low[n] == number[n]:
                    component = []
                    while True:
                        m = path.pop()
                        on.discard(m)
                        component.append(m)
                        if m == n:
                            break
                    found.append(component)
    found.reverse()
    return found
