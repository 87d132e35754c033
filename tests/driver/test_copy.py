"""Copies: every direction, two and three dimensions, asynchronous, out of range."""

from __future__ import annotations

import ctypes
import itertools
import random

import pytest

from .api import INVALID_CONTEXT, INVALID_VALUE, Driver, Out
from .layouts import ARRAY, DEVICE, HOST, UNIFIED, Copy2D, Copy3D

RANDOM = random.Random(5)
DATA = RANDOM.randbytes(1 << 20)


def test_there_and_back(cuda: Driver) -> None:
    for size in (1, 3, 4096, 300_001, 1 << 20):
        a, b = cuda.upload(DATA[:size]), cuda.alloc(size)
        cuda.ok("cuMemcpyDtoD_v2", b, a, size)
        assert cuda.read(b, size) == DATA[:size]
        cuda.ok("cuMemcpy", a, b, size)
        for address in (a, b):
            cuda.ok("cuMemFree_v2", address)


@pytest.mark.parametrize("pinned", [False, True])
def test_asynchronous(cuda: Driver, pinned: bool) -> None:
    """From and to pageable memory, which the caller may use again at once, and page-locked memory."""
    size, stream = len(DATA), cuda.stream()
    buffers = [ctypes.create_string_buffer(size) for _ in range(2)]
    addresses = [cuda.get("cuMemHostAlloc", size, 0) if pinned else ctypes.addressof(b) for b in buffers]
    a, b = cuda.alloc(size), cuda.alloc(size)
    ctypes.memmove(addresses[0], DATA, size)
    cuda.ok("cuMemcpyHtoDAsync_v2", a, addresses[0], size, stream)
    if not pinned:
        ctypes.memset(addresses[0], 0, size)
    cuda.ok("cuMemcpyDtoDAsync_v2", b, a, size, stream)
    cuda.ok("cuMemcpyAsync", a, b, size, stream)
    cuda.ok("cuMemcpyDtoHAsync_v2", addresses[1], a, size, stream)
    cuda.ok("cuStreamSynchronize", stream)
    assert ctypes.string_at(addresses[1], size) == DATA


def test_any_direction_by_address(cuda: Driver) -> None:
    """cuMemcpy finds out by itself what is where."""
    size = 1000
    device, pinned = cuda.alloc(size), cuda.get("cuMemHostAlloc", size, 0)
    plain = ctypes.create_string_buffer(DATA[:size], size)
    cuda.ok("cuMemcpy", device, ctypes.addressof(plain), size)
    cuda.ok("cuMemcpy", pinned, device, size)
    assert ctypes.string_at(pinned, size) == DATA[:size]
    ctypes.memset(plain, 0, size)
    cuda.ok("cuMemcpy", ctypes.addressof(plain), pinned, size)
    assert plain.raw == DATA[:size]


def test_out_of_range(cuda: Driver) -> None:
    host = ctypes.create_string_buffer(8192)
    device, other = cuda.alloc(4096), cuda.alloc(4096)
    for offset, size in ((0, 4097), (4095, 2), (1, 4096), (0, (1 << 64) - 1), (16, (1 << 64) - 8), (16, 1 << 63)):
        at = device + offset
        for name, *arguments in (
            ("cuMemcpyHtoD_v2", at, host, size),
            ("cuMemcpyDtoH_v2", host, at, size),
            ("cuMemcpyDtoD_v2", at, other, size),
            ("cuMemcpyDtoD_v2", other, at, size),
            ("cuMemcpyHtoDAsync_v2", at, host, size, 0),
            ("cuMemcpyDtoHAsync_v2", host, at, size, 0),
            ("cuMemcpyDtoDAsync_v2", other, at, size, 0),
            ("cuMemcpy", at, other, size),
            ("cuMemsetD8_v2", at, 0, size),
            ("cuMemsetD8Async", at, 0, size, 0),
        ):
            assert cuda.call(str(name), *arguments) == INVALID_VALUE, (name, offset, size)


def test_wild_and_null(cuda: Driver) -> None:
    host, device = ctypes.create_string_buffer(64), cuda.alloc(64)
    for wild in (0, 0x1234, ctypes.addressof(host)):
        assert cuda.call("cuMemcpyDtoD_v2", wild, device, 16) == INVALID_VALUE
        assert cuda.call("cuMemcpyDtoD_v2", device, wild, 16) == INVALID_VALUE
        assert cuda.call("cuMemcpyHtoD_v2", wild, host, 16) == INVALID_VALUE
        assert cuda.call("cuMemcpyDtoH_v2", host, wild, 16) == INVALID_VALUE
    assert cuda.call("cuMemcpyHtoD_v2", device, None, 16) == INVALID_VALUE
    assert cuda.call("cuMemcpyDtoH_v2", None, device, 16) == INVALID_VALUE
    for name in ("cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemcpy"):
        cuda.ok(name, 0, 0, 0)
    cuda.ok("cuMemFree_v2", device)
    assert cuda.call("cuMemcpyHtoD_v2", device, host, 16) == INVALID_VALUE


