"""Sections of ELF files, read so that a hostile header costs neither time nor memory."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from fatload.elf.errors import FatbinError

_NOBITS = "SHT_NOBITS"
_DAMAGE = (struct.error, ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, OverflowError)
"""What pyelftools raises for damaged files besides its own errors."""


@dataclass(slots=True, frozen=True)
class Section:
    """A section: `address` in memory, `size` in memory, and its `bytes` in the file (none for a section without
    any)."""

    name: str
    address: int
    size: int
    info: int
    bytes: bytes


@dataclass(slots=True, frozen=True)
class Elf:
    """An ELF file: e_type (1 relocatable, 2 executable, 3 shared) and its sections, whose index is their place in
    the list."""

    type: int
    sections: tuple[Section, ...]

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((s for s in self.sections if s.name == name), None)


def read(data: bytes) -> Elf:
    """The sections of a little-endian 64-bit ELF file. Raises FatbinError."""
    if len(data) < 64:
        raise FatbinError("the ELF file is cut short in its header")
    if data[4] != 2 or data[5] != 1:
        raise FatbinError("not a 64-bit little-endian ELF file")
    kind = struct.unpack_from("<H", data, 16)[0]
    table, width, count = (*struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 58))
    if table == 0:
        return Elf(kind, ())
    if width != 64 or table + 64 > len(data):
        raise FatbinError("the ELF file's section headers are not there", table)
    if count == 0:  # more than 65279: the first header's size says how many
        count = struct.unpack_from("<Q", data, table + 32)[0]
    if count > (len(data) - table) // width:
        raise FatbinError(f"the ELF file is cut short in its {count} section headers", table)
    try:
        found = [(s.name, s.header) for s in ELFFile(io.BytesIO(data)).iter_sections()]
    except (ELFError, *_DAMAGE) as e:
        raise FatbinError(f"damaged ELF file: {e}") from None
    return Elf(kind, tuple(_section(data, name, header) for name, header in found))


def _section(data: bytes, name: str, header: Any) -> Section:
    offset, size = int(header["sh_offset"]), int(header["sh_size"])
    content = b""
    if header["sh_type"] not in (_NOBITS, "SHT_NULL"):
        if size > len(data) or offset > len(data) - size:
            raise FatbinError(f"section {name!r} of {size} bytes runs past the end of the file", offset)
        content = data[offset : offset + size]
    return Section(name, int(header["sh_addr"]), size, int(header["sh_info"]), content)
