"""Libraries and CUkernels: independent of contexts, as the runtime of CUDA 12 and later uses them."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

from .api import FILE_NOT_FOUND, INVALID_HANDLE, INVALID_IMAGE, INVALID_PTX, INVALID_VALUE, NOT_FOUND, Driver, Out
from .kernels import KERNELS, SYNTAX_ERROR

MANAGED = """\
.version 8.0
.target sm_75
.address_size 64
.visible .global .attribute(.managed) .align 4 .b32 shared_value = 7;
.visible .global .align 4 .b32 device_value = 8;
.visible .entry increment() { .reg .b32 %r; ld.global.u32 %r, [shared_value]; add.u32 %r, %r, 1; st.global.u32 [shared_value], %r; ret; }
"""


def library(driver: Driver, ptx: str) -> int:
    return driver.get("cuLibraryLoadData", ptx.encode() + b"\0", None, None, 0, None, None, 0)


def kernel(driver: Driver, handle: int, name: str) -> int:
    return driver.get("cuLibraryGetKernel", handle, name.encode())


def test_without_a_context(bare: Driver) -> None:
    """Loading and looking up needs none; the kernel then runs in every context."""
    handle = library(bare, KERNELS)
    iota = kernel(bare, handle, "iota")
    for _ in range(2):
        context = bare.get("cuCtxCreate_v2", 0, 0)
        out = bare.alloc(40)
        assert bare.launch(iota, 1, 10, ctypes.c_uint64(out), ctypes.c_uint32(10)) == 0
        assert struct.unpack("<10I", bare.read(out, 40)) == tuple(range(10))
        bare.ok("cuCtxDestroy_v2", context)
    bare.ok("cuLibraryUnload", handle)


def test_kernels(cuda: Driver) -> None:
    handle = library(cuda, KERNELS)
    assert cuda.get("cuLibraryGetKernelCount", handle) == 7
    kernels = (ctypes.c_uint64 * 7)()
    cuda.ok("cuLibraryEnumerateKernels", kernels, 7, handle)
    iota = kernel(cuda, handle, "iota")
    assert iota in kernels and len(set(kernels)) == 7
    for name in ("nowhere", "counter", ""):
        assert cuda.call("cuLibraryGetKernel", Out(), handle, name.encode()) == NOT_FOUND
    assert cuda.call("cuLibraryGetKernel", None, handle, b"iota") == INVALID_VALUE
    assert cuda.call("cuLibraryGetKernel", Out(), handle, None) == INVALID_VALUE
    assert cuda.call("cuLibraryGetKernel", Out(), 0, b"iota") == INVALID_HANDLE
    name = ctypes.c_char_p()
    cuda.ok("cuKernelGetName", ctypes.byref(name), iota)
    assert name.value == b"iota"
    assert cuda.get("cuKernelGetLibrary", iota) == handle
    cuda.ok("cuLibraryUnload", handle)


def test_kernel_and_function(cuda: Driver) -> None:
    handle = library(cuda, KERNELS)
    function = cuda.get("cuKernelGetFunction", kernel(cuda, handle, "iota"))
    module = cuda.get("cuLibraryGetModule", handle)
    assert cuda.function(module, "iota") == function
    out = cuda.alloc(40)
    assert cuda.launch(function, 1, 10, ctypes.c_uint64(out), ctypes.c_uint32(10)) == 0
    assert struct.unpack("<10I", cuda.read(out, 40)) == tuple(range(10))
    cuda.ok("cuLibraryUnload", handle)


def test_attributes(cuda: Driver) -> None:
    handle = library(cuda, KERNELS)
    bounded = kernel(cuda, handle, "bounded")
    assert cuda.get("cuKernelGetAttribute", 0, bounded, 0) == 128
    assert cuda.get("cuKernelGetAttribute", 1, bounded, 0) == 1024
    cuda.ok("cuKernelSetAttribute", 8, 60000, bounded, 0)
    assert cuda.get("cuKernelGetAttribute", 8, bounded, 0) == 60000
    assert cuda.call("cuKernelSetAttribute", 8, 1 << 30, bounded, 0) == INVALID_VALUE
    offset, size = Out(), Out()
    parameters = kernel(cuda, handle, "parameters")
    found = []
    for i in range(6):
        cuda.ok("cuKernelGetParamInfo", parameters, i, offset, size)
        found.append((offset.value, size.value))
    assert found == [(0, 1), (2, 2), (8, 8), (16, 4), (32, 20), (52, 4)]
    assert cuda.call("cuKernelGetParamInfo", parameters, 6, offset, size) == INVALID_VALUE
    cuda.ok("cuKernelGetParamInfo", parameters, 5, offset, None)
    cuda.ok("cuLibraryUnload", handle)


def test_variables(cuda: Driver) -> None:
    handle = library(cuda, KERNELS)
    address, size = Out(), Out()
    cuda.ok("cuLibraryGetGlobal", address, size, handle, b"counter")
    assert (size.value, cuda.read(address.value, 8)) == (8, struct.pack("<Q", 42))
    assert cuda.call("cuLibraryGetGlobal", address, size, handle, b"nowhere") == NOT_FOUND
    assert cuda.call("cuLibraryGetManaged", address, size, handle, b"counter") == NOT_FOUND
    cuda.ok("cuLibraryUnload", handle)


def test_managed_variables(cuda: Driver) -> None:
    handle = library(cuda, MANAGED)
    address, size = Out(), Out()
    cuda.ok("cuLibraryGetManaged", address, size, handle, b"shared_value")
    assert size.value == 4
    value = ctypes.c_uint32.from_address(address.value)
    assert value.value == 7
    value.value = 20
    assert cuda.launch(kernel(cuda, handle, "increment"), 1, 1) == 0
    cuda.synchronize()
    assert value.value == 21
    assert cuda.call("cuLibraryGetManaged", address, size, handle, b"device_value") == NOT_FOUND
    cuda.ok("cuLibraryUnload", handle)


def test_what_cannot_be_loaded(cuda: Driver, tmp_path: Path) -> None:
    nothing = (None, None, 0, None, None, 0)
    assert cuda.call("cuLibraryLoadData", Out(), None, *nothing) == INVALID_VALUE
    assert cuda.call("cuLibraryLoadData", None, KERNELS.encode() + b"\0", *nothing) == INVALID_VALUE
    assert cuda.call("cuLibraryLoadData", Out(), b"nonsense\0", *nothing) == INVALID_IMAGE
    assert cuda.call("cuLibraryLoadData", Out(), SYNTAX_ERROR.encode() + b"\0", *nothing) == INVALID_PTX
    assert cuda.call("cuLibraryLoadFromFile", Out(), b"/no/such/file", *nothing) == FILE_NOT_FOUND
    path = tmp_path / "library.ptx"
    path.write_text(KERNELS)
    handle = cuda.get("cuLibraryLoadFromFile", str(path).encode(), *nothing)
    assert kernel(cuda, handle, "iota")
    cuda.ok("cuLibraryUnload", handle)


def test_the_log(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    text = ctypes.create_string_buffer(500)
    options, values = (ctypes.c_int * 2)(5, 6), (ctypes.c_uint64 * 2)(ctypes.addressof(text), 500)
    data = SYNTAX_ERROR.encode() + b"\0"
    assert cuda.call("cuLibraryLoadData", Out(), data, options, values, 2, None, None, 0) == INVALID_PTX
    assert b"line 7" in text.value
    assert capfd.readouterr().err == ""
