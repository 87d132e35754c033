"""What a code object says of its kernels: AMDGPU metadata notes and symbols."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

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


def _elf(code: bytes) -> ELFFile:
    try:
        return ELFFile(io.BytesIO(code))
    except ELFError as e:
        raise LinkError(f"not a code object: {e}") from None


def metadata(code: bytes) -> dict[str, Any]:
    """The metadata map of a code object. Raises LinkError."""
    for section in _elf(code).iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_name"] == "AMDGPU" and note["n_type"] in (NT_AMDGPU_METADATA, "NT_AMDGPU_METADATA"):
                    raw = note["n_descdata"] if "n_descdata" in note else note["n_desc"]
                    try:
                        result = unpack(raw if isinstance(raw, bytes) else raw.encode("latin-1"))
                    except MsgpackError as e:
                        raise LinkError(str(e)) from None
                    if isinstance(result, dict):
                        return result
    raise LinkError("the code object has no AMDGPU metadata")


def kernels(code: bytes) -> dict[str, KernelMetadata]:
    """The kernels of a code object by name."""
    found = {}
    for k in metadata(code).get("amdhsa.kernels", []):
        name = k[".name"]
        found[name] = KernelMetadata(
            name,
            k.get(".kernarg_segment_size", 0),
            k.get(".group_segment_fixed_size", 0),
            k.get(".private_segment_fixed_size", 0),
            k.get(".vgpr_count", 0),
            k.get(".sgpr_count", 0),
            k.get(".wavefront_size", 0),
            k.get(".max_flat_workgroup_size", 0),
            tuple((a.get(".offset", 0), a.get(".size", 0), a.get(".value_kind", "")) for a in k.get(".args", [])),
        )
    return found


def symbols(code: bytes) -> set[str]:
    """Defined dynamic symbols."""
    section = _elf(code).get_section_by_name(".dynsym")
    if not isinstance(section, SymbolTableSection):
        return set()
    return {s.name for s in section.iter_symbols() if s.name and s["st_shndx"] != "SHN_UNDEF"}


def check(code: bytes, expected: Iterable[str]) -> None:
    """Makes sure that each kernel is there with NAME and NAME.kd: a kernel that LLVM dropped shows only here. Raises LinkError."""
    have, described = symbols(code), kernels(code)
    for name in expected:
        missing = [s for s in (name, f"{name}.kd") if s not in have]
        if missing or name not in described:
            raise LinkError(f"the kernel {name} is missing from the code object: no {', '.join(missing) or 'metadata'}")
