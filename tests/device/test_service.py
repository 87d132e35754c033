"""The connection to the service: started on demand, once, as nobody's child, and again after it has left."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from .support import Harness

FAKE = Path(__file__).with_name("fake_service.py")


class Client:
    def __init__(self, harness: Harness, cache: str) -> None:
        self.harness = harness
        self.service = ctypes.c_void_p(harness.lib.t_service(cache.encode()))
        self.socket = Path(harness.text("t_socket_path", self.service))

    def request(self, operation: int, *fields: bytes) -> tuple[bool, int, str]:
        texts = (ctypes.c_char_p * len(fields))(*fields)
        sizes = (ctypes.c_size_t * len(fields))(*map(len, fields))
        result = ctypes.c_uint32()
        message = ctypes.create_string_buffer(1 << 16)
        good = self.harness.lib.t_request(
            self.service, operation, texts, sizes, ctypes.c_size_t(len(fields)), ctypes.byref(result), message,
            ctypes.c_size_t(len(message)),
        )  # fmt: skip
        return bool(good), result.value, message.value.decode()


@pytest.fixture
def starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harness: Harness) -> Iterator[Path]:
    """Makes the interpreter the stand-in; yields the file that records its starts, and ends those processes."""
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    program.chmod(0o755)
    record = tmp_path / "starts"
    record.write_text("")
    monkeypatch.setenv("FATLOAD_PYTHON", str(program))
    monkeypatch.setenv("FAKE_SERVICE_STARTS", str(record))
    yield record
    for pid in record.read_text().split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def test_starts_and_answers(harness: Harness, starts: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    own = str(Path(harness.lib._name).parent)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{own}:/other::{own}/")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    monkeypatch.setenv("PYTHONPATH", "relative:/absolute")
    monkeypatch.chdir(tmp_path)
    os.dup2(1, 77)
    os.set_inheritable(77, True)
    try:
        client = Client(harness, str(harness.cache))
        good, result, message = client.request(3)
    finally:
        os.close(77)
    assert good, message
    assert result == 3
    sees = json.loads(message)
    assert sees["arguments"] == ["-m", "fatload", "serve"]
    assert sees["parent"] != os.getpid()
    assert sees["session"] == sees["pid"]
    assert sees["folder"] == "/"
    assert sees["stdin"] == "/dev/null"
    assert sees["inherited"] == []
    environment = sees["environment"]
    assert "LD_PRELOAD" not in environment and "PYTHONHOME" not in environment
    assert environment["LD_LIBRARY_PATH"] == "/other"
    assert environment["PYTHONPATH"] == f"{tmp_path}/relative:/absolute"
    assert environment["FATLOAD_CACHE_DIR"] == str(harness.cache)
    assert stat.S_IMODE(client.socket.parent.stat().st_mode) == 0o700
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)  # the program has no child that it did not start


def test_one_start_for_many(harness: Harness, starts: Path) -> None:
    clients = [Client(harness, str(harness.cache)) for _ in range(8)]
    answers: list[tuple[bool, int, str]] = []
    threads = [threading.Thread(target=lambda c=c: answers.append(c.request(2, b"x" * 100000))) for c in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(True, 2, "100000 bytes")] * 8
    assert len(starts.read_text().split()) == 1


def test_starts_again_when_it_has_left(harness: Harness, starts: Path) -> None:
    client = Client(harness, str(harness.cache))
    assert client.request(2, b"a")[0]
    os.kill(int(starts.read_text()), signal.SIGKILL)
    assert client.request(2, b"abc") == (True, 2, "3 bytes")
    good, _, message = client.request(2, b"quit")
    assert not good and message == "the translation service ended before it answered"
    assert client.request(2, b"ab") == (True, 2, "2 bytes")


def test_a_failing_interpreter_is_told(harness: Harness, starts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SERVICE_FAILS", "1")
    good, _, message = Client(harness, str(harness.cache)).request(3)
    assert not good
    assert message.endswith("-m fatload serve) ended at once: No module named fatload")


def test_a_missing_interpreter_is_told(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATLOAD_PYTHON", "/no/such/python")
    good, _, message = Client(harness, str(harness.cache)).request(3)
    assert not good
    assert "cannot run /no/such/python" in message and "FATLOAD_PYTHON" in message


def test_folders_open_to_others_are_refused(harness: Harness, tmp_path: Path) -> None:
    (tmp_path / "fatload").mkdir(mode=0o755)
    good, _, message = Client(harness, str(harness.cache)).request(3)
    assert not good
    assert "is not a folder that only this user can enter" in message


@pytest.mark.parametrize(
    "reply",
    [b"", b"FLR1", b"HTTP/1.1 200 OK\r\n\r\n" + bytes(20), b"FLR1" + b"\0\0\0\0" + b"\xff\xff\xff\xff",
     b"FLR1" + bytes(4) + b"\1\0\0\0" + b"\xff\xff\xff\xff"],
)  # fmt: skip
def test_broken_replies(harness: Harness, reply: bytes) -> None:
    client = Client(harness, str(harness.cache))
    client.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(client.socket))
        listener.listen(4)

        def serve() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                connection.recv(100)
                connection.sendall(reply)
                connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        good, _, message = client.request(3)
        assert not good
        assert message == "the translation service ended before it answered"


def test_interpreters(harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the interpreter comes from: FATLOAD_PYTHON, the layout of the installation, the recorded path."""

    def executable(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    def found(native: Path) -> str:
        return harness.text("t_interpreter", str(native).encode())

    native = tmp_path / "venv/lib/python3.11/site-packages/fatload/native"
    native.mkdir(parents=True)
    assert found(native) == "/bin/false"
    monkeypatch.delenv("FATLOAD_PYTHON")
    path = executable(tmp_path / "path/python3")
    monkeypatch.setenv("PATH", str(path.parent))
    assert found(native) == str(path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    recorded = executable(tmp_path / "recorded/python")
    (elsewhere / "python.path").write_text(f"{recorded}\n")
    assert found(elsewhere) == str(recorded)
    generic = executable(tmp_path / "venv/bin/python3")
    assert found(native) == str(generic)
    exact = executable(tmp_path / "venv/bin/python3.11")
    assert found(native) == str(exact)


PTX = b"""
.version 8.3
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<5>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  add.s32 %r2, %r1, 100;
  st.global.u32 [%rd1], %r2;
  ret;
}
"""


def test_the_real_service(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first run translates; a second one needs no Python; errors in the text come back with code and log."""
    monkeypatch.setenv("FATLOAD_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(FAKE.parents[2]))
    client = Client(harness, str(harness.cache))
    try:
        for python in (sys.executable, "/bin/false"):
            monkeypatch.setenv("FATLOAD_PYTHON", python)
            fresh = Harness(harness.lib, harness.cache)
            result, module, log = fresh.load(PTX, check=True)
            assert result == 0, log
            out = (ctypes.c_uint32 * 40)()
            queue = fresh.queue()
            for block in (40, (8, 5)):
                assert fresh.launch(queue, module, 1, block, ctypes.addressof(out).to_bytes(8, "little")) == 0
                assert fresh.synchronize(queue) == 0
                width = block if isinstance(block, int) else block[0]
                assert list(out)[:width] == [100 + i for i in range(width)]
            if python == sys.executable:
                result, _, log = fresh.load(PTX.replace(b"add.s32", b"add.s33"), check=True)
                assert result == 218
                assert "add.s33" in log
                result, _, log = fresh.load(PTX.replace(b"8.3", b"99.0"), check=True)
                assert result == 222, log
                assert client.request(4)[0]
    finally:
        monkeypatch.setenv("FATLOAD_PYTHON", "/bin/false")
        client.request(4)
