"""Containers of NVIDIA's compiler: every compression, kind and suffix, against a second reader and the compiler's other outputs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fatload.elf import images
from fatload.elf.fatbin import read, write
from tests.compiler import Compiler

from . import layout
from .conftest import BOTH, SCAN

MODES = {"none": "none", "speed": "lz4", "size": "zstd", "balance": "zstd", "default": "zstd"}


def fatbin(compiler: Compiler, *flags: str) -> Path:
    return compiler.compile(SCAN, "-fatbin", *flags, suffix=".fatbin")


@pytest.mark.parametrize("mode", MODES)
def test_compressions(mode: str, compiler: Compiler) -> None:
    """Whatever the compression: the text of the uncompressed container, and the cubin that -cubin writes."""
    found, _ = read(fatbin(compiler, BOTH, f"--compress-mode={mode}").read_bytes())
    sass, ptx = found
    assert (sass.kind, sass.arch, ptx.kind, ptx.arch) == ("sass", "sm_75", "ptx", "compute_75")
    assert (ptx.compression, ptx.version) == (MODES[mode], (9, 0))
    assert sass.raw() == compiler.compile(SCAN, "-cubin", "-arch=sm_75", suffix=".cubin").read_bytes()
    plain = layout.parts(fatbin(compiler, BOTH, "--compress-mode=none").read_bytes())[1]
    assert not plain.entry.flags & (layout.LZ4 | layout.ZSTD)
    assert ptx.text() == plain.content.rstrip(b"\0").decode()


@pytest.mark.parametrize(
    "flags",
    [
        (BOTH, "-gencode=arch=compute_90,code=compute_90"),
        (BOTH, "--compress-mode=speed", "-rdc=true"),
        ("-gencode=arch=compute_90a,code=compute_90a", "-gencode=arch=compute_100f,code=compute_100f", "-G"),
        ("-gencode=arch=compute_75,code=lto_75", "-gencode=arch=compute_90a,code=sm_90a"),
        (BOTH, "-maxrregcount=32", "-Xptxas=-O1", "-lineinfo"),
        ("-arch=all-major",),
    ],
)
def test_a_second_reader_agrees(flags: tuple[str, ...], compiler: Compiler) -> None:
    """Every field of every entry; and what we write from it is the same to both readers."""
    data = fatbin(compiler, *flags).read_bytes()
    found, end = read(data)
    assert end == len(data)
    expected = layout.parts(data)
    assert len(found) == len(expected) >= 2
    for image, part in zip(found, expected, strict=True):
        e = part.entry
        assert image.kind == {1: "ptx", 2: "sass", 8: "lto"}[e.kind]
        assert (image.sm, image.version, image.flags) == (e.arch, (e.major, e.minor), e.flags)
        assert image.name == part.name
        assert image.options == (part.options if image.kind == "ptx" else "")
        if image.kind == "ptx":
            assert image.text() == part.content.rstrip(b"\0").decode()
        elif image.kind == "sass":
            assert image.raw() == part.content
    again = write(found)
    assert read(again)[0] == found
    assert [p.content.rstrip(b"\0") for p in layout.parts(again)] == [p.content.rstrip(b"\0") for p in expected]


def test_suffixes_and_options(compiler: Compiler) -> None:
    """a and f, debug, the compiler's options and the name of the source."""
    flags = ("-gencode=arch=compute_90a,code=compute_90a", "-gencode=arch=compute_100f,code=compute_100f", "-G")
    found = images(fatbin(compiler, *flags))
    assert [i.arch for i in found] == ["compute_90a", "compute_100f"]
    for i in found:
        assert i.flags & layout.DEBUG
        assert i.name == str(SCAN)
        assert "-g" in i.options.split()
    (plain,) = (i for i in images(fatbin(compiler, BOTH)) if i.kind == "ptx")
    assert (plain.name, plain.options, plain.flags & layout.DEBUG) == ("", "", 0)
    limited = images(fatbin(compiler, BOTH, "-maxrregcount=32", "-Xptxas=-O1", "-lineinfo"))
    assert "-maxrregcount=32" in next(i for i in limited if i.kind == "ptx").options.split()


def test_all_architectures(compiler: Compiler) -> None:
    """By nvcc's own list: a cubin for the first and each major architecture, PTX for the last."""
    listed = subprocess.run([compiler.nvcc, "--list-gpu-code"], capture_output=True, text=True, check=True).stdout
    known = sorted(int(s.removeprefix("sm_")) for s in listed.split())
    major = [n for n in known if n % 10 == 0 or n == known[0]]
    found = images(fatbin(compiler, "-arch=all-major"))
    assert [i.arch for i in found if i.kind == "sass"] == [f"sm_{n}" for n in major]
    assert [i.arch for i in found if i.kind == "ptx"] == [f"compute_{major[-1]}"]
