"""Sections of ELF files, read so that a hostile header costs neither time nor memory: everything that is read of a file
is together not much larger than the file."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from fatload.elf.errors import FatbinError

_HEADER = struct.Struct("<IIQQQQIIQQ")
_NULL, _NOBITS = 0, 8
_XINDEX = 0xFFFF
_SPARE = 1 << 16


@dataclass(slots=True, frozen=True)
class Section:
    """A section: `address` in memory, `size` in memory, `offset` in `file` (nothing is there for a section without
    bytes)."""

    name: str
    address: int
    size: int
    info: int
    offset: int
    file: bytes = field(repr=False)

    @property
    def bytes(self) -> bytes:
        """Its bytes in the file; a new object each time."""
        return self.file[self.offset : self.offset + self.size] if self.file else b""


@dataclass(slots=True, frozen=True)
class Elf:
    """An ELF file: e_type (1 relocatable, 2 executable, 3 shared) and its sections, whose index is their place in
    the list."""

    type: int
    sections: tuple[Section, ...]
    first: dict[str, Section] = field(repr=False)

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return self.first.get(name)


class Names:
    """A table of names that end with zeros. Names may share their ends, but not so much that all of them together are far
    larger than the table."""

    def __init__(self, table: bytes) -> None:
        self.table = table
        self.left = 16 * len(table) + _SPARE

    def at(self, offset: int) -> str:
        """The name at an offset; empty behind the end. Raises FatbinError."""
        if offset >= len(self.table):
            return ""
        end = self.table.find(b"\0", offset)
        name = self.table[offset : end if end >= 0 else None]
        self.left -= len(name)
        if self.left < 0:
            raise FatbinError("the names of an ELF file overlap", offset)
        return name.decode("utf-8", "replace")


def read(data: bytes) -> Elf:
    """The sections of a little-endian 64-bit ELF file. Raises FatbinError."""
    if len(data) < 64:
        raise FatbinError("the ELF file is cut short in its header")
    if data[4] != 2 or data[5] != 1:
        raise FatbinError("not a 64-bit little-endian ELF file")
    kind = struct.unpack_from("<H", data, 16)[0]
    table, width, count, strings = (*struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HHH", data, 58))
    if table == 0:
        return Elf(kind, (), {})
    if width != _HEADER.size or table + _HEADER.size > len(data):
        raise FatbinError("the ELF file's section headers are not there", table)
    first = _HEADER.unpack_from(data, table)
    if count == 0:  # more than 65279: the first header's size says how many
        count = first[5]
    if strings == _XINDEX:
        strings = first[6]
    if count > (len(data) - table) // _HEADER.size:
        raise FatbinError(f"the ELF file is cut short in its {count} section headers", table)
    headers = list(_HEADER.iter_unpack(data[table : table + count * _HEADER.size]))
    _check(data, headers)
    found = tuple(_sections(data, headers, strings))
    return Elf(kind, found, {s.name: s for s in reversed(found)})


def _check(data: bytes, headers: list[tuple[int, ...]]) -> None:
    """Makes sure that the sections lie in the file and beside each other."""
    total = 0
    for _, kind, _, _, offset, size, *_ in headers:
        if kind in (_NULL, _NOBITS):
            continue
        if size > len(data) or offset > len(data) - size:
            raise FatbinError(f"a section of {size} bytes runs past the end of the ELF file", offset)
        total += size
        if total > 2 * len(data):
            raise FatbinError("the sections of the ELF file overlap", offset)


def _sections(data: bytes, headers: list[tuple[int, ...]], strings: int) -> list[Section]:
    table = b""
    if strings < len(headers) and headers[strings][1] not in (_NULL, _NOBITS):
        offset, size = headers[strings][4:6]
        table = data[offset : offset + size]
    names = Names(table)
    return [
        Section(names.at(name), address, size, info, offset, b"" if kind in (_NULL, _NOBITS) else data)
        for name, kind, _, address, offset, size, _, info, _, _ in headers
    ]
