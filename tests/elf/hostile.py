"""Files made to cost a reader dearly, and damaged copies of sound ones."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import zstandard

from . import layout

EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1)
MIB = 1 << 20


def mutants(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """Damaged copies: flipped bits, extreme numbers in fields, cuts, pieces moved or repeated. Headers, which lie at the
    beginning and (ELF's section headers) at the end, are hit as often as all the rest."""
    r = random.Random(seed)

    def place() -> int:
        window = min(len(data), 4096)
        return r.choice((r.randrange(window), len(data) - 1 - r.randrange(window), r.randrange(len(data))))

    for _ in range(count):
        out = bytearray(data)
        for _ in range(r.choice((1, 1, 2, 8))):
            at = place()
            match r.randrange(6):
                case 0:
                    out[at % len(out)] ^= 1 << r.randrange(8)
                case 1 | 2:
                    size = r.choice((1, 2, 4, 8))
                    at = at // size * size
                    out[at : at + size] = (r.choice(EXTREMES) & (1 << 8 * size) - 1).to_bytes(size, "little")
                case 3:
                    del out[max(at, 1) :]
                case 4:
                    out[at:at] = out[place() :][: r.randrange(1, 256)]
                case 5:
                    del out[at : at + r.randrange(1, 64)]
            if not out:
                out = bytearray(data[:1])
        yield bytes(out)


def container(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", layout.MAGIC, 1, 16, len(body)) + body


def entry(kind: int, payload: bytes, flags: int, raw: int, packed: int | None = None) -> bytes:
    """An entry without blocks of options and names."""
    padded = payload + bytes(-len(payload) % 8)
    packed = len(payload) if packed is None else packed
    head = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(padded), packed, 0, 3, 8, 75, 0, 0, flags, 0, raw)
    return head + padded


def zeros(size: int) -> bytes:
    """A zstd frame of so many zeros that does not say how many."""
    compressor = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    parts = [compressor.compress(bytes(MIB)) for _ in range(size // MIB)]
    return b"".join(parts) + compressor.flush()


def elf(machine: int, sections: list[tuple[int, int, int, int]], strings: int, body: bytes) -> bytes:
    """An ELF file: header, section headers (name, type, offset, size) behind an empty first one, then `body`. Offsets
    count from the start of `body`. `strings` is the number of the section with the names."""
    start = 64 + 64 * (len(sections) + 1)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, 64, 0, 64, 56, 0, 64, len(sections) + 1, strings)
    table = bytes(64)
    for name, kind, offset, size in sections:
        table += struct.pack("<IIQQQQIIQQ", name, kind, 0, 0x1000, start + offset, size, 0, 0, 1, 24)
    return head + table + body


def costly() -> dict[str, bytes]:
    """Files of at most a few MiB that a careless reader pays for with gigabytes or hours."""
    names = b"\0.nv_fatbin\0"
    body = names + bytes(MIB - len(names))
    bomb, honest = zeros(512 * MIB), zeros(8 * MIB)
    member = b"%-16s%-12s%-6s%-6s%-8s%-10d`\n"
    archive = b"!<arch>\n" + member % (b"//", b"0", b"0", b"0", b"0", MIB) + b"n" * MIB
    archive += (member % (b"/0", b"0", b"0", b"0", b"0", 4) + b"\x7fELF") * 10000
    bundle = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1000)
    bundle += (struct.pack("<QQQ", 0, 4 * MIB, 4) + b"gfx9") * 1000
    symbols = struct.pack("<IBBHQQ", 1, 0x12, 0x10, 1, 0, 0) * 40000
    cubin_names = b"\0" + b"k" * MIB + b"\0.symtab\0.strtab\0"
    cubin = [(MIB + 2, 2, len(cubin_names), len(symbols)), (MIB + 10, 3, 0, len(cubin_names))]
    return {
        "sections that all hold the whole file": elf(62, [(1, 1, 0, MIB)] * 20000, 1, body),
        "one long name for all sections": elf(62, [(0, 3, 0, MIB)] + [(0, 1, 0, 0)] * 20000, 1, b"n" * MIB),
        "more sections than bytes": elf(62, [(1, 1, 0, 16)], 1, body)[:60] + b"\xff\xff" + bytes(200),
        "one long name for all symbols": elf(190, cubin, 2, cubin_names + symbols),
        "a bomb that says what it is": container(entry(1, bomb, layout.ZSTD, 1 << 40)),
        "a bomb that says less": container(entry(1, bomb, layout.ZSTD, MIB)),
        "a bomb that says more": container(entry(1, honest, layout.ZSTD, 1 << 30)),
        "many bombs": container(*[entry(1, bomb, layout.ZSTD, MIB)] * 100),
        "a frame with a window of 2 GiB": container(
            entry(1, b"\x28\xb5\x2f\xfd\x00\xa8" + bytes(40), layout.ZSTD, 1 << 20)
        ),
        "a frame that says 2^60": container(
            entry(1, b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 60) + bytes(40), layout.ZSTD, 1 << 20)
        ),
        "LZ4 that says 1 GiB": container(entry(1, b"\x1f\x41\x01\x00" + b"\xff" * 60, layout.LZ4, 1 << 30)),
        "LZ4 that says 2^63": container(entry(2, b"\x10A", layout.LZ4, 1 << 63)),
        "payloads longer than all memory": container(entry(1, bytes(64), layout.ZSTD, 100, 2**32 - 1)),
        "an archive with one long name": archive,
        "a bundle whose entries overlap": bundle + bytes(8 * MIB - len(bundle)),
        "comments without end": b"/*" + b"/**/" * MIB + b".version",
        "blank PTX": b".version 8.3\n.target sm_75\n" + b"{" * MIB,
    }
