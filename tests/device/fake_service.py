"""Stands in for `python -m fatload serve`: the protocol of docs/architecture.md, with answers that tests can read.

Run as an interpreter would be: fake_service.py -m fatload serve. A request whose first field is "quit" ends the process
before it answers; "images" wants images; anything else is answered with what the service sees.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import sys
import threading
from pathlib import Path


def receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def what_it_sees() -> str:
    limit = os.sysconf("SC_OPEN_MAX")
    descriptors = [int(name) for name in os.listdir("/proc/self/fd") if int(name) < limit]
    return json.dumps(
        {
            "pid": os.getpid(),
            "parent": os.getppid(),
            "session": os.getsid(0),
            "folder": os.getcwd(),
            "stdin": os.readlink("/proc/self/fd/0"),
            "inherited": [fd for fd in descriptors if fd == 77],
            "environment": {k: v for k, v in os.environ.items() if k.startswith(("LD_", "PYTHON", "FATLOAD_"))},
            "arguments": sys.argv[1:],
        }
    )


def serve(connection: socket.socket) -> None:
    try:
        while True:
            magic, operation, count = struct.unpack("<4sII", receive(connection, 12))
            assert magic == b"FLQ1"
            fields = [receive(connection, struct.unpack("<I", receive(connection, 4))[0]) for _ in range(count)]
            if fields[:1] == [b"quit"]:
                os._exit(0)
            result = 0x7FFFFFFF if fields[:1] == [b"images"] and len(fields) == 1 else operation
            message = what_it_sees().encode() if not fields else b"%d bytes" % sum(map(len, fields))
            connection.sendall(struct.pack("<4sIII", b"FLR1", result, 1, len(message)) + message)
    except (EOFError, ConnectionError):
        connection.close()


def main() -> None:
    if os.environ.get("FAKE_SERVICE_FAILS"):
        sys.exit("No module named fatload")
    cache = os.environ["FATLOAD_CACHE_DIR"]
    version = os.environ["FATLOAD_CODEGEN_VERSION"]
    name = hashlib.blake2b(f"{cache}\0{version}".encode(), digest_size=32).hexdigest()[:16]
    path = Path(os.environ["XDG_RUNTIME_DIR"]) / "fatload" / f"{name}.sock"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        with open(os.environ["FAKE_SERVICE_STARTS"], "a") as starts:
            starts.write(f"{os.getpid()}\n")
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
