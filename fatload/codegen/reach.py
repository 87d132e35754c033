"""What a kernel reaches: device functions by call or address, module-scope variables by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fatload.ptx.model import Addr, Address, CallArgs, Function, Instruction, Module, Operand, Pair, Sym, Vec


@dataclass(slots=True)
class Reach:
    """Names in a stable order. `address_taken`: functions whose number is stored somewhere a kernel with indirect calls may find it."""

    functions: list[str] = field(default_factory=list)
    variables: set[str] = field(default_factory=set)
    address_taken: list[str] = field(default_factory=list)
    indirect: bool = False
    recursive: bool = False
    exits: set[str] = field(default_factory=set)  # device functions that may end lanes


def names(o: Operand) -> Iterator[str]:
    """Symbol names in an operand."""
    match o:
        case Sym(name, _) | Addr(Sym(name, _), _):
            yield name
        case Vec(items) | CallArgs(items):
            for x in items:
                yield from names(x)
        case Pair(a, b):
            yield from names(a)
            yield from names(b)
        case _:
            return


def reach(module: Module, kernel: Function) -> Reach:
    """Follows calls, function addresses and, when there are indirect calls, all functions whose address the module takes."""
    found = Reach()
    edges: dict[str, set[str]] = {}
    seen = {kernel.name}
    work = [kernel]
    taken: list[str] = []

    def visit_variable(name: str) -> None:
        if name in found.variables:
            return
        found.variables.add(name)
        for x in module.variables[name].init or ():
            if isinstance(x, Address):
                visit_symbol(x.name)

    def visit_symbol(name: str) -> None:
        if name in module.variables:
            visit_variable(name)
        elif name in module.functions and not module.functions[name].entry and name not in taken:
            taken.append(name)

    def add(name: str) -> None:
        if name not in seen and name in module.functions:
            seen.add(name)
            found.functions.append(name)
            work.append(module.functions[name])

    all_taken: list[str] | None = None
    while work:
        f = work.pop()
        callees = edges.setdefault(f.name, set())
        if f.body is None:
            continue
        for s in f.body.statements:
            if not isinstance(s, Instruction):
                continue
            if s.opcode == "exit" and f is not kernel:
                found.exits.add(f.name)
            for n, o in enumerate(s.operands):
                for name in names(o):
                    if s.opcode == "call" and s.types[n] == "function":
                        callees.add(name)
                        add(name)
                    else:
                        visit_symbol(name)
            if s.opcode == "call" and not any(
                t == "function" and isinstance(o, Sym) for t, o in zip(s.types, s.operands, strict=False)
            ):
                found.indirect = True
                callees.add("*")
        if found.indirect and all_taken is None:
            all_taken = [n for n in module.address_taken if n in module.functions]
            for name in all_taken:
                add(name)
    found.address_taken = all_taken or []
    found.recursive = _cyclic(edges, set(found.address_taken))
    _spread_exits(edges, found)
    return found


def _cyclic(edges: dict[str, set[str]], taken: set[str]) -> bool:
    state: dict[str, int] = {}
    for root in edges:
        if root in state:
            continue
        stack = [(root, iter(_targets(edges, root, taken)))]
        state[root] = 1
        while stack:
            name, targets = stack[-1]
            for t in targets:
                if state.get(t) == 1:
                    return True
                if t not in state:
                    state[t] = 1
                    stack.append((t, iter(_targets(edges, t, taken))))
                    break
            else:
                state[name] = 2
                stack.pop()
    return False


def _targets(edges: dict[str, set[str]], name: str, taken: set[str]) -> set[str]:
    out = edges.get(name, set())
    return (out - {"*"}) | taken if "*" in out else out


def _spread_exits(edges: dict[str, set[str]], found: Reach) -> None:
    changed = bool(found.exits)
    while changed:
        changed = False
        for name, out in edges.items():
            if name in found.exits or name not in found.functions:
                continue
            if out & found.exits or ("*" in out and found.exits & set(found.address_taken)):
                found.exits.add(name)
                changed = True
