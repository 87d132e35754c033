"""Launches: geometry, shared memory, both ways to hand parameters over, attributes of a launch."""

from __future__ import annotations

import ctypes
import itertools
import struct

import pytest

from .api import COOPERATIVE_TOO_LARGE, INVALID_HANDLE, INVALID_VALUE, Driver, Out, three
from .kernels import KERNELS

BUFFER_POINTER, BUFFER_SIZE = 1, 2


@pytest.fixture
def module(cuda: Driver) -> int:
    return cuda.load(KERNELS)


def test_every_thread_runs_once(cuda: Driver, module: int) -> None:
    iota = cuda.function(module, "iota")
    for grid, block in ((1, 1), (1, 33), (3, 1024), (1000, 1), (7, 100)):
        n = grid * block
        out = cuda.alloc(4 * n + 4)
        cuda.ok("cuMemsetD8_v2", out, 0xFF, 4 * n + 4)
        assert cuda.launch(iota, grid, block, ctypes.c_uint64(out), ctypes.c_uint32(n)) == 0
        assert struct.unpack(f"<{n + 1}I", cuda.read(out, 4 * n + 4)) == (*range(n), 0xFFFFFFFF)


def test_shapes(cuda: Driver, module: int) -> None:
    out = cuda.alloc(24)
    shape = cuda.function(module, "shape")
    for grid, block in (((2, 3, 4), (5, 6, 7)), (1, (1, 1, 64)), ((1, 65535), 1), ((1, 1, 65535), 1), (1, (1, 1024))):
        assert cuda.launch(shape, grid, block, ctypes.c_uint64(out)) == 0
        assert struct.unpack("<6I", cuda.read(out, 24)) == three(grid) + three(block)


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        (0, 1), ((1, 0), 1), ((1, 1, 0), 1), (1, 0), (1, (1, 0)), (1, (1, 1, 0)), (1, 1025), (1, (1, 1025)),
        (1, (1, 1, 65)), (1, (33, 32)), (1, (1024, 1024, 64)), (1 << 31, 1), ((1, 65536), 1), ((1, 1, 65536), 1),
    ],
)  # fmt: skip
def test_wrong_shapes(cuda: Driver, module: int, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    out = cuda.alloc(64)
    function, argument = cuda.function(module, "shape"), ctypes.c_uint64(out)
    assert cuda.launch(function, grid, block, argument) == INVALID_VALUE
    cuda.synchronize()  # the context is as good as before
    assert cuda.launch(function, 1, 1, argument) == 0
    cuda.synchronize()


def test_bounds_of_the_kernel(cuda: Driver, module: int) -> None:
    bounded, out = cuda.function(module, "bounded"), ctypes.c_uint64(cuda.alloc(4))
    assert cuda.launch(bounded, 1, 128, out) == 0
    assert cuda.launch(bounded, 1, (4, 4, 8), out) == 0
    assert cuda.launch(bounded, 1, 129, out) == INVALID_VALUE
    required = cuda.function(module, "required")
    assert cuda.launch(required, 1, (8, 4)) == 0
    for block in ((8, 4, 2), (4, 8), 32, 1):
        assert cuda.launch(required, 1, block) == INVALID_VALUE
    cuda.synchronize()


def test_handles(cuda: Driver, module: int) -> None:
    required = cuda.function(module, "required")
    assert cuda.launch(0, 1, 32) == INVALID_HANDLE
    assert cuda.launch(required, 1, (8, 4), stream=0x1234_5678) == INVALID_HANDLE
    for stream in (0, 1, 2):
        assert cuda.launch(required, 1, (8, 4), stream=stream) == 0
    cuda.ok("cuLaunchKernel", required, 1, 1, 1, 8, 4, 1, 0, 0, None, None)  # no parameters, no pointers
    iota = cuda.function(module, "iota")
    assert cuda.call("cuLaunchKernel", iota, 1, 1, 1, 8, 1, 1, 0, 0, None, None) == INVALID_VALUE
    cuda.synchronize()


def test_shared_memory(cuda: Driver, module: int) -> None:
    """48 KiB for everybody, more only for who asks for it."""
    last, out = cuda.function(module, "last_shared_word"), cuda.alloc(8)

    def launch(size: int) -> int:
        """Writes and reads the last word of `size` bytes."""
        cuda.ok("cuMemsetD8_v2", out, 0, 8)
        code = cuda.launch(last, 1, 1, ctypes.c_uint64(out), ctypes.c_uint32(size - 4), shared=size)
        if code == 0:
            assert struct.unpack("<2I", cuda.read(out, 8)) == (77, size)
        cuda.synchronize()
        return code

    plain, most = cuda.attribute(8), cuda.attribute(97)
    assert plain == 49152 < most
    assert [launch(s) for s in (4, 1000, plain)] == [0, 0, 0]
    assert [launch(s) for s in (plain + 4, most, 1 << 30)] == [INVALID_VALUE] * 3
    cuda.ok("cuFuncSetAttribute", last, 8, 65536)
    assert [launch(s) for s in (plain + 4, 65536, 65540, most)] == [0, 0, INVALID_VALUE, INVALID_VALUE]
    cuda.ok("cuFuncSetAttribute", last, 8, most)
    assert [launch(s) for s in (most, most + 4)] == [0, INVALID_VALUE]
    cuda.ok("cuFuncSetAttribute", last, 8, 1024)
    assert [launch(s) for s in (1024, 1028)] == [0, INVALID_VALUE]


def test_static_shared_memory_counts(cuda: Driver, module: int) -> None:
    bounded, out = cuda.function(module, "bounded"), ctypes.c_uint64(cuda.alloc(4))
    assert cuda.launch(bounded, 1, 1, out, shared=48 * 1024 - 1024) == 0
    assert cuda.launch(bounded, 1, 1, out, shared=48 * 1024 - 1020) == INVALID_VALUE
    cuda.synchronize()


ARGUMENTS = (
    ctypes.c_uint8(200), ctypes.c_uint16(50_000), ctypes.c_uint64(), ctypes.c_float(1.5),
    (ctypes.c_uint8 * 20)(*range(20)), ctypes.c_uint32(0xCAFE),
)  # fmt: skip
SEEN = (200, 50_000, 0x3FC00000, 0x07060504, 0x13121110, 0xCAFE)


def test_parameters_by_pointer(cuda: Driver, module: int) -> None:
    out = cuda.alloc(24)
    arguments = [ctypes.c_uint64(out) if isinstance(a, ctypes.c_uint64) else a for a in ARGUMENTS]
    assert cuda.launch(cuda.function(module, "parameters"), 1, 1, *arguments) == 0
    assert struct.unpack("<6I", cuda.read(out, 24)) == SEEN


def test_parameters_are_taken_at_the_call(cuda: Driver, module: int) -> None:
    out, n = cuda.alloc(4096), ctypes.c_uint32(1024)
    address = ctypes.c_uint64(out)
    cuda.ok("cuMemsetD8_v2", out, 0, 4096)
    assert cuda.launch(cuda.function(module, "iota"), 4, 256, address, n) == 0
    address.value, n.value = 0, 0
    assert struct.unpack("<1024I", cuda.read(out, 4096)) == tuple(range(1024))


def extra(buffer: bytes, size: int | None = None) -> tuple[object, ...]:
    """The list of a launch with a parameter buffer, and what must stay alive."""
    data, length = (
        ctypes.create_string_buffer(buffer, len(buffer)),
        ctypes.c_size_t(len(buffer) if size is None else size),
    )
    items = (BUFFER_POINTER, ctypes.addressof(data), BUFFER_SIZE, ctypes.addressof(length), 0)
    return (ctypes.c_uint64 * 5)(*items), data, length


def test_parameters_in_a_buffer(cuda: Driver, module: int) -> None:
    out = cuda.alloc(24)
    buffer = bytearray(b"\xee" * 56)
    for offset, argument in zip((0, 2, 8, 16, 32, 52), ARGUMENTS, strict=True):
        raw = struct.pack("<Q", out) if isinstance(argument, ctypes.c_uint64) else bytes(argument)
        buffer[offset : offset + len(raw)] = raw
    function = cuda.function(module, "parameters")
    listing, *alive = extra(bytes(buffer))
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, 0, None, listing)
    assert struct.unpack("<6I", cuda.read(out, 24)) == SEEN
    # Both ways at once.
    pointers = (ctypes.c_void_p * 6)(*(ctypes.addressof(a) for a in ARGUMENTS))
    assert cuda.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, 0, pointers, listing) == INVALID_VALUE
    # Too short a buffer, a list with an unknown word.
    short, *kept = extra(bytes(buffer), 40)
    assert cuda.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, 0, None, short) == INVALID_VALUE
    unknown = (ctypes.c_uint64 * 3)(77, 0, 0)
    assert cuda.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, 0, None, unknown) == INVALID_VALUE
    cuda.synchronize()
    del alive, kept


