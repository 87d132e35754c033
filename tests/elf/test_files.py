"""Files that hold containers: sections by binutils, contents by the second reader, registration by the loader's rules."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest

from fatload.elf import Container, FatbinError, containers, images, modules
from fatload.elf.files import is_ptx, of_bytes

from . import layout
from .conftest import Forms

LINKED_FORMS = ("object", "executable", "library", "relocatable", "relocated")


def dumped(path: Path, section: str, folder: Path) -> bytes:
    """A section's bytes as objcopy takes them out; none: empty."""
    out = folder / "section"
    out.write_bytes(b"")
    subprocess.run(
        ["objcopy", "--dump-section", f"{section}={out}", path, folder / "copy"], capture_output=True, check=False
    )
    return out.read_bytes()


def expected(section: bytes) -> list[tuple[int, list[layout.Part]]]:
    """Offsets and entries of the containers in a section: each begins with the magic number at a multiple of 8."""
    found, at = [], 0
    while at + 16 <= len(section):
        header = layout.Header.from_buffer_copy(section, at)
        if header.magic == layout.MAGIC:
            found.append((at, layout.parts(section[at:])))
            at += 16 + header.size
        else:
            at += 8
    return found


@pytest.mark.parametrize("form", LINKED_FORMS)
def test_sections(form: str, forms: Forms, tmp_path: Path) -> None:
    """All containers of the file, in order, with the images that are in them."""
    path = getattr(forms, form)
    there = []
    for section in (".nv_fatbin", "__nv_relfatbin"):
        for offset, parts in expected(dumped(path, section, tmp_path)):
            there.append((section, offset, [(p.entry.kind, p.entry.arch, p.content.rstrip(b"\0")) for p in parts]))
    assert there
    kinds = {"ptx": layout.PTX, "sass": layout.ELF}
    found = [
        (c.source, c.offset, [(kinds[i.kind], i.sm, i.raw().rstrip(b"\0")) for i in c.images]) for c in containers(path)
    ]
    assert sorted(found) == sorted(there)


SHAPES: dict[str, list[tuple[str, int | None, bool, int]]] = {
    "object": [(".nv_fatbin", 1, False, 2)],
    "executable": [(".nv_fatbin", 2, False, 1), (".nv_fatbin", 1, False, 2)],
    "library": [(".nv_fatbin", 2, False, 1), (".nv_fatbin", 1, False, 2), (".nv_fatbin", 1, False, 2)],
    "relocatable": [("__nv_relfatbin", 1, False, 2)],
    "relocated": [(".nv_fatbin", 2, False, 1), ("__nv_relfatbin", 1, True, 2), ("__nv_relfatbin", 1, True, 2)],
    "fatbin": [("fatbin", None, False, 2)],
    "cubin": [("cubin", None, False, 1)],
    "ptx": [("ptx", None, False, 1)],
}


@pytest.mark.parametrize("form", SHAPES)
def test_registration(form: str, forms: Forms) -> None:
    """The version of each container's wrapper (2: what the device link made), and which are its inputs."""
    found = containers(getattr(forms, form))
    assert [(c.source, c.wrapper, c.linked, len(c.images)) for c in found] == SHAPES[form]


@pytest.mark.parametrize("form", ["executable", "library", "relocated"])
def test_wrappers_by_the_loader(form: str, forms: Forms, tmp_path: Path) -> None:
    """The addresses in .nvFatBinSegment, with relative relocations applied as the dynamic loader does."""
    path = getattr(forms, form)
    segment = bytearray(dumped(path, ".nvFatBinSegment", tmp_path))
    start, addresses = 0, {}
    listed = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    for name, address in re.findall(r"\] (\S+) +PROGBITS +([0-9a-f]{16})", listed):
        addresses[name] = int(address, 16)
        start = addresses[name] if name == ".nvFatBinSegment" else start
    relocations = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True, check=True).stdout
    for at, addend in re.findall(r"^([0-9a-f]{16}) +0{15}8 R_X86_64_RELATIVE +([0-9a-f]+)$", relocations, re.MULTILINE):
        if start <= int(at, 16) < start + len(segment):
            struct.pack_into("<Q", segment, int(at, 16) - start, int(addend, 16))
    there = set()
    for magic, version, pointer, _ in struct.iter_unpack("<IIQQ", segment):
        assert magic == 0x466243B1
        there.add((pointer, version))
    assert {(addresses[c.source] + c.offset, c.wrapper) for c in containers(path)} == there


