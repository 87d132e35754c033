"""Where a module's variables lie in its data block, and the numbers of its functions: the same for every kernel of the module."""

from __future__ import annotations

from dataclasses import dataclass, field

from fatload.ptx.model import SIZES, Address, PtxError, Variable
from fatload.ptx.reader import module_variables
from fatload.ptx.scan import Scan, scan


@dataclass(slots=True, frozen=True)
class Relocation:
    """An 8-byte (or narrower) slot of the data block: ``data`` (address of the block + addend) or ``function`` (the addend)."""

    offset: int
    bytes: int
    kind: str
    addend: int


@dataclass(slots=True)
class ModuleLayout:
    """`offsets` of `.global` and `.const` variables in bytes, the block's `size` and `align`, its initial `image` (trailing zeros
    left out), `relocations`, and `functions`: numbers from 1 of all device functions, in the order of the text."""

    offsets: dict[str, int] = field(default_factory=dict)
    size: int = 0
    align: int = 256
    image: bytes = b""
    relocations: list[Relocation] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)


def layout(text: str | bytes | Scan) -> ModuleLayout:
    """Lays out a module. Raises PtxError for bad declarations and for addresses of names that do not exist."""
    s = text if isinstance(text, Scan) else scan(text)
    result = ModuleLayout()
    result.functions = {name: k + 1 for k, name in enumerate(n for n, i in s.functions().items() if i.kind == "func")}
    declared = module_variables(s)
    for v in declared.values():
        if v.space not in ("global", "const") or v.linkage == "extern":
            continue
        align = max(v.align, 1)
        result.align = max(result.align, align)
        result.size = -(-result.size // align) * align
        result.offsets[v.name] = result.size
        result.variables[v.name] = v
        result.size += v.size
    image = bytearray()
    for name, offset in result.offsets.items():
        _initialise(result, declared, declared[name], offset, image)
    result.image = bytes(image.rstrip(b"\0"))
    return result


def _initialise(
    result: ModuleLayout, declared: dict[str, Variable], v: Variable, offset: int, image: bytearray
) -> None:
    if not v.init:
        return
    size = SIZES[v.type]
    if len(v.init) * size > v.size:
        raise PtxError(f"{v.name}: {len(v.init)} initial values for {v.size // size} elements", v.line, 0, v.name)
    if not any(isinstance(x, Address) or x for x in v.init):
        return
    end = offset + v.size
    if len(image) < end:
        image.extend(bytes(end - len(image)))
    at = offset
    for x in v.init:
        if isinstance(x, Address):
            _relocate(result, declared, v, x, at, size, image)
        else:
            image[at : at + size] = x.to_bytes(size, "little")
        at += size


def _relocate(
    result: ModuleLayout, declared: dict[str, Variable], v: Variable, x: Address, at: int, size: int, image: bytearray
) -> None:
    if x.name in result.functions:
        value = result.functions[x.name] + x.offset
        if x.mask is not None:
            value = _masked(value, x.mask)
        image[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        return
    if x.name in result.offsets:
        if x.mask is not None:
            # One byte of an address: the whole slot is relocated by its first byte's entry.
            if x.mask != 0xFF:
                return
            size = 8
        result.relocations.append(Relocation(at, size, "data", result.offsets[x.name] + x.offset))
        return
    other = declared.get(x.name)
    if other is not None and other.space == "shared":
        raise PtxError(
            f"{v.name}: the address of the shared variable {x.name} as an initial value is not supported", v.line
        )
    raise PtxError(f"{v.name}: {x.name} is not defined", v.line, 0, x.name)


def _masked(value: int, mask: int) -> int:
    shift = (mask & -mask).bit_length() - 1
    return (value & mask) >> shift
