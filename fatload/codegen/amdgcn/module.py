"""AMD target: whole modules. All kernels of a module become one code object, with the module's variables in it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fatload.codegen.amdgcn.lowering import AmdLowering
from fatload.codegen.analysis.cfg import Block, build
from fatload.codegen.cpu.calls import call_parts
from fatload.codegen.cpu.function import lowering_function
from fatload.codegen.reach import Reach, reach
from fatload.ptx.layout import ModuleLayout, layout
from fatload.ptx.model import SIZES, Address, Function, Instruction, Module, PtxError, Sym, Unsupported, Variable

TRIPLE = "amdgcn-amd-amdhsa"
_TARGET = re.compile(r"(gfx[0-9a-f]+(?:-[0-9a-z]+)*)(?::wave(32|64))?\Z")
_lock = threading.Lock()


@dataclass(slots=True, frozen=True)
class Target:
    """A chip and a wave size."""

    chip: str
    wave: int

    @property
    def features(self) -> str:
        """LLVM's feature string."""
        return f"+wavefrontsize{self.wave}"


def parse_target(text: str) -> Target:
    """``gfx1100``, ``gfx1100:wave64``, ``gfx90a``. Raises PtxError (code 1) for what LLVM does not know."""
    m = _TARGET.match(text)
    if m is None:
        raise PtxError(f"{text!r} is no target: gfx1100, gfx1100:wave64, gfx90a …", code=1)
    chip = m[1]
    gfx9 = chip.startswith("gfx9")
    wave = int(m[2]) if m[2] else (64 if gfx9 else 32)
    if gfx9 and wave == 32:
        raise PtxError(f"{chip} has 64-lane waves only", code=1)
    if chip not in chips():
        raise PtxError(f"LLVM does not know the chip {chip}", code=1)
    return Target(chip, wave)


CHIPS = """
gfx900 gfx902 gfx904 gfx906 gfx908 gfx909 gfx90a gfx90c gfx942 gfx950 gfx1010 gfx1011 gfx1012
gfx1013 gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx1100 gfx1101 gfx1102 gfx1103
gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 gfx1201 gfx9-generic gfx9-4-generic gfx10-1-generic
gfx10-3-generic gfx11-generic gfx12-generic
"""


def chips() -> frozenset[str]:
    """Chips that are translated for."""
    return frozenset(CHIPS.split())


