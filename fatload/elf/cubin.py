"""Cubins: what SASS says of its kernels, from symbols, section headers and ``.nv.info``."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from fatload.elf import sections
from fatload.elf.errors import FatbinError

EM_CUDA = 190
_ABI_CUDA13 = 0x41  # EI_OSABI; the SM number lies one byte further up in e_flags
_ENTRY = 0x10  # st_other of kernels
_FUNCTION, _OBJECT = 2, 1
# Attributes of .nv.info
_PARAM_INFO, _PARAM_BYTES, _REGISTERS = 0x17, 0x19, 0x2F
_RESERVED = 1024
"""From sm_90 on a kernel's shared memory begins with bytes of the system's, which ptxas and the driver do not count."""
_SIZED = 4  # the form of attributes that are followed by bytes


@dataclass(slots=True, frozen=True)
class SassKernel:
    """A kernel of a cubin: parameters as (offset, bytes), bytes of all of them, registers, static shared bytes."""

    name: str
    parameters: tuple[tuple[int, int], ...]
    parameter_bytes: int
    registers: int
    shared_bytes: int


@dataclass(slots=True, frozen=True)
class SassVariable:
    """A device variable: `space` is global or const."""

    name: str
    space: str
    bytes: int


@dataclass(slots=True, frozen=True)
class Cubin:
    """A cubin's architecture number, kernels and device variables, by name."""

    sm: int
    kernels: tuple[SassKernel, ...]
    variables: tuple[SassVariable, ...] = ()


@dataclass(slots=True, frozen=True)
class _Symbol:
    name: str
    kind: int
    other: int
    section: int
    size: int


def is_cubin(data: bytes) -> bool:
    """Whether `data` is an ELF file for a CUDA machine."""
    return len(data) >= 64 and data[:4] == b"\x7fELF" and struct.unpack_from("<H", data, 18)[0] == EM_CUDA


def architecture(data: bytes) -> int:
    """The SM number of a cubin, from its header alone. Raises FatbinError."""
    if not is_cubin(data):
        raise FatbinError("not a cubin")
    flags = struct.unpack_from("<I", data, 48)[0]
    return int(flags >> 8 & 0xFF if data[7] == _ABI_CUDA13 else flags & 0xFF)


def read(data: bytes) -> Cubin:
    """Reads a cubin. Raises FatbinError."""
    sm = architecture(data)
    elf = sections.read(data)
    symbols = _symbols(elf)
    table = elf.section(".nv.info")
    registers = _registers(table.bytes) if table is not None else {}
    by_name = {s.name: s for s in elf.sections}
    entries = {s.name: (s, registers.get(n)) for n, s in enumerate(symbols) if s.kind == _FUNCTION and s.other & _ENTRY}
    kernels = [_kernel(by_name, s, r) for s, r in entries.values()]
    variables = [
        SassVariable(s.name, space, s.size)
        for s in symbols
        if s.kind == _OBJECT and 0 < s.section < len(elf.sections) and (space := _space(elf.sections[s.section].name))
    ]
    return Cubin(sm, tuple(sorted(kernels, key=lambda k: k.name)), tuple(sorted(variables, key=lambda v: v.name)))


def _kernel(by_name: dict[str, sections.Section], symbol: _Symbol, registers: int | None) -> SassKernel:
    info = by_name.get(f".nv.info.{symbol.name}")
    text = by_name.get(f".text.{symbol.name}")
    shared = by_name.get(f".nv.shared.{symbol.name}")
    parameters, size = _parameters(info.bytes) if info is not None else ([], 0)
    if registers is None:  # before sm_80 the section header has the number
        registers = text.info >> 24 if text is not None else 0
    shared_bytes = shared.size if shared is not None else 0
    if ".nv.shared.reserved.0" in by_name and shared_bytes >= _RESERVED:
        shared_bytes -= _RESERVED
    return SassKernel(symbol.name, tuple(sorted(parameters)), size, registers, shared_bytes)


def _space(section: str) -> str:
    if section.startswith(".nv.global"):
        return "global"
    return "const" if section.startswith(".nv.constant3") else ""


def _symbols(elf: sections.Elf) -> list[_Symbol]:
    table, strings = elf.section(".symtab"), elf.section(".strtab")
    if table is None or strings is None:
        return []
    data, names = table.bytes, sections.Names(strings.bytes)
    found = []
    for at in range(0, len(data) - 23, 24):
        name, kind, other, section, _, size = struct.unpack_from("<IBBHQQ", data, at)
        found.append(_Symbol(names.at(name), kind & 15, other, section, size))
    return found


def _attributes(info: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(attribute, its 16-bit value or size, bytes) of a .nv.info section."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        payload = b""
        if form == _SIZED:
            payload = info[at : at + value]
            at += -(-value // 4) * 4
        yield attribute, value, payload


def _registers(info: bytes) -> dict[int, int]:
    """Registers by the index of the kernel's symbol."""
    found = {}
    for attribute, _, payload in _attributes(info):
        if attribute == _REGISTERS and len(payload) >= 8:
            symbol, count = struct.unpack_from("<II", payload)
            found[symbol] = count
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
