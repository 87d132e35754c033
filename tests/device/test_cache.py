"""Hashes, identities and cache files against Python; damaged files count as absent."""

from __future__ import annotations

import ctypes
import hashlib
import os
import random
from pathlib import Path

import pytest

from .support import Harness, Kernels, cache_bytes, module_id, object_id


def c_hash(harness: Harness, data: bytes, step: int) -> str:
    out = ctypes.create_string_buffer(65)
    harness.lib.t_blake2b(data, ctypes.c_size_t(len(data)), ctypes.c_size_t(step), out)
    return out.value.decode()


@pytest.mark.parametrize("size", [0, 1, 63, 64, 127, 128, 129, 255, 256, 257, 1000, 100000])
def test_blake2b(harness: Harness, size: int) -> None:
    data = random.Random(size).randbytes(size)
    expected = hashlib.blake2b(data, digest_size=32).hexdigest()
    for step in (1 if size <= 1000 else 997, 64, 128, 129, size + 1):
        assert c_hash(harness, data, step) == expected


def test_identities(harness: Harness) -> None:
    out = ctypes.create_string_buffer(65)
    harness.lib.t_module_id(b"image\0bytes", ctypes.c_size_t(11), out)
    assert out.value.decode() == module_id(b"image\0bytes")
    harness.lib.t_object_id(b"ab" * 32, b"kernel", b"x86-64-v3", b"row", out)
    assert out.value.decode() == object_id("ab" * 32, "kernel", "x86-64-v3", "row")


