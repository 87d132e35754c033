"""Shapes of SSA values over the lanes of a warp, and which control flow diverges (CPU target).

A value is *uniform* (one scalar), *affine* (base + lane * stride, stride a constant; ``aligned``: the base is a multiple of
32) or *varying*. A merge is varying where lanes that took different ways meet (sync dependence), and behind a loop that
lanes leave in different iterations. Emission may do better than this analysis for a single value, never worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from fatload.codegen.analysis.cfg import Graph, Loop
from fatload.codegen.analysis.ssa import destinations, registers
from fatload.ptx.model import Addr, FloatImm, Imm, Instruction, Operand, Reg, Special, Sym


@dataclass(slots=True, frozen=True)
class Shape:
    """``kind`` 0 uniform, 1 affine, 2 varying. ``guarded``: affine only if a run-time check (no wrap at a widening) holds."""

    kind: int
    stride: int = 0
    aligned: bool = False
    guarded: bool = False


UNIFORM, VARYING = Shape(0), Shape(2)

# Opcodes whose results differ by lane even when every operand is uniform.
_LANE_OPS = frozenset({"atom", "match", "elect", "call", "alloca", "redux_"})
# Special registers by shape in a CTA of class `row` (x) and always.
_SPECIAL_VARYING = frozenset({"lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt"})
_VOTES = frozenset({"vote", "activemask", "redux", "bar", "barrier"})


def join(a: Shape | None, b: Shape | None) -> Shape | None:
    """The least shape that both fit; None is 'not known yet'."""
    if a is None or a == b:
        return b
    if b is None:
        return a
    if a.kind == 2 or b.kind == 2 or a.kind != b.kind or a.stride != b.stride:
        return VARYING
    return Shape(a.kind, a.stride, a.aligned and b.aligned, a.guarded or b.guarded)


@dataclass(slots=True)
class Shapes:
    """What the analysis found. ``divergent``: blocks that part of the live lanes may execute while others wait elsewhere;
    ``joins``: blocks where ways of different lanes meet; ``ragged``: loops that lanes leave in different iterations."""

    values: dict[str, Shape] = field(default_factory=dict)
    divergent: set[int] = field(default_factory=set)
    joins: set[int] = field(default_factory=set)
    ragged: list[Loop] = field(default_factory=list)
    params: frozenset[str] = frozenset()
    branches: set[int] = field(default_factory=set)  # blocks that end in a divergent branch


def operand_shape(o: Operand, values: dict[str, Shape], row_class: bool, irregular: bool) -> Shape | None:
    """Shape of an operand that is read."""
    match o:
        case Reg(name):
            return values.get(name) if not name.endswith(".u") else UNIFORM
        case Imm() | FloatImm() | Sym():
            return UNIFORM
        case Special(name, component):
            if name == "tid":
                if component == "x":
                    return Shape(1, 1, True) if row_class else VARYING
                return UNIFORM if row_class else VARYING
            if name == "laneid":
                return Shape(1, 1, True)
            if irregular and name.startswith(("clock", "globaltimer")):
                return VARYING
            return VARYING if name in _SPECIAL_VARYING else UNIFORM
        case Addr(Reg(name), _):
            return values.get(name)
        case Addr():
            return UNIFORM
        case _:
            shape: Shape | None = UNIFORM
            for r in registers(o):
                s = values.get(r) if not r.endswith(".u") else UNIFORM
                if s is None:
                    return None
                shape = join(shape, s)
            return shape


def analyse(graph: Graph, row_class: bool, params: frozenset[str], irregular: bool) -> Shapes:
    """Shapes of all values in `graph`.

    `row_class`: the CTA's shape class is `row`. `params`: names of a kernel's parameters (a call's parameters are varying).
    `irregular`: lanes may run ahead of each other (spinning loops, waits inside the warp): then a value is uniform only
    if it is the same at any time.
    """
    found = Shapes(params=params)
    values = found.values
    while True:
        _propagate(graph, values, found, row_class, irregular)
        branches = set()
        for b in graph.order:
            branch = graph.blocks[b].branch
            if branch.reg is not None and len(graph.blocks[b].succs) > 1:
                shape = operand_shape(branch.reg, values, row_class, irregular)
                if shape is None or shape.kind != 0:
                    branches.add(b)
        if branches == found.branches:
            return found
        found.branches = branches
        _divergence(graph, found)


def _propagate(graph: Graph, values: dict[str, Shape], found: Shapes, row_class: bool, irregular: bool) -> None:
    ragged_exits = {t for loop in found.ragged for _, t in loop.exits(graph)}
    changed = True
    while changed:
        changed = False
        for b in graph.order:
            block = graph.blocks[b]
            for phi in block.phis:
                shape: Shape | None = values.get(phi.dest)
                if irregular or b in found.joins or b in ragged_exits:
                    shape = VARYING
                else:
                    for source in phi.sources.values():
                        if source is not None:
                            shape = join(shape, values.get(source))
                if shape is not None and shape != values.get(phi.dest):
                    values[phi.dest] = shape
                    changed = True
            for i in block.instructions:
                out = destinations(i)
                if not out:
                    continue
                shapes = [
                    operand_shape(o, values, row_class, irregular) for n, o in enumerate(i.operands) if n not in out
                ]
                shape = _transfer(i, shapes, irregular, found.params)
                if shape is None:
                    continue
                for n in out:
                    for r in registers(i.operands[n]):
                        new = join(values.get(r), shape)
                        if new is not None and new != values.get(r):
                            values[r] = new
                            changed = True


def _divergence(graph: Graph, found: Shapes) -> None:
    """Sync dependence: from each divergent branch follow its ways until all lanes are on one way again.

    A loop that some lanes leave earlier than others acts like a divergent branch to its exits.
    """
    found.joins.clear()
    found.divergent.clear()
    inner = {b: loop for loop in graph.loops for b in loop.blocks}  # outer loops come first, so the innermost stays
    ragged: dict[int, Loop] = {}
    work: list[tuple[list[int], Loop | None]] = [(graph.blocks[d].succs, inner.get(d)) for d in found.branches]
    while work:
        targets, loop = work.pop()
        if not _spread(graph, found, targets, loop, inner) or loop is None or loop.head in ragged:
            continue
        ragged[loop.head] = loop
        exits = list(dict.fromkeys(t for _, t in loop.exits(graph)))
        found.joins.update(exits)
        found.divergent.update(loop.blocks)
        work.append((exits, loop.parent))
    found.ragged = list(ragged.values())


def _spread(graph: Graph, found: Shapes, targets: list[int], loop: Loop | None, inner: dict[int, Loop]) -> bool:
    """Marks divergent blocks and joins behind a split of the lanes to `targets`; whether some lanes leave `loop`."""
    position = graph.position
    labels: dict[int, int] = {}
    pending: list[tuple[int, int]] = []
    left = False
    arrivals = [(t, t, -1) for t in targets]
    while True:
        for target, label, source in arrivals:
            if loop is not None and target not in loop.blocks:
                left = True
            elif loop is not None and target == loop.head:
                continue
            elif target not in labels:
                labels[target] = label
                heappush(pending, (position[target], target))
            elif labels[target] != label:
                found.joins.add(target)
                if source >= 0 and position[target] <= position[source]:  # a loop entered in its middle
                    found.joins.update(inner[target].blocks)
                labels[target] = target
        if len({labels[b] for _, b in pending}) < 2:
            return left
        _, b = heappop(pending)
        found.divergent.add(b)
        arrivals = [(s, labels[b], b) for s in graph.blocks[b].succs]


Transfer = Callable[[Instruction, list[Shape]], Shape]


def _transfer(i: Instruction, shapes: list[Shape | None], irregular: bool, params: frozenset[str]) -> Shape | None:
    op = i.opcode
    if op in _LANE_OPS:
        return VARYING
    if any(s is None for s in shapes):
        return None
    known = [s for s in shapes if s is not None]
    if op in _VOTES:
        if irregular or op == "activemask":
            return VARYING if irregular else UNIFORM
        if op == "vote" or op == "redux":
            return UNIFORM if known[-1].kind == 0 else VARYING  # by the mask of members
        return UNIFORM
    if op == "shfl":
        return UNIFORM if all(s.kind == 0 for s in known) and not irregular else VARYING
    if op in ("ld", "ldu"):
        return _load(i, known, irregular, params)
    rule = _RULES.get(op)
    if rule is not None:
        return rule(i, known)
    return _plain(known)


def _plain(known: list[Shape]) -> Shape:
    return UNIFORM if all(s.kind == 0 for s in known) else VARYING


def _width(i: Instruction) -> int:
    t = i.attrs.get("type", "")
    return int("".join(c for c in t if c.isdigit()) or 0) if "x" not in t and t[:1] in "bus" else 0


def _immediate(o: Operand) -> int | None:
    return o.value if isinstance(o, Imm) else None


def _add(i: Instruction, s: list[Shape]) -> Shape:
    if _width(i) < 32 or i.attrs.get("sat") or i.attrs.get("cc") or i.opcode in ("addc", "subc"):
        return _plain(s)
    return affine_add(s[0], s[1], -1 if i.opcode == "sub" else 1)


def affine_add(a: Shape, b: Shape, sign: int = 1) -> Shape:
    """Shape of a + sign * b."""
    if a.kind == 2 or b.kind == 2:
        return VARYING
    stride = a.stride + sign * b.stride
    guarded = a.guarded or b.guarded
    if stride == 0 and not guarded:
        return UNIFORM
    return Shape(1, stride, False, guarded)


def affine_scale(a: Shape, factor: int | None) -> Shape:
    """Shape of a * factor (None: a uniform value that is not known)."""
    if a.kind == 0:
        return UNIFORM
    if a.kind == 2 or factor is None or abs(a.stride * factor) >= 1 << 20:
        return VARYING
    return Shape(1, a.stride * factor, a.aligned and factor != 0, a.guarded) if factor else VARYING


def _product(a: Shape, b: Shape, x: Operand, y: Operand) -> Shape:
    if a.kind == 0 and b.kind == 0:
        return UNIFORM
    if b.kind == 0:
        return affine_scale(a, _immediate(y))
    if a.kind == 0:
        return affine_scale(b, _immediate(x))
    return VARYING


def _mul(i: Instruction, s: list[Shape]) -> Shape:
    mode = i.attrs.get("mode")
    if _width(i) < 32 or mode not in ("lo", "wide"):
        return _plain(s)
    product = _product(s[0], s[1], i.operands[1], i.operands[2])
    if mode == "wide" and product.kind == 1:
        product = Shape(1, product.stride, product.aligned, True)
    if i.opcode == "mad":
        if i.attrs.get("sat") or i.attrs.get("cc"):
            return _plain(s)
        return affine_add(product, s[2])
    return product


def _shl(i: Instruction, s: list[Shape]) -> Shape:
    amount = _immediate(i.operands[2])
    if _width(i) < 32 or amount is None or not 0 <= amount < 20:
        return _plain(s)
    return affine_scale(s[0], 1 << amount)


def _shr(i: Instruction, s: list[Shape]) -> Shape:
    amount = _immediate(i.operands[2])
    if (
        s[0].kind == 1
        and s[0].aligned
        and s[0].stride == 1
        and not s[0].guarded
        and amount is not None
        and amount >= 5
        and _width(i) == 32
    ):
        return UNIFORM  # tid.x / 32
    return _plain(s)


def _and(i: Instruction, s: list[Shape]) -> Shape:
    mask = _immediate(i.operands[2])
    if (
        s[0].kind == 1
        and s[0].aligned
        and s[0].stride == 1
        and not s[0].guarded
        and _width(i) == 32
        and mask is not None
    ):
        mask &= 0xFFFFFFFF
        if mask & 31 == 0:
            return UNIFORM
        if mask & 31 == 31:
            return Shape(1, 1, True)
    return _plain(s)


def _setp(i: Instruction, s: list[Shape]) -> Shape:
    if len(i.operands) == 3 and uniform_comparison(i, s[0], i.operands[2]):
        return UNIFORM
    return _plain(s)


def uniform_comparison(i: Instruction, a: Shape, y: Operand) -> bool:
    """Whether comparing an aligned affine 32-bit value with this constant answers the same in all lanes (tid.x < 32)."""
    c = _immediate(y)
    t = i.attrs.get("type", "")
    if (
        a.kind != 1
        or not a.aligned
        or a.stride != 1
        or a.guarded
        or c is None
        or t not in ("u32", "s32")
        or "bool" in i.attrs
    ):
        return False
    if t == "s32" and c < 0:
        return False
    cmp = i.attrs.get("cmp")
    return (cmp in ("lt", "ge", "lo", "hs") and c % 32 == 0) or (cmp in ("gt", "le", "hi", "ls") and (c + 1) % 32 == 0)


def _cvt(i: Instruction, s: list[Shape]) -> Shape:
    d, a = i.attrs.get("dtype", ""), i.attrs.get("atype", "")
    if (
        s
        and s[0].kind == 1
        and d[:1] in "us"
        and a[:1] in "us"
        and len(d) == 3
        and len(a) == 3
        and not i.attrs.get("sat")
    ):
        if d[1:] == a[1:]:
            return s[0]
        if d[1:] == "64":
            return Shape(1, s[0].stride, s[0].aligned, True)
        return Shape(1, s[0].stride, s[0].aligned, False) if not s[0].guarded else VARYING
    return _plain(s)


def _mov(i: Instruction, s: list[Shape]) -> Shape:
    return (
        s[0]
        if len(s) == 1 and isinstance(i.operands[0], Reg) and isinstance(i.operands[1], Reg | Special)
        else _plain(s)
    )


def _cvta(i: Instruction, s: list[Shape]) -> Shape:
    if i.attrs.get("space") in ("global", "const"):
        return s[0]
    if i.attrs.get("space") == "local":
        return VARYING
    return _plain(s)


def _load(i: Instruction, s: list[Shape], irregular: bool, params: frozenset[str]) -> Shape:
    space = i.attrs.get("space", "").partition("::")[0]
    address = i.operands[1]
    if space == "param":
        if isinstance(address, Addr) and isinstance(address.base, Sym):
            return UNIFORM if address.base.name in params else VARYING
        return _plain(s) if params else VARYING
    if space == "local" or irregular or i.attrs.get("sem", "weak") != "weak":
        return VARYING
    return _plain(s)


_RULES: dict[str, Transfer] = {
    "add": _add,
    "sub": _add,
    "mul": _mul,
    "mad": _mul,
    "shl": _shl,
    "shr": _shr,
    "and": _and,
    "setp": _setp,
    "cvt": _cvt,
    "mov": _mov,
    "cvta": _cvta,
}
