"""``fatload translate``: the cache ahead of time, every stage, and what it says when something is wrong."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from .conftest import Fatload, Samples, one_line

SCAN_BLOCKS, ADD_OFFSETS = "_Z11scan_blocksPKiPiS1_i", "_Z11add_offsetsPiPKii"
ET_REL, ET_DYN, EM_X86_64, EM_AMDGPU = 1, 3, 62, 224


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    """An empty cache."""
    return {"FATLOAD_CACHE_DIR": str(tmp_path / "own-cache")}


def cached(fatload: Fatload, own: dict[str, str]) -> set[tuple[str, str, str]]:
    listed = json.loads(fatload("cache", "list", "--json", environment=own).stdout)
    return {(r["kernel"], r["target"], r["shape"]) for r in listed}


@pytest.mark.parametrize("form", ["executable", "ptx"])
def test_fills_the_cache(form: str, fatload: Fatload, samples: Samples, own: dict[str, str]) -> None:
    done = fatload("translate", getattr(samples, form), "--arch", "cpu", "-j", "2", environment=own)
    assert (done.returncode, done.stdout, done.stderr) == (0, "8 of 8 translations done\n", "")
    kernels, targets, shapes = (SCAN_BLOCKS, ADD_OFFSETS), ("x86-64-v3", "x86-64-v4"), ("row", "any")
    assert cached(fatload, own) == {(k, t, s) for k in kernels for t in targets for s in shapes}


def test_then_no_python_is_needed(fatload: Fatload, samples: Samples, own: dict[str, str], tmp_path: Path) -> None:
    """The purpose of it: the program runs where no translation service can start. Without it, it cannot."""
    (tmp_path / "runtime").mkdir(mode=0o700)
    without = own | {"XDG_RUNTIME_DIR": str(tmp_path / "runtime"), "FATLOAD_PYTHON": "/bin/false"}
    assert fatload("run", samples.executable, environment=without).returncode != 0
    assert fatload("translate", samples.executable, "--arch", "cpu", environment=own).returncode == 0
    done = fatload("run", samples.executable, environment=without)
    assert done.returncode == 0 and "scan: ok" in done.stdout, done.stderr


def test_chosen_kernels(fatload: Fatload, samples: Samples, own: dict[str, str]) -> None:
    command = ("translate", samples.ptx, "--arch", "x86-64-v3", "-k")
    done = fatload(*command, ADD_OFFSETS, environment=own)
    assert (done.returncode, done.stdout) == (0, "2 of 2 translations done\n")
    assert cached(fatload, own) == {(ADD_OFFSETS, "x86-64-v3", s) for s in ("row", "any")}
    one_line(fatload(*command, "nothing", environment=own), 1, f"no kernel nothing; there are: {ADD_OFFSETS}")


def head(path: Path) -> tuple[int, int]:
    """Type and machine of an ELF file."""
    data = path.read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01"
    return struct.unpack_from("<HH", data, 16)


@pytest.mark.parametrize(("arch", "machine"), [("x86-64-v3", EM_X86_64), ("gfx1100:wave64", EM_AMDGPU)])
def test_stages(arch: str, machine: int, fatload: Fatload, samples: Samples, tmp_path: Path) -> None:
    """Every stage of both targets, under the default names, without a word to the cache."""
    stages = ("ptx", "llvm", "optimized", "asm", "object", "code")
    dumps = [x for s in stages for x in ("--dump", s)]
    done = fatload(
        "translate", samples.ptx, "--arch", arch, "-k", ADD_OFFSETS, *dumps, cwd=tmp_path,
        environment={"FATLOAD_CACHE_DIR": str(tmp_path / "untouched")},
    )  # fmt: skip
    names = [f"{ADD_OFFSETS}.{arch.replace(':', '-')}.{s}" for s in stages]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == names
    assert {p.name for p in tmp_path.iterdir()} == set(names)
    ptx, llvm, optimized, asm, object_, code = (tmp_path / n for n in names)
    assert f".entry {ADD_OFFSETS}" in ptx.read_text() and SCAN_BLOCKS not in ptx.read_text()
    for ir in (llvm, optimized):
        assert "\ndefine " in ir.read_text()
    assert llvm.read_text() != optimized.read_text()
    assert ".globl" in asm.read_text() and "define" not in asm.read_text()
    assert head(object_) == (ET_REL, machine)
    assert head(code) == (ET_REL if machine == EM_X86_64 else ET_DYN, machine)


def test_a_stage_into_a_file(fatload: Fatload, samples: Samples, tmp_path: Path) -> None:
    target = tmp_path / "kernel.ll"
    command = ("translate", samples.ptx, "--arch", "x86-64-v3")
    done = fatload(*command, "-k", SCAN_BLOCKS, "--dump", f"llvm={target}")
    assert (done.returncode, done.stdout) == (0, f"{target}\n")
    assert target.read_text().count("\ndefine ") >= 1
    done = fatload(*command, "--dump", f"llvm={target}")
    one_line(done, 2, "takes one kernel and one architecture, here are 2")
    one_line(fatload(*command, "--dump", "ir"), 2, "unknown stage 'ir'; known: ptx, llvm")
    one_line(fatload(*command, "-k", SCAN_BLOCKS, "--dump", "llvm=/none/x"), 1, "/none/x: No such file or directory")


def test_unreadable_files(fatload: Fatload, tmp_path: Path) -> None:
    one_line(fatload("translate", tmp_path / "none", "--arch", "cpu"), 1, "none: No such file or directory")
    one_line(fatload("translate", "/bin/sh", "--arch", "cpu"), 1, "no PTX in /bin/sh")
    path = tmp_path / "cut.ptx"
    path.write_text(".version 8.3\n.target sm_75\n.address_size 64\n.visible .entry k() {\n")
    one_line(fatload("translate", path, "--arch", "cpu"), 1, f"{path}: line 4, column 1: missing }}")


def test_output_that_cannot_be_written(fatload: Fatload, samples: Samples, own: dict[str, str]) -> None:
    command = ("translate", samples.ptx, "--arch", "gfx1100", "-o")
    one_line(fatload(*command, "/none/x.hsaco"), 1, "/none/x.hsaco: No such file or directory")
    blocked = {"FATLOAD_CACHE_DIR": "/dev/null/cache"}
    one_line(fatload("translate", samples.ptx, "--arch", "cpu", environment=blocked), 1, "the cache cannot be written")
    # Code for AMD chips does not pass through the cache.
    target = Path(own["FATLOAD_CACHE_DIR"]).with_name("x.hsaco")
    assert fatload(*command, target, environment=blocked).returncode == 0
    assert head(target) == (ET_DYN, EM_AMDGPU)


def test_several_modules_make_no_code_object(fatload: Fatload, samples: Samples, tmp_path: Path) -> None:
    done = fatload("translate", samples.archive, "--arch", "gfx1100", "-o", tmp_path / "x")
    one_line(done, 1, "holds 2 modules with kernels")
    assert not (tmp_path / "x").exists()


UNSUPPORTED = """.version 8.3
.target sm_90
.address_size 64
.visible .entry good() { ret; }
.visible .entry bad() {
  .reg .b64 %rd<3>;
  tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;
  ret;
}
"""


def test_what_cannot_be_translated(fatload: Fatload, own: dict[str, str], tmp_path: Path) -> None:
    """The kernel is named, the others are done, the status is 1."""
    path = tmp_path / "mixed.ptx"
    path.write_text(UNSUPPORTED)
    done = fatload("translate", path, "--arch", "x86-64-v3", environment=own)
    assert (done.returncode, done.stdout) == (1, "2 of 4 translations done\n")
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith("fatload: bad for x86-64-v3 (") and "line 7" in line and "tensormap" in line
    assert {k for k, _, _ in cached(fatload, own)} == {"good"}


def test_the_capability_chooses(fatload: Fatload, samples: Samples, tmp_path: Path) -> None:
    """The newest PTX that the capability allows: of 7.5 and 9.0 the latter for 9.0, the former for 8.9."""
    for capability, target in (("8.9", "sm_75"), ("9.0", "sm_90"), ("5.0", "sm_75")):
        done = fatload(
            "translate", samples.fatbin, "--arch", "x86-64-v3", "-k", ADD_OFFSETS, "--dump", "ptx=x.ptx",
            cwd=tmp_path, environment={"FATLOAD_COMPUTE_CAPABILITY": capability},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert f".target {target}\n" in (tmp_path / "x.ptx").read_text()
    done = fatload("translate", samples.ptx, "--arch", "cpu", environment={"FATLOAD_COMPUTE_CAPABILITY": "89"})
    one_line(done, 2, "FATLOAD_COMPUTE_CAPABILITY=89 is not of the form 8.9")
