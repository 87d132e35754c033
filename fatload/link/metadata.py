"""What a code object says of its kernels: AMDGPU metadata notes and symbols."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fatload.elf import FatbinError, sections
from fatload.link.linker import LinkError
from fatload.link.msgpack import MsgpackError, unpack

NT_AMDGPU_METADATA = 32


@dataclass(slots=True, frozen=True)
class KernelMetadata:
    """A kernel's resources: kernarg bytes (hidden arguments included), LDS and private bytes, registers, lanes of a wave, the largest
    work group; `arguments`: (offset, bytes, kind) of each."""

    name: str
    kernarg_bytes: int
    lds_bytes: int
    private_bytes: int
    vgprs: int
    sgprs: int
    wave: int
    max_threads: int
    arguments: tuple[tuple[int, int, str], ...]


def _elf(code: bytes) -> sections.Elf:
    if code[:4] != b"\x7fELF":
        raise LinkError("not a code object: no ELF file")
    try:
        return sections.read(code)
    except FatbinError as e:
        raise LinkError(f"damaged code object: {e}") from None


def metadata(code: bytes) -> dict[str, Any]:
    """The metadata map of a code object. Raises LinkError."""
    for section in _elf(code).sections:
        note = _note(section.bytes) if section.name.startswith(".note") else None
        if note is None:
            continue
        try:
            result = unpack(note)
        except MsgpackError as e:
            raise LinkError(f"damaged AMDGPU metadata: {e}") from None
        if not isinstance(result, dict):
            raise LinkError("damaged AMDGPU metadata: no map")
        return result
    raise LinkError("the code object has no AMDGPU metadata")


def _note(data: bytes) -> bytes | None:
    """What the AMDGPU metadata note among the notes of a section holds."""
    at = 0
    while at + 12 <= len(data):
        name_bytes, size, kind = struct.unpack_from("<III", data, at)
        name = data[at + 12 : at + 12 + name_bytes]
        at += 12 + -(-name_bytes // 4) * 4
        if name == b"AMDGPU\0" and kind == NT_AMDGPU_METADATA:
            return data[at : at + size]
        at += -(-size // 4) * 4
    return None


def kernels(code: bytes) -> dict[str, KernelMetadata]:
    """The kernels of a code object by name. Raises LinkError."""
    found = {}
    for k in _list(metadata(code), "amdhsa.kernels"):
        name = k.get(".name")
        if not isinstance(name, str):
            raise LinkError("damaged AMDGPU metadata: a kernel without a name")
        arguments = [(_number(a, ".offset"), _number(a, ".size"), str(a.get(".value_kind"))) for a in _list(k, ".args")]
        found[name] = KernelMetadata(
            name,
            _number(k, ".kernarg_segment_size"),
            _number(k, ".group_segment_fixed_size"),
            _number(k, ".private_segment_fixed_size"),
            _number(k, ".vgpr_count"),
            _number(k, ".sgpr_count"),
            _number(k, ".wavefront_size"),
            _number(k, ".max_flat_workgroup_size"),
            tuple(arguments),
        )
    return found


def _list(map_: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """A list of maps; none: empty. Raises LinkError."""
    found = map_.get(key, [])
    if not isinstance(found, list) or not all(isinstance(m, dict) for m in found):
        raise LinkError(f"damaged AMDGPU metadata: {key} is no list of maps")
    return found


def _number(map_: dict[str, Any], key: str) -> int:
    """A number; none: 0. Raises LinkError."""
    found = map_.get(key, 0)
    if not isinstance(found, int):
        raise LinkError(f"damaged AMDGPU metadata: {key} is no number")
    return found


def symbols(code: bytes) -> set[str]:
    """Defined dynamic symbols. Raises LinkError."""
    elf = _elf(code)
    table, strings = elf.section(".dynsym"), elf.section(".dynstr")
    if table is None or strings is None:
        return set()
    data, names, found = table.bytes, sections.Names(strings.bytes), set()
    for at in range(24, len(data) - 23, 24):  # the first one is empty
        name, _, _, section = struct.unpack_from("<IBBH", data, at)
        if section:
            try:
                found.add(names.at(name))
            except FatbinError as e:
                raise LinkError(f"damaged code object: {e}") from None
    return found - {""}


def check(code: bytes, expected: Iterable[str]) -> None:
    """Makes sure that each kernel is there with NAME and NAME.kd: a kernel that LLVM dropped shows only here. Raises LinkError."""
    have, described = symbols(code), kernels(code)
    for name in expected:
        missing = [s for s in (name, f"{name}.kd") if s not in have]
        if missing or name not in described:
            raise LinkError(f"the kernel {name} is missing from the code object: no {', '.join(missing) or 'metadata'}")
