"""What a loader of code objects relies on, for every example and chip: headers, symbols, descriptors, metadata."""

from __future__ import annotations

import itertools

import pytest

from tests.support import Installation

from .code_object import (
    ELFABIVERSION_AMDGPU_HSA_V6,
    ELFOSABI_AMDGPU_HSA,
    EM_AMDGPU,
    FLAGS,
    HIDDEN,
    HIDDEN_BYTES,
    WAVE32,
    CodeObject,
)
from .conftest import Translated
from .kernels import PROGRAMS, Kernel

GFX9 = ("gfx900", "gfx90a", "gfx942")
CASES = list(itertools.product(PROGRAMS, FLAGS))


@pytest.mark.parametrize(("program", "chip"), CASES)
def test_header(program: str, chip: str, translated: dict[str, Translated]) -> None:
    elf = CodeObject(translated[program].code(chip)).elf
    ident = elf.header["e_ident"]
    assert (ident["EI_CLASS"], ident["EI_DATA"]) == ("ELFCLASS64", "ELFDATA2LSB")
    assert elf.stream.getvalue()[7:9] == bytes([ELFOSABI_AMDGPU_HSA, ELFABIVERSION_AMDGPU_HSA_V6])
    assert elf.header["e_type"] == "ET_DYN"
    assert elf.stream.getvalue()[18:20] == EM_AMDGPU.to_bytes(2, "little")
    assert elf.header["e_flags"] == FLAGS[chip]


@pytest.mark.parametrize(("program", "chip"), CASES)
def test_symbols(program: str, chip: str, translated: dict[str, Translated]) -> None:
    """Each kernel has its code and its descriptor, variables that the host writes are there, and nothing is missing."""
    code = CodeObject(translated[program].code(chip))
    kernels = [translated[program].symbols[k.signature] for k in PROGRAMS[program]]
    variables = {"weights": 5 * 4} if program == "stencil" else {}
    expected = {*kernels, *(f"{k}.kd" for k in kernels), *variables}
    assert set(code.symbols) == expected
    for name, symbol in code.symbols.items():
        assert symbol["st_info"]["bind"] == "STB_GLOBAL", name
        assert symbol["st_shndx"] != "SHN_UNDEF", name
    for kernel in kernels:
        assert code.symbols[kernel]["st_info"]["type"] == "STT_FUNC"
        assert code.section(kernel)["sh_flags"] & 4, "the code is in no executable section"
        assert code.symbols[f"{kernel}.kd"]["st_info"]["type"] == "STT_OBJECT"
        assert not code.section(f"{kernel}.kd")["sh_flags"] & 5, "the descriptor is writable or executable"
        assert code.descriptor(kernel).entry == code.symbols[kernel]["st_value"]
    for name, size in variables.items():
        assert code.symbols[name]["st_size"] == size
        assert code.section(name)["sh_flags"] & 1, "the host cannot write the variable"


@pytest.mark.parametrize(("program", "chip"), CASES)
def test_metadata(program: str, chip: str, translated: dict[str, Translated]) -> None:
    code = CodeObject(translated[program].code(chip))
    assert code.metadata["amdhsa.version"] == [1, 2]
    assert code.metadata["amdhsa.target"] == f"amdgcn-amd-amdhsa--{chip}"
    assert len(code.metadata["amdhsa.kernels"]) == len(PROGRAMS[program])
    wave = 64 if chip in GFX9 else 32
    for k in PROGRAMS[program]:
        name = translated[program].symbols[k.signature]
        said = code.kernel(name)
        assert said[".symbol"] == f"{name}.kd"
        assert said[".wavefront_size"] == wave
        assert said[".max_flat_workgroup_size"] == 1024, "without launch bounds a block may have 1024 threads"
        assert said[".group_segment_fixed_size"] == k.lds
        assert said[".kernarg_segment_align"] in (8, 16)
        check_arguments(k, said[".args"], said[".kernarg_segment_size"])
        descriptor = code.descriptor(name)
        assert descriptor.lds == k.lds
        assert descriptor.private == said[".private_segment_fixed_size"]
        assert descriptor.kernarg == said[".kernarg_segment_size"]
        assert bool(descriptor.properties & WAVE32) == (wave == 32)


def check_arguments(k: Kernel, arguments: list[dict[str, object]], kernarg: int) -> None:
    """The explicit block is the C signature's; hidden arguments lie where the ABI has them behind it."""
    explicit = [a for a in arguments if not str(a[".value_kind"]).startswith("hidden")]
    hidden = [a for a in arguments if a not in explicit]
    assert [(a[".offset"], a[".size"], a[".value_kind"]) for a in explicit] == [(0, k.parameter_bytes, "by_value")]
    start = -(-k.parameter_bytes // 8) * 8
    for a in hidden:
        offset, size = HIDDEN[str(a[".value_kind"])]
        assert (a[".offset"], a[".size"]) == (start + offset, size), a
    assert kernarg == (start + HIDDEN_BYTES if hidden else k.parameter_bytes)
    kinds = {str(a[".value_kind"]) for a in hidden}
    if k.block:
        assert "hidden_group_size_x" in kinds, "blockDim has no place to come from"
    if k.dynamic:
        assert "hidden_dynamic_lds_size" in kinds


@pytest.mark.parametrize("program", PROGRAMS)
def test_bundle(program: str, translated: dict[str, Translated]) -> None:
    """The empty host entry, then the chips in the order that was asked for."""
    ids = [name for name, _ in translated[program].bundle]
    assert ids == ["host-x86_64-unknown-linux-gnu--", *(f"hipv4-amdgcn-amd-amdhsa--{c}" for c in FLAGS)]
    assert translated[program].bundle[0][1] == b""


def test_one_chip_is_a_bare_code_object(
    translated: dict[str, Translated],
    installation: Installation,
    cache: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """And the same bytes as in the bundle: translation is reproducible."""
    target = tmp_path_factory.mktemp("one") / "scan.hsaco"
    done = installation.call("translate", translated["scan"].ptx, "--arch", "gfx1100", "-o", target, environment=cache)
    assert (done.returncode, done.stderr) == (0, "")
    assert target.read_bytes() == translated["scan"].code("gfx1100")


def test_wave64(
    translated: dict[str, Translated],
    installation: Installation,
    cache: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    target = tmp_path_factory.mktemp("wave64") / "scan.hsaco"
    arch = ("--arch", "gfx1100:wave64")
    done = installation.call("translate", translated["scan"].ptx, *arch, "-o", target, environment=cache)
    assert done.returncode == 0, done.stderr
    code = CodeObject(target.read_bytes())
    assert code.elf.header["e_flags"] == FLAGS["gfx1100"]
    for k in PROGRAMS["scan"]:
        name = translated["scan"].symbols[k.signature]
        assert code.kernel(name)[".wavefront_size"] == 64
        assert not code.descriptor(name).properties & WAVE32
        assert code.descriptor(name).lds == k.lds
