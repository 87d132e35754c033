"""Registration wrappers: the structures of ``.nvFatBinSegment`` through which a program hands its containers to the
runtime.

A wrapper is 24 bytes: u32 0x466243b1, u32 version, pointer to the container, pointer (version 2: list of the
containers that were the inputs of the device link, filled at start-up). Linked files hold the pointers as addresses,
as addends of relative relocations (position-independent files), or of relocations against the container's section
(objects)."""

from __future__ import annotations

import struct

from fatload.elf.sections import Elf, Section

MAGIC = 0x466243B1
_WRAPPER = struct.Struct("<IIQQ")
_RELOCATION = struct.Struct("<QQq")
_RELATIVE, _ABSOLUTE = 8, 1  # R_X86_64_RELATIVE, R_X86_64_64


def versions(elf: Elf) -> dict[tuple[str, int], int]:
    """The version of the wrapper of each container, by (section, offset in it). Damaged tables give fewer answers."""
    segment = elf.section(".nvFatBinSegment")
    if segment is None:
        return {}
    addends = _addends(elf, segment)
    found = {}
    for at in range(0, len(segment.bytes) - _WRAPPER.size + 1, _WRAPPER.size):
        magic, version, container, _ = _WRAPPER.unpack_from(segment.bytes, at)
        if magic != MAGIC:
            continue
        place = addends.get(at + 8) or _place(elf, container)
        if place is not None:
            found[place] = version
    return found


def _place(elf: Elf, address: int) -> tuple[str, int] | None:
    for s in elf.sections:
        if s.address and s.bytes and s.address <= address < s.address + s.size:
            return s.name, address - s.address
    return None


def _addends(elf: Elf, segment: Section) -> dict[int, tuple[str, int]]:
    """What the pointers in the segment are relocated to, by their offset in it."""
    found = {}
    for s in elf.sections:
        if s.name not in (".rela.dyn", ".rela.nvFatBinSegment"):
            continue
        for at in range(0, len(s.bytes) - _RELOCATION.size + 1, _RELOCATION.size):
            offset, info, addend = _RELOCATION.unpack_from(s.bytes, at)
            place = None
            if s.name == ".rela.dyn" and info & 0xFFFFFFFF == _RELATIVE:
                offset -= segment.address
                place = _place(elf, addend) if 0 <= offset < segment.size else None
            elif s.name == ".rela.nvFatBinSegment" and info & 0xFFFFFFFF == _ABSOLUTE:
                place = _target(elf, info >> 32, addend)
            if place is not None:
                found[offset] = place
    return found


def _target(elf: Elf, symbol: int, addend: int) -> tuple[str, int] | None:
    table = elf.section(".symtab")
    if table is None or (symbol + 1) * 24 > len(table.bytes):
        return None
    _, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", table.bytes, symbol * 24)
    return (elf.sections[section].name, value + addend) if section < len(elf.sections) else None
