"""CPU target: from a kernel to an x86-64 relocatable object."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING

from fatload.codegen.cpu.calls import function_symbol
from fatload.codegen.cpu.function import translate_function
from fatload.codegen.cpu.unit import Unit
from fatload.codegen.reach import reach
from fatload.ptx.layout import ModuleLayout
from fatload.ptx.model import Module, PtxError

if TYPE_CHECKING:
    from llvmlite import binding

LEVELS = {
    3: "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+sahf,+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave",
}
LEVELS[4] = LEVELS[3] + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
TRIPLE = "x86_64-unknown-linux-gnu"
_lock = threading.Lock()


def unit_of(module: Module, layout: ModuleLayout, kernel: str, level: int, row_class: bool) -> Unit:
    """The translation unit of `kernel`, laid out."""
    function = module.functions.get(kernel)
    if function is None or not function.entry:
        raise PtxError(f"no kernel {kernel}", code=500)
    unit = Unit(module, function, reach(module, function), layout, level, row_class)
    unit.place()
    return unit


def llvm_text(unit: Unit) -> str:
    """The unit as LLVM IR, before optimisation."""
    functions = [translate_function(unit, f) for f in unit.functions()]
    text = [f'target triple = "{TRIPLE}"', ""]
    if unit.reach.indirect:
        slots = ["null"] * (len(unit.layout.functions) + 1)
        for name in unit.reach.address_taken:
            if unit.module.functions[name].body is not None:
                slots[unit.layout.functions[name]] = function_symbol(name)
        table = ", ".join(f"ptr {s}" for s in slots)
        text += [f"@functions = internal constant [{len(slots)} x ptr] [{table}]", ""]
    for f in functions:
        text += [f, ""]
    for helper in unit.helpers.values():
        text += [helper, ""]
    text += sorted(set(unit.declarations.values()))
    text += ["", 'attributes #0 = { nounwind "frame-pointer"="none" }', ""]
    return "\n".join(text)


@cache
def target_machine(level: int) -> binding.TargetMachine:
    """LLVM's target machine for a feature level; position-independent, small code model."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(TRIPLE)
    return target.create_target_machine(
        cpu=f"x86-64-v{level}", features=LEVELS[level], opt=2, reloc="pic", codemodel="small"
    )


def optimise(text: str, level: int) -> binding.ModuleRef:
    """Parses and optimises. The code is vector code already: no loop vectoriser, no SLP, no unroller."""
    from llvmlite import binding

    with _lock:
        machine = target_machine(level)
        module = binding.parse_assembly(text)
        module.verify()
        tuning = binding.create_pipeline_tuning_options(speed_level=1)
        tuning.loop_vectorization = False
        tuning.slp_vectorization = False
        tuning.loop_unrolling = False
        builder = binding.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        return module


def emit(module: binding.ModuleRef, level: int, assembly: bool = False) -> bytes:
    """The object (or assembly text) of an optimised module."""
    with _lock:
        machine = target_machine(level)
        if assembly:
            return str(machine.emit_assembly(module)).encode()
        return bytes(machine.emit_object(module))
