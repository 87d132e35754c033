"""Functions: attributes, parameters, occupancy."""

from __future__ import annotations

import ctypes

import pytest

from .api import INVALID_HANDLE, INVALID_VALUE, Driver, Out
from .kernels import KERNELS

MAX_THREADS, SHARED, CONST, LOCAL, REGISTERS, PTX_VERSION, BINARY_VERSION, CACHE, MAX_DYNAMIC, CARVEOUT = range(10)


@pytest.fixture
def module(cuda: Driver) -> int:
    return cuda.load(KERNELS)


def get(cuda: Driver, function: int, attribute: int) -> int:
    out = Out()
    cuda.ok("cuFuncGetAttribute", out, attribute, function)
    return out.signed


def test_attributes(cuda: Driver, module: int) -> None:
    iota, bounded = cuda.function(module, "iota"), cuda.function(module, "bounded")
    assert (get(cuda, iota, MAX_THREADS), get(cuda, bounded, MAX_THREADS)) == (1024, 128)
    assert (get(cuda, iota, SHARED), get(cuda, bounded, SHARED)) == (0, 1024)
    assert get(cuda, iota, CONST) == 16
    assert get(cuda, iota, LOCAL) == 0
    assert 0 < get(cuda, iota, REGISTERS) <= 255
    assert get(cuda, iota, PTX_VERSION) == 75  # the .target of the text
    assert get(cuda, iota, BINARY_VERSION) == 10 * cuda.attribute(75) + cuda.attribute(76)
    assert get(cuda, iota, CACHE) == 0
    assert (get(cuda, iota, MAX_DYNAMIC), get(cuda, bounded, MAX_DYNAMIC)) == (49152, 49152 - 1024)
    assert get(cuda, iota, CARVEOUT) == -1
    assert get(cuda, cuda.function(module, "required"), MAX_THREADS) == 32
    for wrong in (-1, 16, 1000):
        assert cuda.call("cuFuncGetAttribute", Out(), wrong, iota) == INVALID_VALUE
    assert cuda.call("cuFuncGetAttribute", None, SHARED, iota) == INVALID_VALUE
    assert cuda.call("cuFuncGetAttribute", Out(), SHARED, 0) == INVALID_HANDLE


def test_setting(cuda: Driver, module: int) -> None:
    bounded, most = cuda.function(module, "bounded"), cuda.attribute(97)
    for size in (0, 1000, most - 1024):
        cuda.ok("cuFuncSetAttribute", bounded, MAX_DYNAMIC, size)
        assert get(cuda, bounded, MAX_DYNAMIC) == size
    for size in (-1, most - 1023, most, 1 << 30):
        assert cuda.call("cuFuncSetAttribute", bounded, MAX_DYNAMIC, size) == INVALID_VALUE
    assert get(cuda, bounded, MAX_DYNAMIC) == most - 1024
    for percent in (-1, 0, 50, 100):
        cuda.ok("cuFuncSetAttribute", bounded, CARVEOUT, percent)
        assert get(cuda, bounded, CARVEOUT) == percent
    for percent in (-2, 101):
        assert cuda.call("cuFuncSetAttribute", bounded, CARVEOUT, percent) == INVALID_VALUE
    for fixed in (MAX_THREADS, SHARED, CONST, LOCAL, REGISTERS, PTX_VERSION, BINARY_VERSION):
        assert cuda.call("cuFuncSetAttribute", bounded, fixed, 1) == INVALID_VALUE
    assert cuda.call("cuFuncSetAttribute", 0, MAX_DYNAMIC, 1) == INVALID_HANDLE
    cuda.ok("cuFuncSetCacheConfig", bounded, 1)
    assert cuda.call("cuFuncSetCacheConfig", bounded, 9) == INVALID_VALUE


def test_parameters(cuda: Driver, module: int) -> None:
    """Offsets as PTX lays parameters out: each at a multiple of its alignment."""
    function = cuda.function(module, "parameters")
    offset, size = Out(), Out()
    found = []
    while cuda.call("cuFuncGetParamInfo", function, len(found), offset, size) == 0:
        found.append((offset.value, size.value))
    assert found == [(0, 1), (2, 2), (8, 8), (16, 4), (32, 20), (52, 4)]
    assert cuda.call("cuFuncGetParamInfo", cuda.function(module, "count"), 0, offset, size) == INVALID_VALUE
    assert cuda.call("cuFuncGetParamInfo", function, 0, None, size) == INVALID_VALUE


