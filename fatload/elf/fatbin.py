"""Fatbins: containers of images, reading and writing."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fatload.elf.errors import FatbinError

MAGIC = 0xBA55ED50
WRAPPER_MAGIC = 0x466243B1
HEADER = struct.Struct("<IHHQ")
ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
PTX, ELF, LTO = 1, 2, 8
KINDS = {PTX: "ptx", ELF: "sass", LTO: "lto"}

FLAG_64BIT, FLAG_DEBUG, FLAG_LINUX = 0x1, 0x2, 0x10
FLAG_LZ4, FLAG_ZSTD = 0x2000, 0x8000
FLAG_ARCH, FLAG_FAMILY = 0x100000, 0x200000
LARGEST_RAW = 1 << 30
"""Bytes that an image may unpack to."""
LARGEST_SM = 10000
"""A PTX entry for a number from here on is damaged; it is never chosen."""
_STEP = 1 << 20
_LZ4_RATIO = 255  # the most that LZ4 can stretch a byte to


@dataclass(slots=True, frozen=True)
class Image:
    """One entry of a container. `stored` are its bytes as they lie there (compressed or not), `raw_bytes` what they
    unpack to; `version` is the PTX ISA or ELF version as (major, minor)."""

    kind: str  # ptx, sass, lto
    sm: int
    flags: int
    version: tuple[int, int]
    stored: bytes
    raw_bytes: int
    name: str = ""
    options: str = ""

    @property
    def compression(self) -> str:
        """none, lz4 or zstd."""
        return "zstd" if self.flags & FLAG_ZSTD else "lz4" if self.flags & FLAG_LZ4 else "none"

    @property
    def arch(self) -> str:
        """``sm_90``, ``sm_90a``, ``sm_100f``; PTX: ``compute_90``."""
        suffix = "a" if self.flags & FLAG_ARCH else "f" if self.flags & FLAG_FAMILY else ""
        return f"{'compute' if self.kind == 'ptx' else 'sm'}_{self.sm}{suffix}"

    def raw(self) -> bytes:
        """The unpacked bytes. Raises FatbinError; never unpacks more than the entry states."""
        if self.kind == "lto":
            raise FatbinError("LTO IR cannot be unpacked")
        if self.compression == "none":
            return self.stored
        return unpack(self.compression, self.stored, self.raw_bytes)

    def text(self) -> str:
        """PTX text without its trailing zeros. Raises FatbinError."""
        return self.raw().rstrip(b"\0").decode("utf-8", "replace")


def unpack(how: str, data: bytes, size: int, limit: int = LARGEST_RAW) -> bytes:
    """The `size` bytes that `data` (lz4: a raw block; zstd: a frame) unpacks to. Takes memory for what the data
    really holds, at most `limit` bytes, whatever sizes headers claim. Raises FatbinError."""
    if size > limit:
        raise FatbinError(f"an image of {size} bytes is larger than {limit}")
    out = _zstd(data, size) if how == "zstd" else _lz4(data, size)
    if len(out) != size:
        more = "more than " if len(out) > size else ""
        raise FatbinError(f"{how} data of {more}{min(len(out), size)} bytes where {size} are stated")
    return out


def _zstd(data: bytes, size: int) -> bytes:
    import zstandard

    parts, left = [], size + 1  # one more tells data that is too long
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            while left > 0:
                part = reader.read(min(left, _STEP))
                if not part:
                    break
                parts.append(part)
                left -= len(part)
    except (zstandard.ZstdError, MemoryError) as e:
        raise FatbinError(f"damaged zstd data: {e}") from None
    return b"".join(parts)


def _lz4(data: bytes, size: int) -> bytes:
    import lz4.block

    if size > _LZ4_RATIO * len(data):
        raise FatbinError(f"{len(data)} bytes of LZ4 data cannot hold {size}")
    try:
        return bytes(lz4.block.decompress(data, uncompressed_size=size))
    except (lz4.block.LZ4BlockError, ValueError, OverflowError, MemoryError) as e:
        raise FatbinError(f"damaged LZ4 data: {e}") from None


def read(data: bytes, start: int = 0) -> tuple[list[Image], int]:
    """The images of the container at `start`, and the offset of its end. Raises FatbinError."""
    if len(data) - start < HEADER.size:
        raise FatbinError("cut short in the container's header", start)
    magic, version, head, size = HEADER.unpack_from(data, start)
    if magic != MAGIC:
        raise FatbinError(f"no container (magic {magic:#010x})", start)
    if version != 1 or head < HEADER.size:
        raise FatbinError(f"container version {version} with a header of {head} bytes", start)
    end = start + head + size
    if end > len(data):
        raise FatbinError(f"the container needs {head + size} bytes, {len(data) - start} are there", start)
    images = []
    at = start + head
    while end - at >= ENTRY.size:
        image, at = _entry(data, at, end, start)
        if image is not None:
            images.append(image)
    return images, end


def _entry(data: bytes, at: int, end: int, start: int) -> tuple[Image | None, int]:
    fields = ENTRY.unpack_from(data, at)
    kind, _, head, stored, packed, option, minor, major, sm, name_at, name_size, flags, _, raw = fields
    where = at - start
    if head < ENTRY.size or head > end - at or stored > end - at - head:
        raise FatbinError(f"an entry of {head} + {stored} bytes runs past the container's end", where)
    payload = data[at + head : at + head + stored]
    compressed = flags & (FLAG_LZ4 | FLAG_ZSTD)
    if compressed and packed:
        if packed > stored:
            raise FatbinError(f"{packed} compressed bytes in a payload of {stored}", where)
        payload = payload[:packed]
    name = _block(data, at, head, name_at, name_size).rstrip(b"\0").decode("utf-8", "replace") if name_size else ""
    options = ""
    if option and option + 8 <= head:
        text_at, text_size = struct.unpack_from("<II", data, at + option)
        if kind == PTX:
            options = _block(data, at, head, text_at, text_size).rstrip(b"\0").decode("utf-8", "replace").strip()
    following = at + head + stored
    following += -(head + stored) % 8
    if kind not in KINDS:
        return None, following
    if kind == PTX and not compressed:
        payload = payload.rstrip(b"\0")
    image = Image(KINDS[kind], sm, flags, (major, minor), payload, raw if compressed else len(payload), name, options)
    return image, following


def _block(data: bytes, entry: int, head: int, at: int, size: int) -> bytes:
    return data[entry + at : entry + at + size] if at + size <= head else b""


def write(images: Iterable[Image]) -> bytes:
    """A container of these images. What is stored compressed stays so. PTX always has a block of options, if an empty
    one, as NVIDIA's tools expect."""
    body = bytearray()
    numbers = {v: k for k, v in KINDS.items()}
    for i in images:
        blocks = name = b""
        option_at = name_at = 0
        if i.kind == "ptx":
            option_at = ENTRY.size
            text = i.options.encode()
            blocks += struct.pack("<II", option_at + 8, len(text)) + text + b"\0"
            blocks += bytes(-len(blocks) % 8)
        if i.name:
            name_at = ENTRY.size + len(blocks)
            name = i.name.encode()
            blocks += name + b"\0"
            blocks += bytes(-len(blocks) % 8)
        compressed = i.compression != "none"
        payload = i.stored if compressed or i.kind != "ptx" else i.stored + b"\0"
        padded = payload + bytes(-len(payload) % 8)
        head = ENTRY.size + len(blocks)
        body += ENTRY.pack(
            numbers[i.kind], 0x0101, head, len(padded), len(i.stored) if compressed else 0, option_at,
            i.version[1], i.version[0], i.sm, name_at, len(name), i.flags, 0, i.raw_bytes if compressed else 0,
        )  # fmt: skip
        body += blocks + padded
    return HEADER.pack(MAGIC, 1, HEADER.size, len(body)) + bytes(body)


