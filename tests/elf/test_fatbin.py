"""Containers: what is written is read again, by us, by a second reader and by NVIDIA's linker."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatload.elf import FatbinError, Image, choose
from fatload.elf.fatbin import FLAG_ARCH, FLAG_FAMILY, containers, ptx_image, read, write
from tests.compiler import EXAMPLES, Compiler

from . import layout
from .conftest import FIXED

TEXT = ".version 8.3\n.target sm_75\n.address_size 64\n// grüße\n.visible .entry k() { ret; }\n"
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
VERSIONS = st.tuples(st.integers(0, 65535), st.integers(0, 65535))
ARCHES = st.sampled_from([0, FLAG_ARCH, FLAG_FAMILY])


@st.composite
def images(draw: st.DrawFn) -> Image:
    """An image as a compiler would make it."""
    sm, version, arch = draw(st.integers(0, 2**32 - 1)), draw(VERSIONS), draw(ARCHES)
    if draw(st.booleans()):
        made = ptx_image(draw(NAMES), sm, draw(st.sampled_from(["none", "lz4", "zstd"])), version)
        options = draw(NAMES).strip()
        return dataclasses.replace(made, flags=made.flags | arch, name=draw(NAMES), options=options)
    stored = draw(st.binary(max_size=10).map(lambda b: b * 8))
    return Image("sass", sm, 1 | arch, version, stored, len(stored), draw(NAMES))


@FIXED
@given(st.lists(images(), max_size=5))
def test_round_trip(made: list[Image]) -> None:
    data = write(made)
    found, end = read(data)
    assert end == len(data)
    assert found == made
    for i in made:
        i.raw()


@FIXED
@given(st.lists(images(), max_size=4), st.binary(max_size=40))
def test_a_second_reader_agrees(made: list[Image], behind: bytes) -> None:
    found = layout.parts(write(made) + behind)
    assert len(found) == len(made)
    for part, image in zip(found, made, strict=True):
        e = part.entry
        assert (e.kind, e.arch, e.flags) == ({"ptx": 1, "sass": 2}[image.kind], image.sm, image.flags)
        assert (e.major, e.minor) == image.version
        assert part.name == image.name
        assert part.options == image.options
        if image.kind == "ptx":
            assert part.content.rstrip(b"\0") == image.raw().rstrip(b"\0")
            assert image.compression != "none" or part.content.endswith(b"\0"), "PTX text ends with a zero"
        else:
            assert part.content == image.stored


@FIXED
@given(st.lists(st.lists(images(), max_size=3), max_size=3), st.integers(0, 3))
def test_containers_one_behind_the_other(made: list[list[Image]], gap: int) -> None:
    """As in a section of a linked file, with padding between them."""
    data = b"".join(write(images) + bytes(8 * gap) for images in made)
    found = list(containers(data))
    assert [images for _, images in found] == made
    assert [data[at : at + 4] for at, _ in found] == [layout.MAGIC.to_bytes(4, "little")] * len(made)


@pytest.mark.parametrize("how", ["none", "lz4", "zstd"])
def test_text(how: str) -> None:
    image = ptx_image(TEXT, 75, how)
    assert (image.compression, image.text(), image.arch) == (how, TEXT, "compute_75")
    assert image.raw().rstrip(b"\0") == TEXT.encode()


def nvlink(compiler: Compiler) -> str:
    """NVIDIA's linker, beside the compiler that the command on the path leads to."""
    dry = subprocess.run([compiler.nvcc, "--dryrun", "x.cu"], capture_output=True, text=True, check=False).stderr
    top = next(line.split("TOP=")[1].strip() for line in dry.splitlines() if "TOP=" in line)
    found = shutil.which("nvlink", path=f"{top}/bin")
    assert found is not None, f"no nvlink in {top}/bin"
    return found


@pytest.mark.parametrize("how", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("options", ["", "--compile-only"])
def test_nvlink_reads_ours(how: str, options: str, compiler: Compiler, tmp_path: Path) -> None:
    """It takes the PTX out of our container, compiles it, and finds the kernels in it."""
    ptx = compiler.compile(EXAMPLES / "scan.cu", "-ptx", "-arch=sm_75", "-rdc=true", suffix=".ptx").read_text()
    path = tmp_path / "ours.fatbin"
    path.write_bytes(write([dataclasses.replace(ptx_image(ptx, 75, how, (9, 0)), options=options)]))
    command = [nvlink(compiler), "--arch=sm_75", "-v", str(path), "-o", str(tmp_path / "linked.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}{done.stderr}"
    for kernel in ("_Z11scan_blocksPKiPiS1_i", "_Z11add_offsetsPiPKii"):
        assert f"'{kernel}'" in done.stdout + done.stderr


def ptx(sm: int, suffix: str = "") -> Image:
    image = ptx_image(TEXT, sm)
    return dataclasses.replace(image, flags=image.flags | {"": 0, "a": FLAG_ARCH, "f": FLAG_FAMILY}[suffix])


SASS = Image("sass", 89, 1, (1, 8), bytes(8), 8)


@pytest.mark.parametrize(
    ("there", "capability", "taken"),
    [
        ([], 89, None),
        ([SASS], 89, None),
        ([SASS, ptx(75)], 89, "compute_75"),
        ([ptx(75), ptx(80), ptx(90)], 89, "compute_80"),
        ([ptx(90), ptx(80), ptx(75)], 90, "compute_90"),
        ([ptx(90), ptx(100), ptx(120)], 89, "compute_90"),
        ([ptx(120), ptx(100)], 75, "compute_100"),
        ([ptx(90, "a"), ptx(75)], 90, "compute_75"),
        ([ptx(90, "a"), ptx(120)], 90, "compute_120"),
        ([ptx(90, "a")], 89, "compute_90a"),
        ([ptx(100, "f"), ptx(90, "a")], 90, "compute_90a"),
        ([ptx(9999), ptx(4294967295)], 89, "compute_9999"),
    ],
)
def test_choice(there: list[Image], capability: int, taken: str | None) -> None:
    """The newest that the capability allows; else the oldest of the newer ones; what is for one architecture only when
    there is nothing else. The order of the images does not matter."""
    for listed in (there, there[::-1]):
        image = choose(listed, capability)
        assert (image.arch if image else None) == taken


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d[:15], "cut short in the container's header"),
        (lambda d: b"\x7fELF" + d[4:], "no container"),
        (lambda d: d[:4] + b"\x02\x00" + d[6:], "container version 2"),
        (lambda d: d[:6] + b"\x08\x00" + d[8:], "a header of 8 bytes"),
        (lambda d: d[:8] + b"\xff" * 8 + d[16:], "bytes, "),
        (lambda d: d[:-1], "bytes, "),
        (lambda d: d[:20] + b"\x08\x00\x00\x00" + d[24:], "runs past the container's end"),
        (lambda d: d[:20] + b"\xff\xff\xff\xff" + d[24:], "runs past the container's end"),
        (lambda d: d[:24] + b"\xff" * 8 + d[32:], "runs past the container's end"),
        (lambda d: d[:32] + b"\xff\xff\xff\x7f" + d[36:], "compressed bytes in a payload of"),
    ],
)
def test_damaged_headers(change: object, says: str) -> None:
    """Each field that says how far to go."""
    data = write([ptx_image(TEXT, 75, "zstd")])
    with pytest.raises(FatbinError, match=says):
        read(change(data))  # type: ignore[operator]
