"""Clang offload bundles: several code objects in one file, as HIP chooses from them."""

from __future__ import annotations

import struct

from fatload.link.linker import LinkError

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
HOST = "host-x86_64-unknown-linux-gnu--"
PREFIX = "hipv4-amdgcn-amd-amdhsa--"
ALIGN = 4096
_LONGEST_NAME = 4096


def write(objects: dict[str, bytes]) -> bytes:
    """A bundle of code objects by chip (gfx1100 …), behind the empty host entry."""
    entries = [(HOST, b""), *((PREFIX + chip, code) for chip, code in objects.items())]
    head = len(MAGIC) + 8 + sum(24 + len(name) for name, _ in entries)
    at = -(-head // ALIGN) * ALIGN
    table, body = b"", b""
    for name, code in entries:
        body += bytes(-len(body) % ALIGN) if code else b""
        offset = at + len(body)
        table += struct.pack("<QQQ", offset, len(code), len(name)) + name.encode()
        body += code
    start = MAGIC + struct.pack("<Q", len(entries)) + table
    return start + bytes(at - len(start)) + body


def read(data: bytes) -> dict[str, bytes]:
    """The code objects of a bundle by their entry's id. Raises LinkError."""
    if data[: len(MAGIC)] != MAGIC:
        raise LinkError("not an offload bundle")
    try:
        (count,) = struct.unpack_from("<Q", data, len(MAGIC))
        if count > 1024:
            raise LinkError(f"a bundle of {count} entries")
        at = len(MAGIC) + 8
        found, total = {}, 0
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", data, at)
            at += 24
            if length > _LONGEST_NAME:
                raise LinkError(f"an entry with a name of {length} bytes")
            name = data[at : at + length].decode()
            at += length
            if offset + size > len(data):
                raise LinkError(f"the entry {name} lies outside the bundle")
            total += size
            if total > len(data):
                raise LinkError("the entries of the bundle overlap")
            if size:
                found[name] = data[offset : offset + size]
        return found
    except (struct.error, UnicodeDecodeError) as e:
        raise LinkError(f"damaged bundle: {e}") from None
