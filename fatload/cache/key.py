"""Names of what the cache keeps: ids of modules and objects (docs/architecture.md)."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent / "native"
"""Folder of libcuda.so.1 in an installation."""


@dataclass(slots=True, frozen=True)
class StoredImage:
    """A chosen image as stored: kind (1 PTX), SM number, flags of its fatbin entry, compression (none, lz4, zstd), bytes of the
    text it unpacks to, the stored bytes."""

    kind: int
    sm: int
    flags: int
    compression: str
    raw_bytes: int
    data: bytes


@cache
def _built_version() -> str:
    try:
        return (native_directory() / "codegen.version").read_text().strip()
    except OSError:
        return "development"


def native_directory() -> Path:
    """Where libcuda.so.1 lies: FATLOAD_HOME, the package's own folder, or that of an installed package."""
    home = os.environ.get("FATLOAD_HOME")
    if home:
        return Path(home)
    if not (NATIVE / "libcuda.so.1").exists():
        import sysconfig

        import fatload

        # The package may come from a checkout (tests do that): the built libraries are then in the installed one.
        installed = [str(Path(sysconfig.get_path(k)) / "fatload") for k in ("platlib", "purelib")]
        for folder in (*fatload.__path__, *installed):
            if (Path(folder) / "native" / "libcuda.so.1").exists():
                return Path(folder) / "native"
    return NATIVE


def codegen_version() -> str:
    """The code generation version: FATLOAD_CODEGEN_VERSION, else what the build wrote down."""
    return os.environ.get("FATLOAD_CODEGEN_VERSION") or _built_version()


def module_id(images: Iterable[StoredImage]) -> str:
    """The id of a module made of these images, in link order."""
    h = hashlib.blake2b(digest_size=32)
    h.update(b"fatload module 1\0" + codegen_version().encode() + b"\0")
    for image in images:
        h.update(struct.pack("<IIQ", image.kind, image.sm, len(image.data)))
        h.update(image.data)
    return h.hexdigest()


def object_id(module: str, kernel: str, target: str, shape: str, options: str = "") -> str:
    """The id of a kernel's object."""
    h = hashlib.blake2b(digest_size=32)
    h.update(b"fatload object 1\0")
    for part in (module, kernel, target, shape, options):
        h.update(part.encode() + b"\0")
    return h.hexdigest()