@pytest.mark.parametrize(
    ("setting", "xdg", "home", "expected"),
    [
        ("/a/b/", "/x", "/h", "/a/b"),
        (None, "/x", "/h", "/x/fatload"),
        (None, "relative", "/h", "/h/.cache/fatload"),
        (None, None, "/h", "/h/.cache/fatload"),
        ("", "", "/h/", "/h/.cache/fatload"),
        ("/a//b/./c/../d/.", None, "/h", "/a/b/c/../d"),
        ("/", None, "/h", "/"),
    ],
)
def test_directory(
    harness: Harness,
    monkeypatch: pytest.MonkeyPatch,
    setting: str | None,
    xdg: str | None,
    home: str,
    expected: str,
) -> None:
    for name, value in (("FATLOAD_CACHE_DIR", setting), ("XDG_CACHE_HOME", xdg), ("HOME", home)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert harness.text("t_cache_directory") == expected


def test_relative_directory(harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATLOAD_CACHE_DIR", "some/where")
    assert harness.text("t_cache_directory") == f"{os.getcwd()}/some/where"


@pytest.mark.parametrize("setting", ["/a/b", "/a//b/", "/a/./b/../c", "relative/./x", "."])
def test_python_and_cpp_agree(harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, setting: str) -> None:
    """The same folder, the same socket, the same names of modules and objects."""
    from fatload.cache import key, store
    from fatload.service.protocol import socket_path

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FATLOAD_CACHE_DIR", setting)
    folder = harness.text("t_cache_directory")
    assert folder == str(store.default_directory())
    service = ctypes.c_void_p(harness.lib.t_service(folder.encode()))
    assert harness.text("t_socket_path", service) == str(socket_path(store.default_directory()))
    image = key.StoredImage(1, 75, 0, "none", 5, b"bytes")
    out = ctypes.create_string_buffer(65)
    harness.lib.t_module_id(b"bytes", ctypes.c_size_t(5), out)
    assert out.value.decode() == key.module_id([image])
    harness.lib.t_object_id(b"m", b"k\xc3\xa4", b"x86-64-v4", b"any", out)
    assert out.value.decode() == key.object_id("m", "kä", "x86-64-v4", "any")


def test_files_of_the_store(harness: Harness, tmp_path: Path) -> None:
    from fatload.cache.store import Store

    keeper = Store(tmp_path / "store")
    identity = "ab" * 32
    keeper.write(identity, "object", "text\n", b"payload")
    handle = harness.lib.t_read_cache(str(tmp_path / "store").encode(), identity.encode(), 2)
    assert handle
    harness.lib.t_close_cache(ctypes.c_void_p(handle))
    assert not harness.lib.t_read_cache(str(tmp_path / "store").encode(), identity.encode(), 1)


def parse(harness: Harness, data: bytes, kind: int) -> tuple[bytes, bytes] | None:
    handle = harness.lib.t_parse_cache(data, ctypes.c_size_t(len(data)), kind)
    if not handle:
        return None
    parts = []
    for payload in (0, 1):
        at = ctypes.c_void_p()
        size = harness.lib.t_cache_part(ctypes.c_void_p(handle), payload, ctypes.byref(at))
        parts.append(ctypes.string_at(at.value, size) if size else b"")
    harness.lib.t_close_cache(ctypes.c_void_p(handle))
    return parts[0], parts[1]


@pytest.mark.parametrize("text", ["", "a", "x" * 64, "y" * 65, "grüße\n"])
@pytest.mark.parametrize("payload", [b"", b"p", bytes(1000)])
def test_files(harness: Harness, text: str, payload: bytes) -> None:
    data = cache_bytes("object", text, payload)
    assert parse(harness, data, 2) == (text.encode(), payload)
    assert parse(harness, data, 1) is None
    assert parse(harness, data + b"\0", 2) is None


def test_damaged_files_count_as_absent(harness: Harness) -> None:
    data = cache_bytes("object", "object\tx86-64-v3\trow\n", b"payload" * 20)
    padding = range(64 + 21, 128)
    for size in range(len(data)):
        assert parse(harness, data[:size], 2) is None
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x40
        if at not in padding:
            assert parse(harness, bytes(damaged), 2) is None, at


@pytest.mark.parametrize(
    "text",
    [
        "",
        "module\t83\t75\t0\n",
        "module\t83\t75\t-1\t16\n",
        "module\t83\t75\t8\t3\n",
        "module\t83\t75\t99999999999999999999\t16\n",
        "module\t83\t75\t99999999999999\t16\n",
        "module\t83\t75\t8\t16\nkernel\tk\t8\t4:8\t0\t0\t0\t0,0,0\n",
        "module\t83\t75\t8\t16\nkernel\tk\t8\t0\t0\t0\t0\t0,0,0\n",
        "module\t83\t75\t8\t16\nkernel\tk\t8\t-\t0\t0\t0\t0,0\n",
        "module\t83\t75\t8\t16\nvariable\tv\tglobal\t4\t8\t4\n",
        "module\t83\t75\t8\t16\nvariable\tv\tglobal\t18446744073709551615\t8\t4\n",
        "module\t83\t75\t8\t16\nvariable\tv\tshared\t0\t8\t4\n",
        "module\t83\t75\t8\t16\nrelocation\t1\t8\tdata\t0\n",
        "module\t83\t75\t8\t16\nrelocation\t0\t4\tdata\t0\n",
        "module\t83\t75\t8\t16\nrelocation\t0\t8\tdata\tx\n",
    ],
)
def test_bad_manifests(harness: Harness, text: str) -> None:
    data = cache_bytes("manifest", text, b"")
    handle = harness.lib.t_parse_cache(data, ctypes.c_size_t(len(data)), 1)
    assert handle
    assert harness.text("t_parse_manifest", ctypes.c_void_p(handle))


def test_more_initial_bytes_than_data(harness: Harness) -> None:
    data = cache_bytes("manifest", "module\t83\t75\t8\t16\n", bytes(9))
    handle = harness.lib.t_parse_cache(data, ctypes.c_size_t(len(data)), 1)
    assert harness.text("t_parse_manifest", ctypes.c_void_p(handle)) == "a module's manifest is inconsistent"


def test_unknown_lines_are_skipped(harness: Harness) -> None:
    data = cache_bytes("manifest", "future\t1\nmodule\t83\t75\t8\t16\textra\n", b"")
    handle = harness.lib.t_parse_cache(data, ctypes.c_size_t(len(data)), 1)
    assert harness.text("t_parse_manifest", ctypes.c_void_p(handle)) == ""


def test_data_block(harness: Harness, kernels: Kernels) -> None:
    """Initial bytes, zeros behind them, addresses of the block and numbers of functions."""
    extra = "relocation\t8\t8\tdata\t24\nrelocation\t16\t8\tfunction\t3\nrelocation\t24\t8\tdata\t-8\n"
    harness.install(b"data", kernels.code("  ret void"), data=b"\1\2\3", data_bytes=40, extra=extra)
    result, module, _ = harness.load(b"data")
    assert result == 0
    at = harness.lib.t_data(module)
    assert at % 512 == 0
    block = ctypes.string_at(at, 40)
    words = [int.from_bytes(block[i : i + 8], "little") for i in range(0, 40, 8)]
    assert words == [0x030201, at + 24, 3, at - 8, 0]


def test_no_service_and_no_cache_is_an_error(harness: Harness) -> None:
    result, module, log = harness.load(b"nothing cached")
    assert result == 999 and not module
    assert "/bin/false" in log


@pytest.mark.parametrize("damage", ["absent", "truncated", "flipped", "not an object"])
def test_damaged_objects_are_errors(
    harness: Harness, kernels: Kernels, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    identity = harness.install(b"damage", kernels.code("  ret void"))
    for shape in ("row", "any"):
        path = harness.cache / "v1"
        name = object_id(identity, "k", "x86-64-v3", shape)
        path = path / name[:2] / f"{name}.object"
        data = path.read_bytes()
        text = "object\tx86-64-v3\trow\nkernel\tk\tfatload_kernel\nresources\t0\t0\t-\n"
        path.write_bytes(
            {
                "absent": b"",
                "truncated": data[:-1],
                "flipped": data[:-1] + bytes([data[-1] ^ 1]),
                "not an object": cache_bytes("object", text, b"text"),
            }[damage]
        )
    result, module, log = harness.load(b"damage")
    assert result == 0, log
    assert harness.launch(harness.queue(), module, 1, 32) == (200 if damage == "not an object" else 999)
    assert "kernel k" in capfd.readouterr().err


def test_look_up_of_targets_and_shapes(harness: Harness, kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warps in a row take the `row` object, other shapes never do; `any` serves all when there is no service."""
    number = "  store i32 {}, ptr %out\n  ret void"
    code = {n: kernels.code(number.format(n)) for n in (1, 2)}
    harness.install(b"shapes", code[1], param_bytes=8, shapes=("row",))
    harness.install(b"shapes", code[2], param_bytes=8, shapes=("any",))
    harness.install(b"only any", code[2], param_bytes=8, shapes=("any",))
    harness.install(b"only row", code[1], param_bytes=8, shapes=("row",))
    out = ctypes.c_int(0)
    params = ctypes.addressof(out).to_bytes(8, "little")

    def run(image: bytes, block: tuple[int, int]) -> int:
        _, module, _ = harness.load(image)
        queue = harness.queue()
        out.value = 0
        result = harness.launch(queue, module, 1, block, params)
        assert harness.synchronize(queue) == 0
        return result or out.value

    assert run(b"shapes", (48, 1)) == 1
    assert run(b"shapes", (64, 4)) == 1
    assert run(b"shapes", (16, 16)) == 2
    assert run(b"only any", (32, 1)) == 2
    assert run(b"only row", (16, 16)) == 999


def test_targets(
    harness: Harness, kernels: Kernels, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FATLOAD_CPU_TARGET", "x86-64-v2")
    harness.install(b"target", kernels.code("  ret void"))
    result, _, log = harness.load(b"target")
    assert result == 209
    assert "FATLOAD_CPU_TARGET=x86-64-v2 is not a target that this processor runs" in log
    assert log in capfd.readouterr().err


@pytest.mark.parametrize(("setting", "threads"), [("3", 3), ("0", None), ("many", None), ("", None)])
def test_threads(harness: Harness, monkeypatch: pytest.MonkeyPatch, setting: str, threads: int | None) -> None:
    monkeypatch.setenv("FATLOAD_CPU_THREADS", setting)
    found = harness.lib.t_multiprocessors(harness.device)
    if threads:
        assert found == threads
    else:
        assert 1 <= found <= len(os.sched_getaffinity(0))


def test_a_module_may_go_while_its_kernel_is_queued(harness: Harness, kernels: Kernels) -> None:
    code = kernels.code("  %v = load i32, ptr %module\n  store i32 %v, ptr %out\n  ret void")
    module = harness.module(b"gone", code, flags="yield", param_bytes=8, data=b"\x2a", data_bytes=1 << 21)
    queue = harness.queue()
    out = ctypes.c_int(0)
    for _ in range(20):
        assert harness.launch(queue, module, 100, 32, ctypes.addressof(out).to_bytes(8, "little")) == 0
    harness.lib.t_unload(module)
    assert harness.synchronize(queue) == 0
    assert out.value == 42