def test_with_a_configuration(cuda: Driver, module: int) -> None:
    """cuLaunchKernelEx: seven words, a stream, attributes."""
    out = cuda.alloc(24)
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(argument := ctypes.c_uint64(out)))
    shape = cuda.function(module, "shape")
    stream = cuda.stream()
    config = struct.pack("<7I4xQQI4x", 2, 1, 1, 32, 2, 1, 0, stream, 0, 0)
    cuda.ok("cuLaunchKernelEx", config, shape, pointers, None)
    cuda.ok("cuStreamSynchronize", stream)
    assert struct.unpack("<6I", cuda.read(out, 24)) == (2, 1, 1, 32, 2, 1)
    cooperative = ctypes.create_string_buffer(struct.pack("<I4xI", 2, 1), 72)
    config = struct.pack("<7I4xQQI4x", 2, 1, 1, 8, 1, 1, 0, 0, ctypes.addressof(cooperative), 1)
    cuda.ok("cuLaunchKernelEx", config, shape, pointers, None)
    assert struct.unpack("<6I", cuda.read(out, 24)) == (2, 1, 1, 8, 1, 1)
    assert cuda.call("cuLaunchKernelEx", None, shape, pointers, None) == INVALID_VALUE
    wrong = struct.pack("<7I4xQQI4x", 0, 1, 1, 8, 1, 1, 0, 0, 0, 0)
    assert cuda.call("cuLaunchKernelEx", wrong, shape, pointers, None) == INVALID_VALUE
    del argument


