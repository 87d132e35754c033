"""``fatload inspect``: what the compiler was asked for is what is shown, in tables and as JSON; damage is one line."""

from __future__ import annotations

import json
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from fatload.elf.fatbin import ptx_image, write
from tests.amdgcn.kernels import PROGRAMS

from .conftest import Fatload, Samples, one_line

SCAN_BLOCKS, ADD_OFFSETS, VECADD = "_Z11scan_blocksPKiPiS1_i", "_Z11add_offsetsPiPKii", "_Z6vecaddPKfS0_Pfi"
DECLARED = dict(zip((SCAN_BLOCKS, ADD_OFFSETS, VECADD), [*PROGRAMS["scan"], *PROGRAMS["vecadd"]], strict=True))
POINTER, INT = 8, 4
PARAMETERS = {
    SCAN_BLOCKS: [(0, POINTER), (8, POINTER), (16, POINTER), (24, INT)],
    ADD_OFFSETS: [(0, POINTER), (8, POINTER), (16, INT)],
    VECADD: [(0, POINTER), (8, POINTER), (16, POINTER), (24, INT)],
}

SASS, PTX = ("sass", "sm_75", (SCAN_BLOCKS, ADD_OFFSETS)), ("ptx", "compute_75", (SCAN_BLOCKS, ADD_OFFSETS))
SASS2, PTX2 = ("sass", "sm_75", (VECADD,)), ("ptx", "compute_75", (VECADD,))
LINKED = ("sass", "sm_75", ())  # what nvcc's device link leaves in linked files
HOLDS: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
    "executable": [LINKED, SASS, PTX],
    "object": [SASS, PTX],
    "library": [LINKED, SASS, PTX, SASS2, PTX2],
    "archive": [SASS, PTX, SASS2, PTX2],
    "fatbin": [SASS, PTX, ("ptx", "compute_90", (SCAN_BLOCKS, ADD_OFFSETS))],
    "cubin": [SASS],
    "ptx": [PTX],
    "hsaco": [("code object", "gfx1100", (SCAN_BLOCKS, ADD_OFFSETS))],
    "bundle": [("code object", chip, (SCAN_BLOCKS, ADD_OFFSETS)) for chip in ("gfx90a", "gfx1100")],
}
assert set(HOLDS) == {f.name for f in fields(Samples)}


@pytest.mark.parametrize("form", HOLDS)
def test_json(form: str, fatload: Fatload, samples: Samples) -> None:
    path = getattr(samples, form)
    done = fatload("inspect", "--json", path)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["file"] == str(path)
    found = [(i["kind"], i["arch"], tuple(k["name"] for k in i["kernels"])) for i in report["images"]]
    assert [(k, a, set(n)) for k, a, n in found] == [(k, a, set(n)) for k, a, n in HOLDS[form]]
    for image in report["images"]:
        check_image(image)


def check_image(image: dict[str, Any]) -> None:
    """Kernels as the sources declare them."""
    assert image["stored_bytes"] > 0
    if image["kind"] == "ptx":
        assert image["version"] == "9.0", "nvcc 13.0 writes PTX 9.0"
    for k in image["kernels"]:
        declared = DECLARED[k["name"]]
        assert k["parameter_bytes"] == declared.parameter_bytes
        assert k["shared_bytes"] == declared.lds
        if image["kind"] != "code object":
            assert [(p["offset"], p["bytes"]) for p in k["parameters"]] == PARAMETERS[k["name"]]
        else:
            assert k["wave"] == (64 if image["arch"] == "gfx90a" else 32)


