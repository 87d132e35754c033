"""A second reader of code objects and bundles, after LLVM's "User Guide for AMDGPU Backend": nothing here is fatload's."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Any

import msgpack
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection

EM_AMDGPU = 224
ELFOSABI_AMDGPU_HSA = 64
ELFABIVERSION_AMDGPU_HSA_V6 = 4
NT_AMDGPU_METADATA = 32
DESCRIPTOR_BYTES = 64
WAVE32 = 1 << 10  # of kernel_code_properties

XNACK_ANY, SRAMECC_ANY = 0x100, 0x400
FLAGS = {
    "gfx900": 0x2C | XNACK_ANY,
    "gfx90a": 0x3F | XNACK_ANY | SRAMECC_ANY,
    "gfx942": 0x4C | XNACK_ANY | SRAMECC_ANY,
    "gfx1030": 0x36,
    "gfx1100": 0x41,
    "gfx1201": 0x4E,
}
"""e_flags: EF_AMDGPU_MACH, and for what the chip has, that the code runs whether it is on or off."""

HIDDEN = {
    "hidden_block_count_x": (0, 4),
    "hidden_block_count_y": (4, 4),
    "hidden_block_count_z": (8, 4),
    "hidden_group_size_x": (12, 2),
    "hidden_group_size_y": (14, 2),
    "hidden_group_size_z": (16, 2),
    "hidden_remainder_x": (18, 2),
    "hidden_remainder_y": (20, 2),
    "hidden_remainder_z": (22, 2),
    "hidden_global_offset_x": (40, 8),
    "hidden_global_offset_y": (48, 8),
    "hidden_global_offset_z": (56, 8),
    "hidden_grid_dims": (64, 2),
    "hidden_dynamic_lds_size": (120, 4),
}
"""Offsets (behind the explicit arguments, rounded up to 8) and sizes of hidden arguments."""
HIDDEN_BYTES = 256


@dataclass(frozen=True)
class Descriptor:
    """A kernel descriptor, the 64 bytes at NAME.kd."""

    lds: int
    private: int
    kernarg: int
    entry: int  # address
    properties: int


class CodeObject:
    """A linked code object."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.elf = ELFFile(io.BytesIO(data))
        table = self.elf.get_section_by_name(".dynsym")
        assert isinstance(table, SymbolTableSection)
        self.symbols = {s.name: s.entry for s in table.iter_symbols() if s.name}
        self.metadata: dict[str, Any] = msgpack.unpackb(self._note(), strict_map_key=True)

    def _note(self) -> bytes:
        """The description of the metadata note, read byte by byte: pyelftools decodes notes it does not know as text."""
        notes = []
        for segment in self.elf.iter_segments("PT_NOTE"):
            data, at = segment.data(), 0
            while at < len(data):
                name_size, size, kind = struct.unpack_from("<III", data, at)
                name = data[at + 12 : at + 12 + name_size]
                at += 12 + -(-name_size // 4) * 4
                if name == b"AMDGPU\0" and kind == NT_AMDGPU_METADATA:
                    notes.append(data[at : at + size])
                at += -(-size // 4) * 4
        assert len(notes) == 1
        return notes[0]

    def section(self, symbol: str) -> Section:
        """The section that defines a dynamic symbol."""
        index = self.symbols[symbol]["st_shndx"]
        assert isinstance(index, int), f"{symbol}: {index}"
        found = self.elf.get_section(index)
        assert isinstance(found, Section)
        return found

    def descriptor(self, kernel: str) -> Descriptor:
        """The descriptor of a kernel."""
        symbol, section = self.symbols[f"{kernel}.kd"], self.section(f"{kernel}.kd")
        assert symbol["st_size"] == DESCRIPTOR_BYTES and symbol["st_value"] % 64 == 0
        at = section["sh_offset"] + symbol["st_value"] - section["sh_addr"]
        lds, private, kernarg, _, entry = struct.unpack_from("<IIIIq", self.data, at)
        return Descriptor(
            lds, private, kernarg, symbol["st_value"] + entry, struct.unpack_from("<H", self.data, at + 56)[0]
        )

    def kernel(self, name: str) -> dict[str, Any]:
        """What the metadata say of a kernel."""
        (found,) = [k for k in self.metadata["amdhsa.kernels"] if k[".name"] == name]
        assert isinstance(found, dict)
        return found


def unbundle(data: bytes) -> list[tuple[str, bytes]]:
    """Ids and code of a clang offload bundle, in its order."""
    assert data[:24] == b"__CLANG_OFFLOAD_BUNDLE__"
    (count,) = struct.unpack_from("<Q", data, 24)
    at, found = 32, []
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", data, at)
        name = data[at + 24 : at + 24 + length].decode()
        at += 24 + length
        assert offset + size <= len(data) and (size == 0 or (offset >= at and offset % 4096 == 0))
        found.append((name, data[offset : offset + size]))
    return found
