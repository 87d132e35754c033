"""Finds the CUDA images in a file: executable, shared object, object, archive, fatbin, cubin, PTX text."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from fatload.elf import cubin, fatbin
from fatload.elf.fatbin import FatbinError, Image

SECTIONS = (".nv_fatbin", "__nv_relfatbin", ".nv_relfatbin")


@dataclass(slots=True, frozen=True)
class Container:
    """A container's images and where they lie: the archive member, the section, the offset in it. ``source`` of a bare file is what the
    file is: fatbin, cubin, ptx."""

    source: str
    offset: int
    images: tuple[Image, ...]


def containers(path: str | Path) -> list[Container]:
    """The containers of a file. Raises OSError, FatbinError."""
    return list(of_bytes(Path(path).read_bytes()))


def images(source: str | Path | bytes) -> list[Image]:
    """All images of a file or of its bytes. Raises OSError, FatbinError."""
    found = of_bytes(source) if isinstance(source, bytes) else containers(source)
    return [i for c in found for i in c.images]


def of_bytes(data: bytes, member: str = "") -> Iterator[Container]:
    """The containers in a file's bytes. Raises FatbinError for what is none of the formats or damaged."""
    if data[:4] == struct.pack("<I", fatbin.MAGIC):
        found, _ = fatbin.read(data)
        yield Container("fatbin", 0, tuple(found))
    elif data[:8] == b"!<arch>\n":
        yield from _archive(data)
    elif cubin.is_cubin(data):
        yield Container("cubin", 0, (Image("sass", cubin.read(data).sm, 1, (1, 8), data, len(data)),))
    elif data[:4] == b"\x7fELF":
        yield from _elf(data, member)
    elif is_ptx(data):
        from fatload.ptx.scan import scan

        s = scan(data)
        sm = int("".join(c for c in s.target[0] if c.isdigit()) or 0) if s.target else 0
        yield Container("ptx", 0, (Image("ptx", sm, 1, s.version, data.rstrip(b"\0"), len(data.rstrip(b"\0"))),))
    else:
        raise FatbinError("not an executable, object, archive, fatbin, cubin or PTX text")


def is_ptx(data: bytes) -> bool:
    """Whether text begins as PTX does, behind comments."""
    from fatload.ptx.scan import blank_comments

    return blank_comments(data[:65536].decode("utf-8", "replace")).lstrip().startswith(".version")


def _elf(data: bytes, member: str) -> Iterator[Container]:
    try:
        elf = ELFFile(io.BytesIO(data))
        sections = [(s.name, s.data()) for s in elf.iter_sections() if s.name in SECTIONS]
    except (ELFError, struct.error, ValueError, OSError, AttributeError, UnicodeDecodeError, KeyError) as e:
        raise FatbinError(f"damaged ELF file: {e}") from None
    for name, content in sections:
        label = f"{member}:{name}" if member else name
        for offset, found in fatbin.containers(content):
            yield Container(label, offset, tuple(found))


def _archive(data: bytes) -> Iterator[Container]:
    at, names = 8, b""
    while at + 60 <= len(data):
        head = data[at : at + 60]
        if head[58:60] != b"`\n":
            raise FatbinError("damaged archive member", at)
        try:
            size = int(head[48:58])
        except ValueError:
            raise FatbinError("damaged archive member", at) from None
        content = data[at + 60 : at + 60 + size]
        if len(content) < size:
            raise FatbinError("an archive member is cut short", at)
        name = head[:16].rstrip().decode("utf-8", "replace")
        if name == "//":
            names = content
        elif name not in ("/", "/SYM64/"):
            if name.startswith("/") and name[1:].isdigit():
                start = int(name[1:])
                name = names[start : names.find(b"\n", start)].decode("utf-8", "replace")
            if content[:4] == b"\x7fELF" and not cubin.is_cubin(content):
                yield from _elf(content, name.rstrip("/"))
        at += 60 + size + size % 2