@pytest.mark.parametrize("form", HOLDS)
def test_table(form: str, fatload: Fatload, samples: Samples) -> None:
    """The same in rows, whole names even where there is no terminal."""
    path = getattr(samples, form)
    done = fatload("inspect", path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].rstrip() == str(path)
    rows = [[c.strip() for c in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    images = [(r[1], r[2]) for r in rows if len(r) == 7]
    assert images == [(k, a) for k, a, _ in HOLDS[form]]
    kernels = {(int(r[0]), r[1]): r for r in rows if len(r) == 6}
    assert set(kernels) == {(n, name) for n, (_, _, names) in enumerate(HOLDS[form]) for name in names}
    for (_, name), row in kernels.items():
        assert row[2].endswith(f"{DECLARED[name].parameter_bytes} B")
        assert row[3] == str(DECLARED[name].lds)


def test_registers_are_ptxas(fatload: Fatload, samples: Samples) -> None:
    """ptxas says itself how many registers and how much shared memory each kernel uses."""
    command = ["ptxas", "-v", "-arch=sm_75", samples.ptx, "-o", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    expected, name = {}, ""
    for line in said:
        if "Compiling entry function" in line:
            name = line.split("'")[1]
        elif "Used " in line:
            expected[name] = int(line.split("Used ")[1].split()[0])
    (image,) = json.loads(fatload("inspect", "--json", samples.cubin).stdout)["images"]
    assert {k["name"]: k["registers"] for k in image["kernels"]} == expected
    assert set(expected) == {SCAN_BLOCKS, ADD_OFFSETS}


def test_variables_and_options(fatload: Fatload, tmp_path: Path) -> None:
    """Variables with their spaces and sizes; images with compression, sizes, and what was given to the compiler."""
    text = (
        ".version 8.3\n.target sm_75\n.address_size 64\n"
        ".global .align 4 .u32 counter[10];\n.const .align 8 .f64 scale = 0d3FF0000000000000;\n"
        ".visible .entry k(.param .u32 a, .param .align 8 .b8 s[24])\n.maxntid 128\n{ .shared .b32 x[7]; ret; }\n"
    )
    path = tmp_path / "two.fatbin"
    path.write_bytes(write([ptx_image(text, 75, "zstd", (8, 3)), ptx_image(text, 90, "lz4", (8, 3))]))
    done = fatload("inspect", "--json", path)
    assert done.returncode == 0, done.stderr
    for image, how, arch in zip(
        json.loads(done.stdout)["images"], ("zstd", "lz4"), ("compute_75", "compute_90"), strict=True
    ):
        assert (image["compression"], image["arch"], image["version"]) == (how, arch, "8.3")
        assert image["raw_bytes"] == len(text) + 1 > image["stored_bytes"]
        assert image["variables"] == [
            {"name": "counter", "space": "global", "bytes": 40},
            {"name": "scale", "space": "const", "bytes": 8},
        ]
        assert image["kernels"] == [
            {
                "name": "k",
                "parameters": [{"offset": 0, "bytes": 4}, {"offset": 8, "bytes": 24}],
                "parameter_bytes": 32,
                "shared_bytes": 28,
                "local_bytes": 0,
                "max_threads": 128,
            }
        ]


def test_files_without_cuda(fatload: Fatload) -> None:
    done = fatload("inspect", "/bin/sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "/bin/sh: no CUDA code\n", "")
    assert json.loads(fatload("inspect", "--json", "/bin/sh").stdout) == {"file": "/bin/sh", "images": []}


def test_unreadable(fatload: Fatload, tmp_path: Path) -> None:
    one_line(fatload("inspect", tmp_path / "none"), 1, "none: No such file or directory")
    one_line(fatload("inspect", tmp_path), 1, "Is a directory")
    for content, says in (
        (b"", "the file is empty"),
        (b"hello\n", "not an executable"),
        (bytes(1000), "not an executable"),
        (b"!<thin>\n", "thin archive"),
        (b"\x7fELF", "cut short"),
        (b"\x50\xed\x55\xba", "cut short"),
        (b"__CLANG_OFFLOAD_BUNDLE__", "damaged bundle"),
    ):
        path = tmp_path / "file"
        path.write_bytes(content)
        one_line(fatload("inspect", path), 1, says)
        one_line(fatload("inspect", "--json", path), 1, says)


@pytest.mark.parametrize("form", [f for f in HOLDS if f not in ("cubin", "ptx")])
def test_cut_short(form: str, fatload: Fatload, samples: Samples, tmp_path: Path) -> None:
    path = tmp_path / f"cut.{form}"
    data = getattr(samples, form).read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    one_line(fatload("inspect", path), 1, str(path))


@pytest.mark.parametrize("form", ["cubin", "ptx"])
def test_a_part_is_cut_short(form: str, fatload: Fatload, samples: Samples, tmp_path: Path) -> None:
    """What can be shown is shown, the rest is told; the status says that something is wrong."""
    path = tmp_path / f"cut.{form}"
    data = getattr(samples, form).read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    for options in ([], ["--json"]):
        done = fatload("inspect", *options, path)
        assert done.returncode == 1
        assert done.stderr.startswith(f"fatload: {path}: image 0: ") and done.stderr.count("\n") == 1
        assert "_75" in done.stdout


def test_names_are_shown_as_they_are(fatload: Fatload, tmp_path: Path) -> None:
    """Brackets are no markup, control characters do not reach the terminal."""
    folder = tmp_path / "[bold]x[" / "red]"
    folder.mkdir(parents=True)
    text = ".version 8.3\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n"
    path = folder / "a\x1b[31m.fatbin"
    path.write_bytes(write([ptx_image(text, 75)]))
    done = fatload("inspect", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "[bold]x[/red]/a\\x1b[31m.fatbin" in done.stdout
    path.write_bytes(b"hello")
    one_line(fatload("inspect", path), 1, "a\\x1b[31m.fatbin: not an executable")