def test_cooperative(cuda: Driver, module: int) -> None:
    """All blocks must fit on the device at the same time."""
    out = ctypes.c_uint64(cuda.alloc(24))
    shape = cuda.function(module, "shape")
    fits = Out()
    cuda.ok("cuOccupancyMaxActiveBlocksPerMultiprocessor", fits, shape, 256, 0)
    most = fits.value * cuda.attribute(16)

    def launch(grid: int) -> int:
        pointers = (ctypes.c_void_p * 1)(ctypes.addressof(out))
        return cuda.call("cuLaunchCooperativeKernel", shape, grid, 1, 1, 256, 1, 1, 0, 0, pointers)

    assert launch(1) == 0
    assert launch(most) == 0
    assert launch(most + 1) == COOPERATIVE_TOO_LARGE
    cuda.synchronize()


def test_launches_of_many_threads(cuda: Driver, module: int) -> None:
    """The library's own locks: eight threads launch and copy at the same time."""
    import threading

    context, iota = cuda.get("cuCtxGetCurrent"), cuda.function(module, "iota")
    wrong: list[str] = []

    def work(which: int) -> None:
        try:
            cuda.ok("cuCtxSetCurrent", context)
            stream = cuda.stream(which % 2)
            n = 1000 + which
            out = cuda.alloc(4 * n)
            for _ in range(20):
                assert cuda.launch(iota, 8, 256, ctypes.c_uint64(out), ctypes.c_uint32(n), stream=stream) == 0
            cuda.ok("cuStreamSynchronize", stream)
            assert struct.unpack(f"<{n}I", cuda.read(out, 4 * n)) == tuple(range(n))
            cuda.ok("cuMemFree_v2", out)
            cuda.ok("cuStreamDestroy_v2", stream)
        except AssertionError as e:
            wrong.append(str(e))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_all_shapes_count_alike(cuda: Driver, module: int) -> None:
    address = Out()
    cuda.ok("cuModuleGetGlobal_v2", address, None, module, b"counter")
    expected = 42
    for grid, block in itertools.product(((3, 2), (1, 1, 5)), ((8, 3, 2), (31,), (32, 4))):
        assert cuda.launch(cuda.function(module, "count"), grid, block) == 0
        threads = 1
        for n in (*grid, *block):
            threads *= n
        expected += threads
    assert cuda.read(address.value, 8) == struct.pack("<Q", expected)