def test_peer(cuda: Driver) -> None:
    """Between two contexts of one device."""
    first = cuda.get("cuCtxGetCurrent")
    a = cuda.upload(DATA[:5000])
    second = cuda.get("cuCtxCreate_v2", 0, 0)
    b = cuda.alloc(5000)
    cuda.ok("cuMemcpyPeer", b, second, a, first, 5000)
    assert cuda.read(b, 5000) == DATA[:5000]
    cuda.ok("cuMemsetD8_v2", b, 0, 5000)
    cuda.ok("cuMemcpyPeerAsync", b, second, a, first, 5000, 0)
    assert cuda.read(b, 5000) == DATA[:5000]
    assert cuda.call("cuMemcpyPeer", b, second, a, first, 5001) == INVALID_VALUE
    assert cuda.call("cuMemcpyPeer", b, 0, a, first, 5000) == INVALID_CONTEXT
    cuda.ok("cuCtxDestroy_v2", second)


def expected_3d(source: bytes, target: bytes, c: Copy3D) -> bytes:
    """What the copy leaves in the target's bytes, by its definition."""
    out = bytearray(target)
    for z, y in itertools.product(range(c.depth), range(c.height)):
        at = ((c.src_z + z) * c.src_height + c.src_y + y) * c.src_pitch + c.src_x
        to = ((c.dst_z + z) * c.dst_height + c.dst_y + y) * c.dst_pitch + c.dst_x
        out[to : to + c.width] = source[at : at + c.width]
    return bytes(out)


@pytest.mark.parametrize("kinds", list(itertools.product((HOST, DEVICE, UNIFIED), repeat=2)))
@pytest.mark.parametrize("name", ["cuMemcpy3D_v2", "cuMemcpy3DAsync_v2"])
def test_three_dimensions(cuda: Driver, kinds: tuple[int, int], name: str) -> None:
    source, target = DATA[:6000], b"t" * 7000
    c = Copy3D(
        src_x=3, src_y=2, src_z=1, src_pitch=40, src_height=12, dst_x=5, dst_y=1, dst_z=2, dst_pitch=50, dst_height=9,
        width=33, height=7, depth=4,
    )  # fmt: skip
    host_source = ctypes.create_string_buffer(source, len(source))
    host_target = ctypes.create_string_buffer(target, len(target))
    device_source, device_target = cuda.upload(source), cuda.upload(target)
    c.source(kinds[0], ctypes.addressof(host_source) if kinds[0] == HOST else device_source)
    c.target(kinds[1], ctypes.addressof(host_target) if kinds[1] == HOST else device_target)
    cuda.ok(name, ctypes.byref(c), *([0] if "Async" in name else []))
    cuda.synchronize()
    got = host_target.raw if kinds[1] == HOST else cuda.read(device_target, len(target))
    assert got == expected_3d(source, target, c)


@pytest.mark.parametrize("name", ["cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2", "cuMemcpy2DAsync_v2"])
@pytest.mark.parametrize("kinds", list(itertools.product((HOST, DEVICE, UNIFIED), repeat=2)))
def test_two_dimensions(cuda: Driver, kinds: tuple[int, int], name: str) -> None:
    source, target = DATA[:3000], b"t" * 4000
    c = Copy2D(src_x=7, src_y=3, src_pitch=90, dst_x=11, dst_y=2, dst_pitch=128, width=80, height=20)
    host_source = ctypes.create_string_buffer(source, len(source))
    host_target = ctypes.create_string_buffer(target, len(target))
    device_source, device_target = cuda.upload(source), cuda.upload(target)
    c.source(kinds[0], ctypes.addressof(host_source) if kinds[0] == HOST else device_source)
    c.target(kinds[1], ctypes.addressof(host_target) if kinds[1] == HOST else device_target)
    cuda.ok(name, ctypes.byref(c), *([0] if "Async" in name else []))
    cuda.synchronize()
    out = bytearray(target)
    for y in range(20):
        out[(2 + y) * 128 + 11 : (2 + y) * 128 + 91] = source[(3 + y) * 90 + 7 : (3 + y) * 90 + 87]
    assert (host_target.raw if kinds[1] == HOST else cuda.read(device_target, len(target))) == bytes(out)