def test_module_and_state(cuda: Driver, module: int) -> None:
    iota = cuda.function(module, "iota")
    assert cuda.get("cuFuncGetModule", iota) == module
    cuda.ok("cuFuncLoad", iota)
    assert cuda.get("cuFuncIsLoaded", iota) == 1
    assert cuda.call("cuFuncLoad", 0) == INVALID_HANDLE


def occupancy(cuda: Driver, function: int, threads: int, shared: int = 0) -> int:
    return cuda.get("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, threads, shared)


def expected(cuda: Driver, threads: int, shared: int) -> int:
    """By the rules of the occupancy calculator, for a kernel that needs few registers."""
    warps = (threads + 31) // 32
    reserved = cuda.attribute(111)
    by_shared = cuda.attribute(81) // ((shared + reserved + 127) // 128 * 128)
    return min(cuda.attribute(39) // (32 * warps), cuda.attribute(106), by_shared)


def test_occupancy(cuda: Driver, module: int) -> None:
    iota, bounded = cuda.function(module, "iota"), cuda.function(module, "bounded")
    cuda.ok("cuFuncSetAttribute", iota, MAX_DYNAMIC, cuda.attribute(97))
    for threads in (1, 32, 33, 128, 256, 512, 768, 1024):
        for shared in (0, 1000, 10_000, 40_000, 60_000, cuda.attribute(97)):
            assert occupancy(cuda, iota, threads, shared) == expected(cuda, threads, shared), (threads, shared)
        assert occupancy(cuda, bounded, threads) == expected(cuda, threads, 1024)
    assert occupancy(cuda, iota, 32, cuda.attribute(97) + 1) == 0
    for threads in (0, -1):
        assert cuda.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", Out(), iota, threads, 0) == INVALID_VALUE
    assert cuda.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", None, iota, 32, 0) == INVALID_VALUE
    assert cuda.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", Out(), 0, 32, 0) == INVALID_HANDLE
    flagged = "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"
    assert [cuda.get(flagged, iota, 128, 0, f) for f in (0, 1)] == [expected(cuda, 128, 0)] * 2
    assert cuda.call(flagged, Out(), iota, 128, 0, 8) == INVALID_VALUE


def test_the_best_block_size(cuda: Driver, module: int) -> None:
    grid, block = Out(), Out()
    for name, limit, most in (("iota", 0, 1024), ("iota", 100, 100), ("bounded", 0, 128)):
        function = cuda.function(module, name)
        cuda.ok("cuOccupancyMaxPotentialBlockSize", grid, block, function, None, 0, limit)
        assert 0 < block.value <= most
        resident = occupancy(cuda, function, block.value)
        assert grid.value == resident * cuda.attribute(16)
        sizes = list(range(32, most + 1, 32)) or [most]
        assert resident * block.value >= max(occupancy(cuda, function, s) * s for s in sizes)


def test_the_best_block_size_with_a_function(cuda: Driver, module: int) -> None:
    """Shared memory that depends on the block."""
    asked = []

    def shared_of(threads: int) -> int:
        asked.append(threads)
        return threads * 64

    callback = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)(shared_of)
    grid, block = Out(), Out()
    iota = cuda.function(module, "iota")
    cuda.ok("cuOccupancyMaxPotentialBlockSize", grid, block, iota, callback, 0, 0)
    assert asked
    best = occupancy(cuda, iota, block.value, block.value * 64) * block.value
    assert best >= max(occupancy(cuda, iota, s, s * 64) * s for s in range(32, 769, 32))


def test_shared_memory_that_is_left(cuda: Driver, module: int) -> None:
    iota = cuda.function(module, "iota")
    for blocks in (1, 2, 4):
        size = cuda.get("cuOccupancyAvailableDynamicSMemPerBlock", iota, blocks, 128)
        assert occupancy(cuda, iota, 128, size) >= blocks
    assert cuda.call("cuOccupancyAvailableDynamicSMemPerBlock", Out(), iota, 0, 128) == INVALID_VALUE
