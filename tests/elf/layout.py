"""A second reader of fatbin containers, from the structures as they are publicly documented: nothing here is fatload's.

Compressed payloads are unpacked with the libraries' one-shot functions, which the sizes in the entries bound.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import lz4.block
import zstandard


class Header(ctypes.LittleEndianStructure):
    """The container's header; `size` counts what follows it."""

    _pack_ = 1
    _fields_ = (
        ("magic", ctypes.c_uint32),
        ("version", ctypes.c_uint16),
        ("header_size", ctypes.c_uint16),
        ("size", ctypes.c_uint64),
    )


class Entry(ctypes.LittleEndianStructure):
    """An entry's header; the payload of `size` bytes lies `header_size` bytes behind its start."""

    _pack_ = 1
    _fields_ = (
        ("kind", ctypes.c_uint16),
        ("unknown", ctypes.c_uint16),
        ("header_size", ctypes.c_uint32),
        ("size", ctypes.c_uint64),
        ("compressed_size", ctypes.c_uint32),
        ("options_offset", ctypes.c_uint32),
        ("minor", ctypes.c_uint16),
        ("major", ctypes.c_uint16),
        ("arch", ctypes.c_uint32),
        ("name_offset", ctypes.c_uint32),
        ("name_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("zero", ctypes.c_uint64),
        ("uncompressed_size", ctypes.c_uint64),
    )


assert (ctypes.sizeof(Header), ctypes.sizeof(Entry)) == (16, 64)
MAGIC = 0xBA55ED50
PTX, ELF, LTO = 1, 2, 8
DEBUG, LZ4, ZSTD, ARCHITECTURE, FAMILY = 0x2, 0x2000, 0x8000, 0x100000, 0x200000


@dataclass(frozen=True)
class Part:
    """An entry and its bytes: the header, its payload, and what that unpacks to."""

    entry: Entry
    head: bytes
    payload: bytes
    content: bytes

    @property
    def options(self) -> str:
        """The text of the options block."""
        if not self.entry.options_offset:
            return ""
        offset, size = (
            int.from_bytes(self.head[self.entry.options_offset + k :][:4], "little") for k in (0, 4)
        )  # fmt: skip
        return self.head[offset : offset + size].decode().strip()

    @property
    def name(self) -> str:
        """What the file was called."""
        return self.head[self.entry.name_offset :][: self.entry.name_size].decode()


def parts(data: bytes) -> list[Part]:
    """All entries of the container that `data` begins with."""
    header = Header.from_buffer_copy(data)
    assert (header.magic, header.version, header.header_size) == (MAGIC, 1, 16)
    at, end, found = 16, 16 + header.size, []
    assert end <= len(data)
    while at < end:
        entry = Entry.from_buffer_copy(data, at)
        assert at % 8 == 0 and entry.size % 8 == 0 and entry.header_size % 8 == 0
        head = data[at : at + entry.header_size]
        payload = data[at + entry.header_size :][: entry.size]
        assert len(payload) == entry.size
        content = payload
        if entry.kind == LTO:
            content = b""  # not to be unpacked
        elif entry.flags & ZSTD:
            content = zstandard.ZstdDecompressor().decompress(payload[: entry.compressed_size])
        elif entry.flags & LZ4:
            content = lz4.block.decompress(payload[: entry.compressed_size], uncompressed_size=entry.uncompressed_size)
        if entry.flags & (ZSTD | LZ4) and entry.kind != LTO:
            assert len(content) == entry.uncompressed_size
        found.append(Part(entry, head, payload, content))
        at += entry.header_size + entry.size
    assert at == end
    return found
