"""The cache: content-addressed files, written whole or not at all, checked when read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

MAGIC = b"FATLOAD\x01"
KINDS = {"manifest": 1, "object": 2, "images": 3}
HEADER = struct.Struct("<8sIIQ32sQ")
_NAME = re.compile(r"([0-9a-f]{64})\.(manifest|object|images)\Z")
_TEMPORARY = re.compile(r"\.tmp-(\d+)-")
STALE_SECONDS = 3600


def default_directory() -> Path:
    """FATLOAD_CACHE_DIR, else ``fatload`` in the user's cache folder; absolute."""
    named = os.environ.get("FATLOAD_CACHE_DIR")
    return Path(named).absolute() if named else Path(platformdirs.user_cache_dir("fatload", appauthor=False))


def pack(kind: str, text: str, payload: bytes) -> bytes:
    """The bytes of a cache file."""
    head = text.encode()
    digest = hashlib.blake2b(head + payload, digest_size=32).digest()
    padding = -(HEADER.size + len(head)) % 64
    return HEADER.pack(MAGIC, KINDS[kind], len(head), len(payload), digest, 0) + head + bytes(padding) + payload


def unpack(kind: str, data: bytes) -> tuple[str, bytes] | None:
    """Text and payload of a cache file; None when it is damaged."""
    if len(data) < HEADER.size:
        return None
    magic, number, n, m, digest, _ = HEADER.unpack_from(data)
    start = HEADER.size + n
    start += -start % 64
    if magic != MAGIC or number != KINDS[kind] or start + m != len(data):
        return None
    head, payload = data[HEADER.size : HEADER.size + n], data[start : start + m]
    if hashlib.blake2b(head + payload, digest_size=32).digest() != digest:
        return None
    try:
        return head.decode(), payload
    except UnicodeDecodeError:
        return None


@dataclass(slots=True, frozen=True)
class Entry:
    """A file of the cache: id, kind, path, bytes, time of the last use (seconds since 1970)."""

    id: str
    kind: str
    path: Path
    bytes: int
    used: float


class Store:
    """A cache directory. Several processes may use it at once, and any of them may be killed at any time."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or default_directory()
        self.root = self.directory / "v1"

    def path(self, id_: str, kind: str) -> Path:
        """Where a file is or would be."""
        return self.root / id_[:2] / f"{id_}.{kind}"

    def read(self, id_: str, kind: str) -> tuple[str, bytes] | None:
        """Text and payload; None when absent or damaged."""
        try:
            data = self.path(id_, kind).read_bytes()
        except OSError:
            return None
        return unpack(kind, data)

    def write(self, id_: str, kind: str, text: str, payload: bytes) -> None:
        """Writes a file under a temporary name and renames it. Raises OSError when that fails; nothing is left behind then."""
        path = self.path(id_, kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".tmp-{os.getpid()}-{time.monotonic_ns()}")
        try:
            with open(temporary, "xb") as f:
                f.write(pack(kind, text, payload))
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def entries(self) -> Iterator[Entry]:
        """All files."""
        for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]")):
            for path in sorted(folder.iterdir()):
                m = _NAME.match(path.name)
                if m is None:
                    continue
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                yield Entry(m[1], m[2], path, status.st_size, max(status.st_atime, status.st_mtime))

    def sweep(self) -> int:
        """Removes what killed writers left: temporary files of processes that are gone, or that are old. Returns how many."""
        removed = 0
        for path in self.root.glob("[0-9a-f][0-9a-f]/.tmp-*"):
            m = _TEMPORARY.match(path.name)
            with contextlib.suppress(OSError):
                old = time.time() - path.stat().st_mtime > STALE_SECONDS
                if old or (m is not None and not _alive(int(m[1]))):
                    path.unlink()
                    removed += 1
        return removed

    def verify(self, remove: bool = False) -> tuple[int, list[Entry]]:
        """How many files are sound, and which are damaged (removed on request)."""
        good, bad = 0, []
        for e in self.entries():
            if self.read(e.id, e.kind) is not None:
                good += 1
                continue
            bad.append(e)
            if remove:
                e.path.unlink(missing_ok=True)
        return good, bad

    def prune(self, limit: int) -> tuple[int, int]:
        """Removes the files used longest ago until `limit` bytes are left. Returns files and bytes removed."""
        entries = sorted(self.entries(), key=lambda e: e.used)
        total = sum(e.bytes for e in entries)
        files = freed = 0
        for e in entries:
            if total - freed <= limit:
                break
            e.path.unlink(missing_ok=True)
            files += 1
            freed += e.bytes
        return files, freed

    def clear(self) -> int:
        """Removes everything. Returns how many files there were."""
        count = 0
        for e in list(self.entries()):
            e.path.unlink(missing_ok=True)
            count += 1
        self.sweep()
        for folder in self.root.glob("[0-9a-f][0-9a-f]"):
            with contextlib.suppress(OSError):
                folder.rmdir()
        return count


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def parse_size(text: str) -> int:
    """Bytes of ``500M``, ``2G``, ``1048576``. Raises ValueError."""
    m = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)i?[bB]?", text.strip())
    if m is None:
        raise ValueError(f"{text!r} is not a size such as 500M or 2G")
    return int(float(m[1]) * 1024 ** " kmgt".index(m[2].lower() or " "))