class AmdModule:
    """LLVM text of a module's kernels for one target."""

    def __init__(self, module: Module, where: ModuleLayout, target: Target) -> None:
        self.module, self.layout, self.target = module, where, target
        self.wave = target.wave
        self.declarations: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.shared: dict[str, str] = {}  # IR definition by symbol
        self.reach: dict[str, Reach] = {}

    # -- names ----------------------------------------------------------------------------------------------------

    def space_of(self, f: Function, name: str) -> str | None:
        """State space of a variable seen from `f`."""
        assert f.body is not None
        v = f.body.variables.get(name) or self.module.variables.get(name)
        return v.space if v is not None else None

    def shared_symbol(self, f: Function, name: str) -> str:
        """The LDS variable's symbol; defines it when first asked for."""
        assert f.body is not None
        own = f.body.variables.get(name)
        v = own or self.module.variables[name]
        symbol = f'@"{f.name}.{name}"' if own else f'@"{name}"'
        if symbol not in self.shared:
            if v.size and v.linkage != "extern":
                self.shared[symbol] = (
                    f"{symbol} = internal addrspace(3) global [{v.size} x i8] poison, align {max(v.align, 1)}"
                )
            else:
                self.shared[symbol] = f"{symbol} = external addrspace(3) global [0 x i8], align {max(v.align, 16)}"
        return symbol

    def param_variable(self, f: Function, name: str) -> Variable:
        """A call parameter: declared in the body, or the function's own."""
        assert f.body is not None
        v = f.body.variables.get(name)
        if v is not None:
            return v
        return next(v for v in (*f.params, *f.returns) if v.name == name)

    def param_pointer(self, b: AmdLowering, name: str) -> str:
        """Private memory of a call parameter."""
        f = b.function
        assert f.body is not None
        if name not in f.body.variables:
            for k, v in enumerate((*f.params, *f.returns)):
                if v.name == name:
                    return f"%p{k}"
        v = self.param_variable(f, name)
        return b.entry_value(f"param {name}", f"alloca [{max(v.size, 1)} x i8], align 16, addrspace(5)")

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(self, b: AmdLowering, i: Instruction) -> None:
        """A direct call: parameters and results go through private memory, which LLVM promotes to registers."""
        returns, callee, arguments, _ = call_parts(i)
        if not isinstance(callee, Sym):
            raise b.unsupported("an indirect call")
        f = self.module.functions.get(self.module.aliases.get(callee.name, callee.name))
        if f is None or f.body is None:
            raise b.unsupported(f"the function {callee.name}")
        passed = []
        variables = [*f.params, *f.returns]
        for k, o in enumerate([*arguments, *returns]):
            if isinstance(o, Sym):
                passed.append(f"ptr addrspace(5) {self.param_pointer(b, o.name)}")
                continue
            slot = b.let_entry(f"alloca i{variables[k].size * 8}, addrspace(5)")
            if k < len(arguments):
                v = b.operand(o, f"i{variables[k].size * 8}")
                b.emit(f"store {v.type} {v.text}, ptr addrspace(5) {slot}")
            passed.append(f"ptr addrspace(5) {slot}")
        b.emit(f'call void @"f.{f.name}"({", ".join(passed)}) #1')

    # -- functions ------------------------------------------------------------------------------------------------

    def text(self, kernels: Iterable[Function]) -> str:
        """LLVM IR of the kernels and what they reach. Raises Unsupported."""
        functions: dict[str, Function] = {}
        for k in kernels:
            found = self.reach[k.name] = reach(self.module, k)
            if found.indirect:
                raise Unsupported("an indirect call", k.line, k.name)
            functions[k.name] = k
            for name in found.functions:
                functions[name] = self.module.functions[name]
        bodies = [self.function(f) for f in functions.values() if f.body is not None]
        used = {name for r in self.reach.values() for name in r.variables}
        lines = [f'target triple = "{TRIPLE}"', ""]
        lines += self.shared.values()
        lines += [self.variable(v) for name, v in self.layout.variables.items() if name in used or not self.reach]
        lines += ["", *bodies]
        lines += sorted(set(self.declarations.values()))
        lines += [
            "",
            "attributes #1 = { convergent nounwind }",
            "!llvm.module.flags = !{!0}",
            '!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}',
            "",
        ]
        return "\n".join(lines)

    def variable(self, v: Variable) -> str:
        """A `.global` or `.const` variable, which the host may write at any time."""
        data = bytearray(v.size)
        size = SIZES[v.type]
        for k, x in enumerate(v.init or ()):
            if isinstance(x, Address):
                raise Unsupported(f"the variable {v.name}, whose initial value is an address,", v.line)
            data[k * size : (k + 1) * size] = x.to_bytes(size, "little")
        body = "zeroinitializer" if not any(data) else 'c"' + "".join(f"\\{byte:02X}" for byte in data) + '"'
        return f'@"{v.name}" = protected addrspace(1) externally_initialized global [{v.size} x i8] {body}, align {max(v.align, 1)}'

    def function(self, f: Function) -> str:
        """One function."""
        assert f.body is not None
        b = AmdLowering(self, f)
        graph = build(f.body)
        for index in graph.order:
            self.block(b, graph.blocks[index])
        head = self._head(f)
        return "\n".join([head, "entry:", *b.entry, f"  br label %b{graph.order[0]}", *b.lines, "}", ""])

    def _head(self, f: Function) -> str:
        features = f'"target-cpu"="{self.target.chip}" "target-features"="{self.target.features}"'
        common = f'convergent nounwind {features} "denormal-fp-math-f32"="ieee,ieee" "uniform-work-group-size"="true"'
        if not f.entry:
            params = ", ".join(f"ptr addrspace(5) %p{k}" for k in range(len(f.params) + len(f.returns)))
            return f'define internal void @"f.{f.name}"({params}) {common} {{'
        size = 0
        for v in f.params:
            align = max(1, v.align)
            size = -(-size // align) * align + v.size
        threads = 1
        for n in f.directives.get("maxntid", f.directives.get("reqntid", (1024,))):
            threads *= n
        args = f"ptr addrspace(4) byref([{size} x i8]) align 16 %args" if size else ""
        return (
            f'define protected amdgpu_kernel void @"{f.name}"({args}) {common} '
            f'"amdgpu-flat-work-group-size"="1,{threads}" {{'
        )

    def block(self, b: AmdLowering, block: Block) -> None:
        """One PTX block; branches are the hardware's business."""
        b.place(f"b{block.index}")
        b.carry = None
        for i in block.instructions:
            b.instruction = i
            try:
                if i.row is None or i.row.lower is None:
                    raise b.unsupported()
                lowering_function(i.row.lower)(b, i)
            except Unsupported as e:
                e.kernel, e.line = b.kernel, e.line or i.line
                raise
        b.instruction = None
        branch = block.branch
        match branch.kind:
            case "none":
                b.emit("unreachable")
            case "ret":
                b.emit("ret void")
            case "exit":
                if b.function.entry:
                    b.emit("ret void")
                else:
                    b.declare("llvm.amdgcn.endpgm", "void ()")
                    b.emit("call void @llvm.amdgcn.endpgm()")
                    b.emit("unreachable")
            case "jump":
                b.emit(f"br label %b{branch.targets[0]}")
            case "cond":
                assert branch.reg is not None
                p = b.load_register(branch.reg.name)
                taken, other = branch.targets if not branch.negated else reversed(branch.targets)
                b.emit(f"br i1 {p.text}, label %b{taken}, label %b{other}")
            case _:
                assert branch.reg is not None
                v = b.load_register(branch.reg.name)
                cases = " ".join(f"{v.type} {k}, label %b{t}" for k, t in enumerate(branch.targets))
                b.emit(f"switch {v.type} {v.text}, label %b{branch.targets[0]} [ {cases} ]")


def llvm_text(text: str, target: Target, kernels: Iterable[str] | None = None) -> tuple[str, list[str]]:
    """LLVM IR of a PTX text's kernels (default: all), and their names."""
    from fatload.ptx.reader import read

    module = read(text)
    wanted = list(kernels) if kernels is not None else [f.name for f in module.functions.values() if f.entry and f.body]
    for name in wanted:
        if name not in module.functions or not module.functions[name].entry:
            raise PtxError(f"no kernel {name}", code=500)
    ir = AmdModule(module, layout(text), target).text([module.functions[name] for name in wanted])
    return ir, wanted


def target_machine(target: Target) -> Any:
    """LLVM's target machine."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(TRIPLE).create_target_machine(
        cpu=target.chip, features=target.features, opt=2, reloc="pic"
    )


def optimise(ir: str, target: Target) -> Any:
    """Parses and optimises with the pipeline LLVM has for this target."""
    from llvmlite import binding

    with _lock:
        machine = target_machine(target)
        module = binding.parse_assembly(f'target datalayout = "{machine.target_data}"\n{ir}')
        module.verify()
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        return module


def emit(module: Any, target: Target, assembly: bool = False) -> bytes:
    """The relocatable object (or assembly text)."""
    with _lock:
        machine = target_machine(target)
        return str(machine.emit_assembly(module)).encode() if assembly else bytes(machine.emit_object(module))


def translate_module(text: str, target: str, kernels: Iterable[str] | None = None) -> bytes:
    """PTX text → linked code object with all kernels. Raises PtxError, Unsupported, fatload.link.linker.LinkError."""
    from fatload.link.linker import link
    from fatload.link.metadata import check

    t = parse_target(target)
    ir, names = llvm_text(text, t, kernels)
    code = link(emit(optimise(ir, t), t))
    check(code, names)
    return code
