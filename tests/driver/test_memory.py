"""Allocations: sizes, wrong and second frees, pitch, page-locked and registered host memory, what a pointer is."""

from __future__ import annotations

import ctypes
import itertools

import pytest

from .api import (
    ALREADY_REGISTERED,
    INVALID_VALUE,
    NOT_FOUND,
    NOT_REGISTERED,
    OUT_OF_MEMORY,
    Driver,
    Out,
)

CONTEXT, MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, BUFFER_ID, IS_MANAGED, ORDINAL = 1, 2, 3, 4, 7, 8, 9
RANGE_START, RANGE_SIZE, MAPPED = 11, 12, 13
HOST, DEVICE = 1, 2


def test_sizes(cuda: Driver) -> None:
    assert cuda.call("cuMemAlloc_v2", Out(), 0) == INVALID_VALUE
    assert cuda.call("cuMemAlloc_v2", None, 16) == INVALID_VALUE
    for size in (1 << 50, (1 << 64) - 1, (1 << 64) - 512, 1 << 63):
        assert cuda.call("cuMemAlloc_v2", Out(), size) == OUT_OF_MEMORY, hex(size)
    blocks = {size: cuda.alloc(size) for size in (1, 255, 256, 257, 4096, 1 << 20, (1 << 22) + 1)}
    spans = sorted((address, address + size) for size, address in blocks.items())
    assert all(address % 256 == 0 for address, _ in spans)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    for size, address in blocks.items():
        cuda.write(address + size - 1, b"!")
        assert cuda.read(address + size - 1, 1) == b"!"
        cuda.ok("cuMemFree_v2", address)


def test_frees(cuda: Driver) -> None:
    address = cuda.alloc(64)
    cuda.ok("cuMemFree_v2", 0)
    for wrong in (address + 4, 0x1234, (1 << 64) - 1):
        assert cuda.call("cuMemFree_v2", wrong) == INVALID_VALUE
    cuda.ok("cuMemFree_v2", address)
    assert cuda.call("cuMemFree_v2", address) == INVALID_VALUE
    host = cuda.get("cuMemHostAlloc", 64, 0)
    assert cuda.call("cuMemFree_v2", host) == INVALID_VALUE
    address = cuda.alloc(64)
    assert cuda.call("cuMemFreeHost", address) == INVALID_VALUE
    cuda.ok("cuMemFreeHost", host)
    assert cuda.call("cuMemFreeHost", host) == INVALID_VALUE


def test_info(cuda: Driver) -> None:
    def info() -> tuple[int, int]:
        free, total = Out(), Out()
        cuda.ok("cuMemGetInfo_v2", free, total)
        return free.value, total.value

    free, total = info()
    assert 0 < free <= total
    size = 256 << 20
    address = cuda.alloc(size)
    cuda.ok("cuMemsetD8_v2", address, 1, size)
    assert info()[1] == total
    assert free - info()[0] > size * 3 // 4  # others use memory, too
    cuda.ok("cuMemFree_v2", address)
    assert abs(free - info()[0]) < size // 2


@pytest.mark.parametrize("element", [4, 8, 16])
def test_pitch(cuda: Driver, element: int) -> None:
    for width, height in ((1, 1), (100, 10), (512, 3), (513, 3), (4000, 2)):
        address, pitch = Out(), Out()
        cuda.ok("cuMemAllocPitch_v2", address, pitch, width, height, element)
        assert pitch.value >= width and pitch.value % 256 == 0
        size = Out()
        cuda.ok("cuMemGetAddressRange_v2", None, size, address.value)
        assert size.value >= pitch.value * height
        cuda.ok("cuMemFree_v2", address.value)
    for width, height in ((0, 1), (1, 0)):
        assert cuda.call("cuMemAllocPitch_v2", Out(), Out(), width, height, element) == INVALID_VALUE
    assert cuda.call("cuMemAllocPitch_v2", Out(), None, 1, 1, element) == INVALID_VALUE
    assert cuda.call("cuMemAllocPitch_v2", Out(), Out(), 1 << 40, 1 << 40, element) in (INVALID_VALUE, OUT_OF_MEMORY)
    assert cuda.call("cuMemAllocPitch_v2", Out(), Out(), 100, 10, 5) == INVALID_VALUE


