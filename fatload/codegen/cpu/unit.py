"""A translation unit of the CPU target: one kernel, the functions it reaches, and where its variables lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fatload.codegen.reach import Reach
from fatload.ptx.layout import ModuleLayout
from fatload.ptx.model import Body, Function, Module, Variable

BUILTINS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""External functions that the runtime provides."""


@dataclass(slots=True)
class Frame:
    """Offsets of variables in some memory, and its size in bytes."""

    offsets: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def add(self, v: Variable) -> None:
        """Places `v` at the next aligned offset."""
        align = max(1, v.align)
        self.size = -(-self.size // align) * align
        self.offsets[v.name] = self.size
        self.size += v.size


@dataclass(slots=True)
class Unit:
    """What the functions of one object share. `level`: 3 or 4 of x86-64-v3, -v4; `row_class`: the shape class is ``row``."""

    module: Module
    kernel: Function
    reach: Reach
    layout: ModuleLayout
    level: int
    row_class: bool
    shared: Frame = field(default_factory=Frame)
    dynamic_shared: set[str] = field(default_factory=set)
    local: dict[str, Frame] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    helpers: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)

    def place(self) -> None:
        """Lays out shared memory (module-scope and function-scope variables, then the dynamic part) and local frames."""
        variables: list[Variable] = [
            v for v in self.module.variables.values() if v.space == "shared" and v.name in self.reach.variables
        ]
        for f in self.functions():
            frame = self.local[f.name] = Frame()
            for v in _body(f).variables.values():
                if v.space == "shared":
                    variables.append(v)
                elif v.space == "local":
                    frame.add(v)
            frame.size = -(-frame.size // 16) * 16
        for v in self.module.variables.values():
            if v.space == "local" and v.name in self.reach.variables:
                self.local[self.kernel.name].add(v)
        for v in variables:
            if v.size and v.linkage != "extern":
                self.shared.add(v)
        for v in variables:
            if not v.size or v.linkage == "extern":
                self.dynamic_shared.add(v.name)
                self.flags.add("dynamic-shared")
        if self.dynamic_shared:
            self.shared.size = -(-self.shared.size // 16) * 16

    def functions(self) -> Iterable[Function]:
        """The kernel, then the device functions it reaches that have a body."""
        yield self.kernel
        for name in self.reach.functions:
            f = self.module.functions[name]
            if f.body is not None and not f.entry:
                yield f

    def shared_offset(self, name: str) -> int | None:
        """Offset of a shared variable, None if `name` is none."""
        if name in self.dynamic_shared:
            return self.shared.size
        return self.shared.offsets.get(name)

    @property
    def local_bytes(self) -> int:
        """Local memory a lane needs: the kernel's frame, and the frames of calls (with room for recursion)."""
        frames = [self.local[f.name].size for f in self.functions()]
        calls = sum(frames[1:])
        if self.reach.recursive or self.reach.indirect:
            calls = max(calls * 64, 4096) if calls else 0
        return -(-(frames[0] + calls) // 16) * 16


def _body(f: Function) -> Body:
    assert f.body is not None
    return f.body
