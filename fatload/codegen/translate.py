"""From PTX text to what the cache keeps: the entry points of the service and of ``fatload translate``."""

from __future__ import annotations

import io

from fatload.codegen.cpu.abi import ENTRY, OUTSIDE_SYMBOLS
from fatload.codegen.stages import CPU_TARGETS, Translation
from fatload.ptx.model import Unsupported


def translate(text: str, kernel: str, target: str, shape: str) -> tuple[str, bytes]:
    """Translates one kernel.

    Returns the text (lines of tab-separated fields, see docs/architecture.md) and the payload of an object file of the cache.
    Raises PtxError (218, 222, 500) and Unsupported (801).
    """
    t = Translation(text, kernel, target, shape)
    if target not in CPU_TARGETS:
        raise Unsupported(f"the target {target}", kernel=kernel)
    payload = t.get("code")
    check_symbols(payload, kernel)
    assert t.unit is not None
    flags = ",".join(sorted(t.unit.flags)) or "-"
    lines = [
        f"object\t{target}\t{shape}",
        f"kernel\t{kernel}\t{ENTRY}",
        f"resources\t{t.unit.shared.size}\t{t.unit.local_bytes}\t{flags}",
    ]
    return "\n".join(lines) + "\n", payload


def translate_module(text: str, target: str) -> bytes:
    """All kernels of a PTX text as one linked code object for an AMD chip. Raises PtxError, Unsupported, LinkError."""
    from fatload.codegen.amdgcn.module import translate_module as amd

    return amd(text, target)


def check_symbols(payload: bytes, kernel: str) -> None:
    """Refuses an object that names a symbol which no loader of it resolves."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    elf = ELFFile(io.BytesIO(payload))
    symbols = elf.get_section_by_name(".symtab")
    if not isinstance(symbols, SymbolTableSection):
        return
    for s in symbols.iter_symbols():
        if s["st_shndx"] == "SHN_UNDEF" and s.name and s.name not in OUTSIDE_SYMBOLS:
            raise Unsupported(f"code that needs the outside symbol {s.name}", kernel=kernel)