def test_managed(cuda: Driver) -> None:
    assert cuda.call("cuMemAllocManaged", Out(), 0, 1) == INVALID_VALUE
    for flags in (0, 3, 4):
        assert cuda.call("cuMemAllocManaged", Out(), 64, flags) == INVALID_VALUE
    address = cuda.get("cuMemAllocManaged", 4096, 1)
    cuda.ok("cuMemsetD32_v2", address, 0x01020304, 1024)
    cuda.synchronize()
    assert ctypes.string_at(address, 4096) == b"\4\3\2\1" * 1024
    ctypes.memset(address, 9, 8)
    assert cuda.read(address, 8) == b"\t" * 8
    assert cuda.get("cuPointerGetAttribute", IS_MANAGED, address) == 1
    cuda.ok("cuMemFree_v2", address)
    assert cuda.call("cuMemFree_v2", address) == INVALID_VALUE


def test_address_range(cuda: Driver) -> None:
    address = cuda.alloc(1000)
    for offset in (0, 1, 999):
        start, size = Out(), Out()
        cuda.ok("cuMemGetAddressRange_v2", start, size, address + offset)
        assert (start.value, size.value) == (address, 1000)
    assert cuda.call("cuMemGetAddressRange_v2", Out(), Out(), 0x1234) == NOT_FOUND
    cuda.ok("cuMemGetAddressRange_v2", None, None, address)
    cuda.ok("cuMemFree_v2", address)
    assert cuda.call("cuMemGetAddressRange_v2", Out(), Out(), address) == NOT_FOUND


def test_host_memory(cuda: Driver) -> None:
    assert cuda.call("cuMemHostAlloc", None, 64, 0) == INVALID_VALUE
    assert cuda.call("cuMemHostAlloc", Out(), 64, 1 << 10) == INVALID_VALUE
    assert cuda.call("cuMemHostAlloc", Out(), 1 << 50, 0) == OUT_OF_MEMORY
    for flags in range(8):
        address = cuda.get("cuMemHostAlloc", 5000, flags)
        ctypes.memset(address, 0x5A, 5000)
        seen = Out()
        cuda.ok("cuMemHostGetFlags", seen, address)
        assert seen.value & 5 == flags & 5
        on_device = cuda.get("cuMemHostGetDevicePointer_v2", address + 10, 0)
        assert cuda.read(on_device, 16) == b"Z" * 16
        assert cuda.call("cuMemHostGetDevicePointer_v2", Out(), address, 1) == INVALID_VALUE
        cuda.ok("cuMemFreeHost", address)
    address = cuda.get("cuMemAllocHost_v2", 64)
    cuda.ok("cuMemFreeHost", address)
    device = cuda.alloc(64)
    assert cuda.call("cuMemHostGetFlags", Out(), device) == INVALID_VALUE
    assert cuda.call("cuMemHostGetDevicePointer_v2", Out(), device, 0) == INVALID_VALUE
    plain = ctypes.create_string_buffer(64)
    assert cuda.call("cuMemHostGetFlags", Out(), ctypes.addressof(plain)) == INVALID_VALUE
    assert cuda.call("cuMemHostGetDevicePointer_v2", Out(), ctypes.addressof(plain), 0) == INVALID_VALUE


def test_registering(cuda: Driver) -> None:
    memory = ctypes.create_string_buffer(b"r" * 32768)
    start = (ctypes.addressof(memory) + 4095) // 4096 * 4096

    def register(offset: int, size: int) -> int:
        return cuda.call("cuMemHostRegister_v2", start + offset, size, 0)

    assert cuda.call("cuMemHostRegister_v2", 0, 64, 0) == INVALID_VALUE
    assert register(0, 0) == INVALID_VALUE
    assert cuda.call("cuMemHostRegister_v2", start, 64, 1 << 10) == INVALID_VALUE
    assert register(8192, 4096) == 0
    for offset, size in ((8192, 4096), (4096, 8192), (8192, 12288), (4096, 16384), (10000, 16)):
        assert register(offset, size) == ALREADY_REGISTERED, (offset, size)
    assert register(0, 8192) == 0
    assert cuda.get("cuMemHostGetDevicePointer_v2", start + 100, 0) == start + 100
    assert cuda.read(start + 100, 4) == b"rrrr"
    assert cuda.call("cuMemHostUnregister", start + 4096) == NOT_REGISTERED  # not where it begins
    assert cuda.call("cuMemFreeHost", start) == INVALID_VALUE
    for offset in (0, 8192):
        cuda.ok("cuMemHostUnregister", start + offset)
        assert cuda.call("cuMemHostUnregister", start + offset) == NOT_REGISTERED
    host = cuda.get("cuMemHostAlloc", 4096, 0)
    assert cuda.call("cuMemHostUnregister", host) == NOT_REGISTERED
    cuda.ok("cuMemFreeHost", host)
    assert register(0, 16384) == 0
    cuda.ok("cuMemHostUnregister", start)