def ptx_image(text: str, sm: int, compression: str = "none", version: tuple[int, int] = (8, 0)) -> Image:
    """An image of PTX text, compressed as asked (none, lz4, zstd)."""
    raw = text.encode() + b"\0"
    flags = FLAG_64BIT | FLAG_LINUX
    if compression == "zstd":
        import zstandard

        return Image("ptx", sm, flags | FLAG_ZSTD, version, zstandard.ZstdCompressor().compress(raw), len(raw))
    if compression == "lz4":
        import lz4.block

        return Image("ptx", sm, flags | FLAG_LZ4, version, lz4.block.compress(raw, store_size=False), len(raw))
    return Image("ptx", sm, flags, version, raw.rstrip(b"\0"), len(raw) - 1)


def choose(images: Iterable[Image], capability: int) -> Image | None:
    """The PTX to translate for a compute capability (89 for 8.9): the newest it allows, else the oldest newer one;
    architecture-specific PTX only when nothing else is there."""

    def rank(i: Image) -> int:
        base = 0 if i.flags & (FLAG_ARCH | FLAG_FAMILY) else 1_000_000
        return base + (100_000 + i.sm if i.sm <= capability else 50_000 - i.sm)

    candidates = [i for i in images if i.kind == "ptx" and i.sm < LARGEST_SM]
    return max(candidates, key=rank) if candidates else None


def containers(data: bytes) -> Iterator[tuple[int, list[Image]]]:
    """Offsets and images of the containers that lie one behind the other in a section. Raises FatbinError."""
    at = 0
    magic = struct.pack("<I", MAGIC)
    while True:
        at = data.find(magic, at)
        if at < 0:
            return
        images, end = read(data, at)
        yield at, images
        at = end
