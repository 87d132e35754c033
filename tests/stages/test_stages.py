"""The stages of translations: those that are fatload's own against golden files, those that LLVM makes by what they must hold.

``pytest tests/stages --update-golden`` writes the golden files anew; the difference is then read before it is committed.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from fatload.codegen.stages import STAGES, stage
from fatload.ptx import read_kernel

DATA = Path(__file__).with_name("data")
KERNELS = sorted(p.stem for p in DATA.glob("*.ptx"))
TARGETS = ("x86-64-v3", "gfx90a", "gfx1100")


def text(kernel: str) -> str:
    return (DATA / f"{kernel}.ptx").read_text()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_llvm(kernel: str, target: str, update_golden: bool) -> None:
    """The emitted IR, line by line."""
    golden = DATA / f"{kernel}.{target}.ll"
    made = stage(text(kernel), kernel, target, "llvm").decode()
    if update_golden:
        golden.write_text(made)
    assert made == golden.read_text()


@pytest.mark.parametrize("kernel", KERNELS)
def test_ptx(kernel: str, update_golden: bool) -> None:
    """The checked PTX as written back, which reads as what it was."""
    golden = DATA / f"{kernel}.out"
    made = stage(text(kernel), kernel, "x86-64-v3", "ptx").decode()
    if update_golden:
        golden.write_text(made)
    assert made == golden.read_text()
    assert stage(made, kernel, "x86-64-v3", "ptx").decode() == made
    again, first = read_kernel(made, kernel), read_kernel(text(kernel), kernel)
    assert list(again.functions) == list(first.functions)


@pytest.mark.parametrize("kernel", KERNELS)
def test_cpu_object(kernel: str) -> None:
    """A relocatable object with the kernel's entry; assembly that a person can read."""
    for name in ("object", "code"):
        elf = ELFFile(io.BytesIO(stage(text(kernel), kernel, "x86-64-v3", name)))
        assert (elf["e_type"], elf["e_machine"]) == ("ET_REL", "EM_X86_64")
        (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name("fatload_kernel")
        assert symbol["st_info"]["bind"] == "STB_GLOBAL"
    assert "fatload_kernel:" in stage(text(kernel), kernel, "x86-64-v3", "asm").decode()
    optimised = stage(text(kernel), kernel, "x86-64-v3", "optimized").decode()
    assert "define void @fatload_kernel(" in optimised
    assert "alloca <32 x i32>" not in optimised, "LLVM's passes put registers into SSA form"


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "gfx1100:wave64"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_amd_code(kernel: str, target: str) -> None:
    """A relocatable object, and a code object with kernel and descriptor."""
    elf = ELFFile(io.BytesIO(stage(text(kernel), kernel, target, "object")))
    assert elf["e_type"] == "ET_REL"
    elf = ELFFile(io.BytesIO(stage(text(kernel), kernel, target, "code")))
    assert elf["e_type"] == "ET_DYN"
    names = {s.name for s in elf.get_section_by_name(".dynsym").iter_symbols()}
    assert {kernel, f"{kernel}.kd"} <= names
    wave = 64 if target != "gfx1100" else 32
    asm = stage(text(kernel), kernel, target, "asm").decode()
    assert re.search(rf"\.wavefront_size: +{wave}\b", asm)
    assert f"{kernel}:" in asm


def test_all_stages_are_tested() -> None:
    assert set(STAGES) == {"ptx", "llvm", "optimized", "asm", "object", "code"}