def attribute(cuda: Driver, number: int, pointer: int) -> int:
    return cuda.get("cuPointerGetAttribute", number, pointer)


def test_pointer_attributes(cuda: Driver) -> None:
    context = cuda.get("cuCtxGetCurrent")
    device, host = cuda.alloc(1000), cuda.get("cuMemHostAlloc", 1000, 0)
    managed = cuda.get("cuMemAllocManaged", 1000, 1)
    kinds = {device: (DEVICE, 0), host: (HOST, 0), managed: (DEVICE, 1)}
    for pointer, (kind, is_managed) in kinds.items():
        assert attribute(cuda, MEMORY_TYPE, pointer + 7) == kind
        assert attribute(cuda, IS_MANAGED, pointer + 7) == is_managed
        assert attribute(cuda, CONTEXT, pointer + 7) == context
        assert attribute(cuda, ORDINAL, pointer + 7) == 0
        assert attribute(cuda, DEVICE_POINTER, pointer + 7) == pointer + 7
        assert attribute(cuda, MAPPED, pointer + 7) == 1
        assert attribute(cuda, RANGE_START, pointer + 7) == pointer
        assert attribute(cuda, RANGE_SIZE, pointer + 7) == 1000
    for pointer in (host, managed):
        assert attribute(cuda, HOST_POINTER, pointer + 7) == pointer + 7
    assert cuda.call("cuPointerGetAttribute", Out(), HOST_POINTER, device) == INVALID_VALUE
    assert len({attribute(cuda, BUFFER_ID, p) for p in kinds}) == 3
    assert attribute(cuda, BUFFER_ID, device) == attribute(cuda, BUFFER_ID, device + 999)
    for wrong in (0, 1000, -1):
        assert cuda.call("cuPointerGetAttribute", Out(), wrong, device) == INVALID_VALUE
    assert cuda.call("cuPointerGetAttribute", None, MEMORY_TYPE, device) == INVALID_VALUE
    plain = ctypes.create_string_buffer(64)
    for unknown in (ctypes.addressof(plain), 0x1234):
        assert cuda.call("cuPointerGetAttribute", Out(), MEMORY_TYPE, unknown) == INVALID_VALUE


def test_many_attributes_at_once(cuda: Driver) -> None:
    """The form that the runtime uses: memory that the driver does not know is no error here."""
    numbers = (ctypes.c_int * 4)(MEMORY_TYPE, ORDINAL, DEVICE_POINTER, IS_MANAGED)

    def ask(pointer: int) -> list[int]:
        outs = [Out() for _ in numbers]
        slots = (ctypes.c_void_p * 4)(*(ctypes.addressof(o) for o in outs))
        cuda.ok("cuPointerGetAttributes", 4, numbers, slots, pointer)
        return [outs[0].value, outs[1].signed, outs[2].value, outs[3].value]

    device = cuda.alloc(64)
    assert ask(device + 3) == [DEVICE, 0, device + 3, 0]
    plain = ctypes.create_string_buffer(64)
    assert ask(ctypes.addressof(plain)) == [0, -2, 0, 0]
    wrong = (ctypes.c_int * 1)(1000)
    slot = (ctypes.c_void_p * 1)(ctypes.addressof(Out()))
    assert cuda.call("cuPointerGetAttributes", 1, wrong, slot, device) == INVALID_VALUE


def test_memory_in_stream_order(cuda: Driver) -> None:
    stream = cuda.stream()
    address = cuda.get("cuMemAllocAsync", 4096, stream)
    cuda.ok("cuMemsetD8Async", address, 7, 4096, stream)
    to = ctypes.create_string_buffer(4096)
    cuda.ok("cuMemcpyDtoHAsync_v2", to, address, 4096, stream)
    cuda.ok("cuMemFreeAsync", address, stream)
    cuda.ok("cuStreamSynchronize", stream)
    assert to.raw == b"\7" * 4096
    assert cuda.call("cuMemFreeAsync", 0x1234, stream) == INVALID_VALUE
    address = cuda.get("cuMemAllocAsync", 64, stream)
    cuda.ok("cuStreamSynchronize", stream)
    cuda.ok("cuMemFree_v2", address)
