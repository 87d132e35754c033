"""Finds the CUDA images in a file: executable, shared object, object, archive, fatbin, cubin, PTX text."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fatload.elf import cubin, fatbin, sections, wrappers
from fatload.elf.errors import FatbinError
from fatload.elf.fatbin import Image

_ET_REL = 1
_ARCHIVE, _THIN = b"!<arch>\n", b"!<thin>\n"
_MEMBER = 60  # bytes of an archive member's header
_SPACE, _VERSION = re.compile(rb"\s*"), re.compile(rb"\.version\b")
_LONGEST_HEAD = 1 << 16
_LONGEST_NAME = 4096


@dataclass(slots=True, frozen=True)
class Container:
    """A container's images and where they lie: ``source`` is the section, with the archive's member in front, or
    what a bare file is (fatbin, cubin, ptx); ``offset`` is the container's place in the section or file.

    ``wrapper`` is the version of the wrapper that registers the container (1: its images are a module; 2: the result
    of a device link), None if there is none. ``linked`` marks the inputs of a device link in a linked file: their
    PTX makes one module."""

    source: str
    offset: int
    images: tuple[Image, ...]
    wrapper: int | None = None
    linked: bool = False


def containers(path: str | Path) -> list[Container]:
    """The containers of a file. Raises OSError, FatbinError."""
    return list(of_bytes(Path(path).read_bytes()))


def images(source: str | Path | bytes) -> list[Image]:
    """All images of a file or of its bytes. Raises OSError, FatbinError."""
    found = of_bytes(source) if isinstance(source, bytes) else containers(source)
    return [i for c in found for i in c.images]


def modules(found: list[Container], capability: int) -> list[list[Image]]:
    """The PTX that the driver would translate for a compute capability, one list for each module that a program
    would load, in link order. Containers without PTX have none."""
    single: list[Image] = []
    linked: list[Image] = []
    for c in found:
        best = fatbin.choose(c.images, capability)
        if best is not None:
            (linked if c.linked else single).append(best)
    return [[i] for i in single] + ([linked] if linked else [])


def of_bytes(data: bytes, member: str = "") -> Iterator[Container]:
    """The containers in a file's bytes. Raises FatbinError for what is none of the formats or damaged."""
    if data[:4] == struct.pack("<I", fatbin.MAGIC):
        found, _ = fatbin.read(data)
        yield Container("fatbin", 0, tuple(found))
    elif data[:8] == _ARCHIVE:
        yield from _archive(data)
    elif data[:8] == _THIN:
        raise FatbinError("a thin archive holds no code: name its members")
    elif cubin.is_cubin(data):
        yield Container("cubin", 0, (Image("sass", cubin.architecture(data), 1, (1, 8), data, len(data)),))
    elif data[:4] == b"\x7fELF":
        yield from _elf(data, member)
    elif is_ptx(data):
        yield Container("ptx", 0, (_ptx(data.rstrip(b"\0")),))
    elif not data:
        raise FatbinError("the file is empty")
    else:
        raise FatbinError("not an executable, object, archive, fatbin, cubin or PTX text")


def is_ptx(data: bytes) -> bool:
    """Whether text begins as PTX does, behind white space and comments."""
    head, at = data[:_LONGEST_HEAD], 0
    while True:
        space = _SPACE.match(head, at)
        at = space.end() if space is not None else at
        if head.startswith(b"//", at):
            end = head.find(b"\n", at)
        elif head.startswith(b"/*", at):
            end = head.find(b"*/", at + 2) + 1
        else:
            return _VERSION.match(head, at) is not None
        if end <= 0:
            return False
        at = end + 1


def _ptx(data: bytes) -> Image:
    version = re.search(rb"^\s*\.version\s+(\d{1,4})\.(\d{1,4})", data, re.MULTILINE)
    target = re.search(rb"^\s*\.target\s+sm_(\d{1,4})([af]?)", data, re.MULTILINE)
    flags = fatbin.FLAG_64BIT
    if target and target[2]:
        flags |= fatbin.FLAG_ARCH if target[2] == b"a" else fatbin.FLAG_FAMILY
    number = (int(version[1]), int(version[2])) if version else (0, 0)
    return Image("ptx", int(target[1]) if target else 0, flags, number, data, len(data))


def _elf(data: bytes, member: str) -> Iterator[Container]:
    elf = sections.read(data)
    registered = wrappers.versions(elf)
    for s in elf.sections:
        if s.name not in wrappers.SECTIONS:
            continue
        label = f"{member}:{s.name}" if member else s.name
        linked = s.name != ".nv_fatbin" and elf.type != _ET_REL
        try:
            for offset, found in fatbin.containers(s.bytes):
                yield Container(label, offset, tuple(found), registered.get((s.name, offset)), linked)
        except FatbinError as e:
            raise FatbinError(f"{label}: {e}") from None


def _archive(data: bytes) -> Iterator[Container]:
    at, names = len(_ARCHIVE), b""
    while at < len(data):
        head = data[at : at + _MEMBER]
        if len(head) < _MEMBER or head[58:60] != b"`\n" or not head[48:58].strip().isdigit():
            raise FatbinError("damaged archive member", at)
        size = int(head[48:58])
        content = data[at + _MEMBER : at + _MEMBER + size]
        if len(content) < size:
            raise FatbinError("an archive member is cut short", at)
        name = head[:16].rstrip().decode("utf-8", "replace")
        if name == "//":
            names = content
        elif name not in ("/", "/SYM64/") and content[:4] == b"\x7fELF" and not cubin.is_cubin(content):
            if re.fullmatch(r"/[0-9]+", name):
                start = int(name[1:])
                name = names[start : start + _LONGEST_NAME].partition(b"\n")[0].decode("utf-8", "replace")
            yield from _elf(content, name.rstrip("/"))
        at += _MEMBER + size + size % 2
