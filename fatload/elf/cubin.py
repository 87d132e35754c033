"""Cubins: what SASS says of its kernels, from symbols, section headers and ``.nv.info``."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from fatload.elf.fatbin import FatbinError

EM_CUDA = 190
_PARAM_INFO = 0x17  # EIATTR_KPARAM_INFO
_PARAM_BYTES = 0x19  # EIATTR_CBANK_PARAM_SIZE


@dataclass(slots=True, frozen=True)
class SassKernel:
    """A kernel of a cubin: parameters as (offset, bytes), bytes of all of them, registers, static shared bytes."""

    name: str
    parameters: tuple[tuple[int, int], ...]
    parameter_bytes: int
    registers: int
    shared_bytes: int


@dataclass(slots=True, frozen=True)
class Cubin:
    """A cubin's architecture number and kernels."""

    sm: int
    kernels: tuple[SassKernel, ...]


def is_cubin(data: bytes) -> bool:
    """Whether `data` is an ELF file for a CUDA machine."""
    return len(data) >= 64 and data[:4] == b"\x7fELF" and struct.unpack_from("<H", data, 18)[0] == EM_CUDA


def read(data: bytes) -> Cubin:
    """Reads a cubin. Raises FatbinError."""
    try:
        elf = ELFFile(io.BytesIO(data))
        flags = elf.header["e_flags"]
        sm = flags >> 8 & 0xFF if data[7] == 0x41 else flags & 0xFF
        sections = {s.name: s for s in elf.iter_sections()}
        entries = _entries(elf)
        kernels = []
        for name, section in sections.items():
            if not name.startswith(".text."):
                continue
            kernel = name[len(".text.") :]
            info = sections.get(f".nv.info.{kernel}")
            parameters, size = _parameters(info.data()) if info is not None else ([], 0)
            if kernel not in entries:
                continue
            shared = sections.get(f".nv.shared.{kernel}")
            kernels.append(
                SassKernel(
                    kernel,
                    tuple(sorted(parameters)),
                    size,
                    section.header["sh_info"] >> 24,
                    shared.header["sh_size"] if shared is not None else 0,
                )
            )
        return Cubin(sm, tuple(sorted(kernels, key=lambda k: k.name)))
    except (ELFError, struct.error, KeyError, ValueError, OSError, AttributeError, UnicodeDecodeError) as e:
        raise FatbinError(f"damaged cubin: {e}") from None


def _attributes(info: bytes) -> list[tuple[int, int, bytes]]:
    found, at = [], 0
    while at + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        payload = b""
        if form == 4:
            payload = info[at : at + value]
            at += -(-value // 4) * 4
        found.append((attribute, value, payload))
    return found


def _entries(elf: ELFFile) -> set[str]:
    """Names of kernels: function symbols with STO_CUDA_ENTRY in st_other."""
    table = elf.get_section_by_name(".symtab")
    strings = elf.get_section_by_name(".strtab")
    if table is None or strings is None:
        return set()
    data, names, found = table.data(), strings.data(), set()
    for at in range(0, len(data) - 23, 24):
        name, kind, other = struct.unpack_from("<IBB", data, at)
        if kind & 15 == 2 and other & 0x10:
            found.add(names[name : names.find(b"\0", name)].decode())
    return found


def _parameters(info: bytes) -> tuple[list[tuple[int, int]], int]:
    parameters, size = [], 0
    for attribute, value, payload in _attributes(info):
        if attribute == _PARAM_INFO and len(payload) >= 12:
            _, _, offset, packed = struct.unpack_from("<IHHI", payload)
            parameters.append((offset, packed >> 18))
        elif attribute == _PARAM_BYTES:
            size = value
    return parameters, size
