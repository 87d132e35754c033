"""Cubins: what is read from them is what ptxas says while it makes them, and what the PTX declares."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from fatload.elf import FatbinError, cubin
from fatload.elf.cubin import SassVariable

KERNELS = """.version 9.0
.target sm_75
.address_size 64
.global .align 4 .b8 counters[4096];
.global .align 8 .u64 total;
.const .align 4 .f32 weights[5];
.visible .entry none() { ret; }
.visible .entry mixed(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[40], .param .u16 d)
{
  .reg .b64 %rd<4>; .reg .b32 %r<40>; .reg .f32 %f<4>;
  .shared .align 4 .b8 tile[1000];
  ld.param.u64 %rd1, [b];
  ld.param.u32 %r1, [c+36];
  ld.const.f32 %f1, [weights+16];
  ld.global.u64 %rd2, [total];
  mov.u32 %r2, tile;
  st.shared.u32 [%r2], %r1;
  bar.sync 0;
  ld.shared.u32 %r3, [%r2+996];
  st.global.u32 [counters], %r3;
  st.global.f32 [%rd1], %f1;
  st.global.u64 [%rd1+8], %rd2;
  ret;
}
"""
PARAMETERS = {"none": (), "mixed": ((0, 1), (8, 8), (16, 40), (56, 2))}  # by the alignment of each


def architectures() -> list[str]:
    done = subprocess.run(["nvcc", "--list-gpu-code"], capture_output=True, text=True, check=True)
    return done.stdout.split()


def compiled(arch: str, folder: Path) -> tuple[bytes, str]:
    """A cubin for an architecture, and what ptxas says of it."""
    source, target = folder / "k.ptx", folder / "k.cubin"
    source.write_text(KERNELS)
    command = ["ptxas", "-v", f"-arch={arch}", source, "-o", target]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return target.read_bytes(), done.stderr


@pytest.mark.parametrize("arch", architectures())
def test_every_architecture(arch: str, tmp_path: Path) -> None:
    """Parameters, registers, shared memory and variables, for every chip that nvcc knows."""
    data, said = compiled(arch, tmp_path)
    assert cubin.is_cubin(data)
    found = cubin.read(data)
    assert found.sm == cubin.architecture(data) == int(arch.removeprefix("sm_"))
    assert {k.name: k.parameters for k in found.kernels} == PARAMETERS
    assert {k.name: k.parameter_bytes for k in found.kernels} == {"none": 0, "mixed": 58}
    registers, shared = {}, {}
    name = ""
    for line in said.splitlines():
        if m := re.search(r"Compiling entry function '(\w+)'", line):
            name = m[1]
        if m := re.search(r"Used (\d+) registers", line):
            registers[name] = int(m[1])
            smem = re.search(r"(\d+) bytes smem", line)
            shared[name] = int(smem[1]) if smem else 0
    assert {k.name: k.registers for k in found.kernels} == registers
    assert {k.name: k.shared_bytes for k in found.kernels} == shared == {"none": 0, "mixed": 1000}
    assert found.variables == (
        SassVariable("counters", "global", 4096),
        SassVariable("total", "global", 8),
        SassVariable("weights", "const", 20),
    )


def test_other_files() -> None:
    for data in (b"", b"\x7fELF", Path("/bin/sh").read_bytes()):
        assert not cubin.is_cubin(data)
        with pytest.raises(FatbinError, match="not a cubin"):
            cubin.read(data)
