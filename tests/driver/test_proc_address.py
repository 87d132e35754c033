"""cuGetProcAddress and cuGetProcAddress_v2: which variant of a function a name and a version stand for."""

from __future__ import annotations

import ctypes

import pytest

from .api import INVALID_VALUE, NOT_FOUND, Driver, Out
from .exports import EXPORTS, Export

FOUND, UNKNOWN, TOO_NEW = 0, 1, 2
DEFAULT, LEGACY_STREAM, PER_THREAD_STREAM = 0, 1, 2


def look_up(driver: Driver, name: str, version: int, flags: int = 0) -> tuple[int, int]:
    """Address and status."""
    address, status = Out(77), Out(77)
    driver.ok("cuGetProcAddress_v2", name.encode(), address, version, flags, status)
    return address.value, status.value


def symbol(driver: Driver, name: str) -> int:
    """The address of an export."""
    return ctypes.cast(getattr(driver.library, name), ctypes.c_void_p).value or 0


def expected(base: str, version: int, per_thread: bool) -> Export | None:
    """The newest variant that this version of the API knows; variants of a thread's stream before others."""
    for suffixed in (True, False) if per_thread else (False,):
        known = [e for e in EXPORTS if e.base == base and e.per_thread == suffixed and e.version <= version]
        if known:
            # cuMemAlloc_v2 stands beside cuMemAlloc of the same age only where the older one has no use any more.
            return max(known, key=lambda e: (e.version, len(e.name)))
    return None


BASES = sorted({e.base for e in EXPORTS})
VERSIONS = sorted({v + d for v in {e.version for e in EXPORTS} for d in (-1, 0, 1)} | {3020, 12000, 13000, 13020})


@pytest.mark.parametrize("flags", [DEFAULT, LEGACY_STREAM, PER_THREAD_STREAM])
def test_every_name_at_every_version(driver: Driver, flags: int) -> None:
    wrong = []
    for base in BASES:
        for version in VERSIONS:
            e = expected(base, version, flags == PER_THREAD_STREAM)
            wanted = (symbol(driver, e.name), FOUND) if e else (0, TOO_NEW)
            if look_up(driver, base, version, flags) != wanted:
                wrong.append((base, version, e and e.name))
    assert not wrong


@pytest.mark.parametrize(
    ("base", "version", "flags", "export"),
    [
        ("cuMemAlloc", 2000, 0, "cuMemAlloc"),
        ("cuMemAlloc", 3019, 0, "cuMemAlloc"),
        ("cuMemAlloc", 3020, 0, "cuMemAlloc_v2"),
        ("cuMemAlloc", 13000, 2, "cuMemAlloc_v2"),
        ("cuMemcpyHtoD", 6050, 2, "cuMemcpyHtoD_v2"),
        ("cuMemcpyHtoD", 7000, 2, "cuMemcpyHtoD_v2_ptds"),
        ("cuMemcpyHtoD", 7000, 1, "cuMemcpyHtoD_v2"),
        ("cuMemcpyHtoDAsync", 7000, 2, "cuMemcpyHtoDAsync_v2_ptsz"),
        ("cuLaunchKernel", 4000, 0, "cuLaunchKernel"),
        ("cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz"),
        ("cuStreamSynchronize", 7000, 2, "cuStreamSynchronize_ptsz"),
        ("cuDeviceGetUuid", 9020, 0, "cuDeviceGetUuid"),
        ("cuDeviceGetUuid", 11040, 0, "cuDeviceGetUuid_v2"),
        ("cuCtxCreate", 3020, 0, "cuCtxCreate_v2"),
        ("cuCtxCreate", 11040, 0, "cuCtxCreate_v3"),
        ("cuCtxCreate", 13000, 0, "cuCtxCreate_v4"),
        ("cuCtxSynchronize", 12090, 0, "cuCtxSynchronize"),
        ("cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2"),
        ("cuGetProcAddress", 11030, 0, "cuGetProcAddress"),
        ("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"),
        ("cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo"),
        ("cuStreamGetCaptureInfo", 11030, 0, "cuStreamGetCaptureInfo_v2"),
        ("cuStreamGetCaptureInfo", 12030, 0, "cuStreamGetCaptureInfo_v3"),
        ("cuMemPrefetchAsync", 12010, 0, "cuMemPrefetchAsync"),
        ("cuMemPrefetchAsync", 12020, 0, "cuMemPrefetchAsync_v2"),
        ("cuInit", 2000, 2, "cuInit"),
    ],
)  # fmt: skip
def test_variants_that_runtimes_ask_for(driver: Driver, base: str, version: int, flags: int, export: str) -> None:
    """A variant with another signature would break the caller's stack."""
    assert look_up(driver, base, version, flags) == (symbol(driver, export), FOUND)


@pytest.mark.parametrize("name", ["", "cuNothing", "cuMemAlloc_v2", "cumemalloc", "cuInit ", "malloc", "x" * 10_000])
def test_unknown(driver: Driver, name: str) -> None:
    for version in (0, 2000, 13000):
        for flags in (0, 1, 2):
            assert look_up(driver, name, version, flags) == (0, UNKNOWN)


def test_too_new(driver: Driver) -> None:
    for name, version in (("cuMemAllocAsync", 11010), ("cuInit", 1999), ("cuInit", 0), ("cuLibraryLoadData", 11080)):
        assert look_up(driver, name, version) == (0, TOO_NEW)


def test_null(driver: Driver) -> None:
    assert driver.call("cuGetProcAddress_v2", None, Out(), 12000, 0, Out()) == INVALID_VALUE
    assert driver.call("cuGetProcAddress_v2", b"cuInit", None, 12000, 0, Out()) == INVALID_VALUE
    out = Out()
    driver.ok("cuGetProcAddress_v2", b"cuInit", out, 12000, 0, None)
    assert out.value == symbol(driver, "cuInit")
    driver.ok("cuGetProcAddress_v2", b"cuNothing", out, 12000, 0, None)
    assert out.value == 0


def test_the_form_with_four_arguments(driver: Driver) -> None:
    out = Out()
    driver.ok("cuGetProcAddress", b"cuMemAlloc", out, 11030, 0)
    assert out.value == symbol(driver, "cuMemAlloc_v2")
    driver.ok("cuGetProcAddress", b"cuMemcpyHtoD", out, 11030, 2)
    assert out.value == symbol(driver, "cuMemcpyHtoD_v2_ptds")
    for name, version in ((b"cuNothing", 11030), (b"", 0), (b"cuMemAllocAsync", 11010)):
        assert driver.call("cuGetProcAddress", name, out, version, 0) == NOT_FOUND
        assert out.value == 0
    assert driver.call("cuGetProcAddress", None, out, 11030, 0) == INVALID_VALUE
    assert driver.call("cuGetProcAddress", b"cuInit", None, 11030, 0) == INVALID_VALUE


def test_a_full_name_of_a_variant(driver: Driver) -> None:
    """Runtime 12.1 asks for one by its whole name."""
    name = "cuGraphInstantiateWithParams_ptsz"
    assert look_up(driver, name, 12000) == (symbol(driver, name), FOUND)


def test_functions_found_work(bare: Driver) -> None:
    address, _ = look_up(bare, "cuDeviceGetCount", 2000)
    count = Out()
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)(ctypes.addressof(count)) == 0
    assert count.value >= 1