def test_two_dimensions_out_of_range(cuda: Driver) -> None:
    a, b = cuda.alloc(1000), cuda.alloc(1000)

    def copy(**changes: int) -> int:
        c = Copy2D(**{"src_pitch": 100, "dst_pitch": 100, "width": 100, "height": 10, **changes})
        c.source(DEVICE, a)
        c.target(DEVICE, b)
        return cuda.call("cuMemcpy2D_v2", ctypes.byref(c))

    assert copy() == 0
    assert copy(height=0) == 0
    assert copy(width=0) == 0
    huge = 1 << 63
    for wrong in (
        {"height": 11}, {"src_y": 1}, {"dst_y": 1}, {"src_x": 1}, {"dst_x": 1}, {"src_pitch": 99}, {"dst_pitch": 99},
        {"height": huge}, {"width": huge}, {"src_pitch": huge, "height": 3}, {"dst_pitch": huge, "height": 3},
        {"src_y": huge}, {"dst_y": (1 << 64) - 1}, {"src_x": (1 << 64) - 1}, {"height": 1 << 62, "src_pitch": 1 << 62},
    ):  # fmt: skip
        assert copy(**wrong) == INVALID_VALUE, wrong
    assert cuda.call("cuMemcpy2D_v2", None) == INVALID_VALUE
    c = Copy2D(src_pitch=10, dst_pitch=10, width=10, height=1)
    c.source(77, a)
    c.target(DEVICE, b)
    assert cuda.call("cuMemcpy2D_v2", ctypes.byref(c)) == INVALID_VALUE


def test_three_dimensions_out_of_range(cuda: Driver) -> None:
    a, b = cuda.alloc(1000), cuda.alloc(1000)

    def copy(**changes: int) -> int:
        c = Copy3D(
            **{"src_pitch": 10, "dst_pitch": 10, "src_height": 10, "dst_height": 10, "width": 10, "height": 10}
            | {"depth": 10, **changes}
        )
        c.source(DEVICE, a)
        c.target(DEVICE, b)
        return cuda.call("cuMemcpy3D_v2", ctypes.byref(c))

    assert copy() == 0
    assert copy(depth=0) == 0
    huge = 1 << 63
    for wrong in (
        {"depth": 11}, {"src_z": 1}, {"dst_z": 1}, {"src_x": 1}, {"src_pitch": 9}, {"dst_pitch": 9}, {"src_height": 9},
        {"dst_height": 9}, {"src_height": huge, "depth": 3}, {"depth": huge}, {"src_z": huge}, {"dst_z": (1 << 64) - 1},
        {"src_pitch": 1 << 32, "src_height": 1 << 32}, {"depth": 1 << 60, "height": 16},
    ):  # fmt: skip
        assert copy(**wrong) == INVALID_VALUE, wrong
    assert cuda.call("cuMemcpy3D_v2", None) == INVALID_VALUE


@pytest.mark.parametrize("name", ["cuMemcpy3DPeer", "cuMemcpy3DPeerAsync"])
def test_three_dimensions_between_contexts(cuda: Driver, name: str) -> None:
    context = cuda.get("cuCtxGetCurrent")
    a, b = cuda.upload(DATA[:1000]), cuda.alloc(1000)
    c = Copy3D(src_pitch=10, dst_pitch=10, src_height=10, dst_height=10, width=10, height=10, depth=10)
    c.source(DEVICE, a)
    c.target(DEVICE, b)
    c.src_context = c.dst_context = context
    cuda.ok(name, ctypes.byref(c), *([0] if "Async" in name else []))
    assert cuda.read(b, 1000) == DATA[:1000]


def test_arrays_are_refused(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    """There are no CUDA arrays yet; a copy says so."""
    c = Copy2D(src_pitch=10, dst_pitch=10, width=10, height=1)
    c.source(ARRAY, 0)
    c.target(DEVICE, cuda.alloc(100))
    assert cuda.call("cuMemcpy2D_v2", ctypes.byref(c)) == 801
    assert "CUDA arrays" in capfd.readouterr().err


def test_a_copy_in_overlapping_memory_does_not_crash(cuda: Driver) -> None:
    address = cuda.upload(DATA[:100_000])
    cuda.ok("cuMemcpyDtoD_v2", address + 1, address, 99_999)
    assert len(cuda.read(address, 100_000)) == 100_000
    out = Out()
    assert cuda.call("cuMemcpyDtoH_v2", out, address, 0) == 0