def test_archive(forms: Forms) -> None:
    """Members by name, with the containers that they have on their own."""
    listed = subprocess.run(["ar", "t", forms.archive], capture_output=True, text=True, check=True).stdout.split()
    found = containers(forms.archive)
    assert [c.source for c in found] == [f"{name}:.nv_fatbin" for name in listed]
    assert found[0].images == containers(forms.object)[0].images


def test_archives_of_other_makers(forms: Forms, tmp_path: Path) -> None:
    """Long names, names with blanks, members that are no objects, an index; a thin archive is told."""
    names = ["a-name-that-is-longer-than-fifteen-characters.o", "with blank.o", "s.o"]
    for name in names:
        (tmp_path / name).write_bytes(forms.object.read_bytes())
    (tmp_path / "notes.txt").write_text("odd")
    subprocess.run(["ar", "rcs", "all.a", "notes.txt", *names], cwd=tmp_path, check=True)
    assert [c.source for c in containers(tmp_path / "all.a")] == [f"{n}:.nv_fatbin" for n in names]
    subprocess.run(["ar", "rcsT", "thin.a", *names], cwd=tmp_path, check=True)
    with pytest.raises(FatbinError, match="thin archive"):
        containers(tmp_path / "thin.a")
    (tmp_path / "empty.a").write_bytes(b"!<arch>\n")
    assert containers(tmp_path / "empty.a") == []


def test_stripped(forms: Forms, tmp_path: Path) -> None:
    """Programs as distributions ship them: without symbols."""
    copy = tmp_path / "stripped"
    subprocess.run(["strip", "-o", copy, forms.executable], check=True)
    assert containers(copy) == containers(forms.executable)


def test_modules(forms: Forms) -> None:
    """What a program would load: a module for each container with PTX, one for the inputs of a device link together."""
    for form, counts in (("object", [1]), ("library", [1, 1]), ("archive", [1, 1]), ("relocated", [2]), ("cubin", [])):
        found = modules(containers(getattr(forms, form)), 89)
        assert [len(m) for m in found] == counts, form
        assert all(i.kind == "ptx" for m in found for i in m)


def test_programs_without_cuda() -> None:
    for path in ("/bin/sh", "/bin/ls"):
        assert containers(path) == []


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (b".version 8.3\n", True),
        (b"// made by hand\n\n/* and\n more */ .version 8.3\n", True),
        (b"\n\n\t .version 8.3", True),
        (b"// .version 8.3", False),
        (b"/* .version 8.3", False),
        (b".versions 8.3", False),
        (b"hello .version 8.3", False),
        (b"", False),
    ],
)
def test_what_ptx_looks_like(data: bytes, is_one: bool) -> None:
    assert is_ptx(data) is is_one


@pytest.mark.parametrize(
    ("target", "arch", "version"),
    [("sm_75", "compute_75", (8, 3)), ("sm_90a", "compute_90a", (8, 3)), ("sm_100f, debug", "compute_100f", (8, 3))],
)
def test_ptx_text(target: str, arch: str, version: tuple[int, int]) -> None:
    text = f"// head\n.version 8.3\n.target {target}\n.address_size 64\n".encode()
    for data in (text, text + b"\0", text + bytes(9)):
        (found,) = of_bytes(data)
        assert isinstance(found, Container)
        (image,) = found.images
        assert (image.arch, image.version, image.text()) == (arch, version, text.decode())
        assert images(data) == [image]
