"""The service's protocol: framing of requests and replies (docs/architecture.md)."""

from __future__ import annotations

import hashlib
import os
import socket
import struct
from dataclasses import dataclass, field
from pathlib import Path

from fatload.cache.key import StoredImage, codegen_version

REQUEST, REPLY = b"FLQ1", b"FLR1"
MANIFEST, OBJECT, PING, STOP = 1, 2, 3, 4
NEED_IMAGES = 0x7FFFFFFF
LARGEST_FIELD = 0xFFFFFFFF
MOST_FIELDS = 4096


@dataclass(slots=True)
class Reply:
    """An answer: CUresult (0: done), a message for people, the JIT log."""

    result: int
    message: str = ""
    log: str = ""
    fields: list[bytes] = field(default_factory=list)


def socket_folder() -> Path:
    """``$XDG_RUNTIME_DIR/fatload``, or ``/tmp/fatload-UID`` where there is no such folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and os.access(runtime, os.W_OK | os.X_OK):
        return Path(runtime) / "fatload"
    return Path(f"/tmp/fatload-{os.getuid()}")


def socket_path(cache: Path) -> Path:
    """The socket of the service for a cache directory and this code generation version."""
    name = hashlib.blake2b(f"{cache}\0{codegen_version()}".encode(), digest_size=32).hexdigest()[:16]
    return socket_folder() / f"{name}.sock"


def receive_exactly(connection: socket.socket, count: int) -> bytes:
    """`count` bytes. Raises EOFError when the peer is gone."""
    parts: list[bytes] = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def receive_request(connection: socket.socket) -> tuple[int, list[bytes]]:
    """Operation and fields. Raises EOFError, ValueError."""
    magic, operation, count = struct.unpack("<4sII", receive_exactly(connection, 12))
    if magic != REQUEST or count > MOST_FIELDS:
        raise ValueError("not a request")
    fields = []
    for _ in range(count):
        (size,) = struct.unpack("<I", receive_exactly(connection, 4))
        fields.append(receive_exactly(connection, size))
    return operation, fields


def send_reply(connection: socket.socket, reply: Reply) -> None:
    """Sends an answer."""
    fields = [reply.message.encode(), reply.log.encode(), *reply.fields]
    data = struct.pack("<4sII", REPLY, reply.result, len(fields))
    connection.sendall(data + b"".join(struct.pack("<I", len(f)) + f for f in fields))


def request(connection: socket.socket, operation: int, fields: list[bytes]) -> Reply:
    """Sends a request and waits for the answer."""
    data = struct.pack("<4sII", REQUEST, operation, len(fields))
    connection.sendall(data + b"".join(struct.pack("<I", len(f)) + f for f in fields))
    magic, result, count = struct.unpack("<4sII", receive_exactly(connection, 12))
    if magic != REPLY:
        raise ValueError("not a reply")
    got = []
    for _ in range(count):
        (size,) = struct.unpack("<I", receive_exactly(connection, 4))
        got.append(receive_exactly(connection, size))
    texts = [f.decode("utf-8", "replace") for f in got[:2]] + ["", ""]
    return Reply(result, texts[0], texts[1], got)


def image_fields(images: list[StoredImage]) -> list[bytes]:
    """Images as the fields of a request."""
    fields = []
    for i in images:
        fields += [f"{i.kind} {i.sm} {i.flags} {i.compression} {i.raw_bytes}".encode(), i.data]
    return fields


def parse_images(fields: list[bytes]) -> list[StoredImage]:
    """The images of a request. Raises ValueError."""
    if len(fields) % 2:
        raise ValueError("an image without its bytes")
    images = []
    for head, data in zip(fields[::2], fields[1::2], strict=True):
        kind, sm, flags, compression, raw = head.decode().split()
        if compression not in ("none", "lz4", "zstd"):
            raise ValueError(f"unknown compression {compression}")
        images.append(StoredImage(int(kind), int(sm), int(flags), compression, int(raw), data))
    return images
