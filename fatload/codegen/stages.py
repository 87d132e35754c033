"""The stages of a translation, by the names of their artifacts: each can be dumped and tested on its own.

=========  ======================================================  ==================
artifact   what it is                                              targets
=========  ======================================================  ==================
ptx        the kernel and what it reaches, read and checked        all
llvm       LLVM IR text as fatload emits it                        all
optimized  LLVM IR text behind LLVM's passes                       all
asm        assembly text                                           all
object     relocatable ELF                                         all
code       what a device loads (CPU: the object itself)            all
=========  ======================================================  ==================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fatload.codegen.cpu import object as cpu
from fatload.codegen.cpu.unit import Unit
from fatload.ptx import read_kernel
from fatload.ptx.layout import ModuleLayout, layout
from fatload.ptx.model import Module, PtxError
from fatload.ptx.writer import write

CPU_TARGETS = {"x86-64-v3": 3, "x86-64-v4": 4}


@dataclass(slots=True)
class Translation:
    """One kernel on its way through the stages; artifacts are made when first asked for."""

    text: str
    kernel: str
    target: str
    shape: str = "row"
    artifacts: dict[str, Any] = field(default_factory=dict)
    unit: Unit | None = None

    def get(self, name: str) -> Any:
        """The artifact `name`: a Module for ptx, str for llvm, optimized and asm, bytes for object and code."""
        if name not in self.artifacts:
            self.artifacts[name] = STAGES[name](self)
        return self.artifacts[name]

    @property
    def level(self) -> int:
        """Feature level of a CPU target."""
        if self.target not in CPU_TARGETS:
            raise PtxError(f"{self.target} is not a CPU target", code=1)
        return CPU_TARGETS[self.target]


def _ptx(t: Translation) -> tuple[Module, ModuleLayout]:
    return read_kernel(t.text, t.kernel), layout(t.text)


def _llvm(t: Translation) -> str:
    module, where = t.get("ptx")
    t.unit = cpu.unit_of(module, where, t.kernel, t.level, t.shape == "row")
    return cpu.llvm_text(t.unit)


def _optimised(t: Translation) -> Any:
    return cpu.optimise(t.get("llvm"), t.level)


STAGES: dict[str, Callable[[Translation], Any]] = {
    "ptx": _ptx,
    "llvm": _llvm,
    "optimized": _optimised,
    "asm": lambda t: cpu.emit(t.get("optimized"), t.level, assembly=True).decode(),
    "object": lambda t: cpu.emit(t.get("optimized"), t.level),
    "code": lambda t: t.get("object"),
}


def stage(text: str, kernel: str, target: str, name: str) -> bytes:
    """An artifact of one kernel as bytes for a file; `target` may be an AMD chip. Raises PtxError, Unsupported."""
    if name == "ptx":
        return write(read_kernel(text, kernel)).encode()
    if target in CPU_TARGETS:
        artifact = Translation(text, kernel, target).get(name)
        return artifact if isinstance(artifact, bytes) else str(artifact).encode()
    from fatload.codegen.amdgcn import module as amd
    from fatload.link.linker import link

    t = amd.parse_target(target)
    ir, _ = amd.llvm_text(text, t, [kernel])
    if name == "llvm":
        return ir.encode()
    optimised = amd.optimise(ir, t)
    if name == "optimized":
        return str(optimised).encode()
    code = amd.emit(optimised, t, assembly=name == "asm")
    return link(code) if name == "code" else code
