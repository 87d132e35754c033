"""Registration wrappers: the structures of ``.nvFatBinSegment`` through which a program hands its containers to the
runtime.

A wrapper is 24 bytes: u32 0x466243b1, u32 version, pointer to the container, pointer (version 2: list of the
containers that were the inputs of the device link, filled at start-up). Linked files hold the pointers as addresses,
as addends of relative relocations (position-independent files), or of relocations against the container's section
(objects)."""

from __future__ import annotations

import struct
from bisect import bisect_right

from fatload.elf.sections import Elf, Section

MAGIC = 0x466243B1
SECTIONS = (".nv_fatbin", "__nv_relfatbin", ".nv_relfatbin")
"""Where containers lie."""
_WRAPPER = struct.Struct("<IIQQ")
_RELOCATION = struct.Struct("<QQq")
_RELATIVE, _ABSOLUTE = 8, 1  # R_X86_64_RELATIVE, R_X86_64_64


def versions(elf: Elf) -> dict[tuple[str, int], int]:
    """The version of the wrapper of each container, by (section, offset in it). Damaged tables give fewer answers."""
    segment = elf.section(".nvFatBinSegment")
    if segment is None:
        return {}
    places = _Places(elf)
    addends = _addends(elf, segment, places)
    data, found = segment.bytes, {}
    for at in range(0, len(data) - _WRAPPER.size + 1, _WRAPPER.size):
        magic, version, container, _ = _WRAPPER.unpack_from(data, at)
        if magic != MAGIC:
            continue
        place = addends.get(at + 8) or places.at(container)
        if place is not None:
            found[place] = version
    return found


class _Places:
    """The sections with containers, by their addresses."""

    def __init__(self, elf: Elf) -> None:
        there = [s for s in elf.sections if s.name in SECTIONS and s.address and s.size and s.file]
        self.sections = sorted(there, key=lambda s: s.address)
        self.starts = [s.address for s in self.sections]

    def at(self, address: int) -> tuple[str, int] | None:
        """(section, offset in it) of an address."""
        index = bisect_right(self.starts, address) - 1
        if index < 0 or address >= self.starts[index] + self.sections[index].size:
            return None
        return self.sections[index].name, address - self.starts[index]


def _addends(elf: Elf, segment: Section, places: _Places) -> dict[int, tuple[str, int]]:
    """What the pointers in the segment are relocated to, by their offset in it."""
    symbols = elf.section(".symtab")
    table = symbols.bytes if symbols is not None else b""
    found = {}
    for s in elf.sections:
        if s.name not in (".rela.dyn", ".rela.nvFatBinSegment"):
            continue
        data = s.bytes
        for at in range(0, len(data) - _RELOCATION.size + 1, _RELOCATION.size):
            offset, info, addend = _RELOCATION.unpack_from(data, at)
            place = None
            if s.name == ".rela.dyn" and info & 0xFFFFFFFF == _RELATIVE:
                offset -= segment.address
                place = places.at(addend) if 0 <= offset < segment.size else None
            elif s.name == ".rela.nvFatBinSegment" and info & 0xFFFFFFFF == _ABSOLUTE:
                place = _target(elf, table, info >> 32, addend)
            if place is not None:
                found[offset] = place
    return found


def _target(elf: Elf, symbols: bytes, symbol: int, addend: int) -> tuple[str, int] | None:
    if (symbol + 1) * 24 > len(symbols):
        return None
    _, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", symbols, symbol * 24)
    return (elf.sections[section].name, value + addend) if section < len(elf.sections) else None
