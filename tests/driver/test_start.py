"""Before cuInit, cuInit itself, devices."""

from __future__ import annotations

import ctypes

from .api import INVALID_DEVICE, INVALID_VALUE, Driver, Out
from .child import Child

UNINITIALISED = """
calls = [
    ("cuDeviceGetCount", Out()), ("cuDeviceGet", Out(), 0), ("cuDeviceGetAttribute", Out(), 1, 0),
    ("cuDeviceTotalMem_v2", Out(), 0), ("cuDevicePrimaryCtxRetain", Out(), 0), ("cuCtxCreate_v2", Out(), 0, 0),
    ("cuCtxGetCurrent", Out()), ("cuCtxSetCurrent", 0), ("cuCtxSynchronize",), ("cuMemAlloc_v2", Out(), 16),
    ("cuMemFree_v2", 0), ("cuMemGetInfo_v2", Out(), Out()), ("cuMemcpyHtoD_v2", 0, b"", 0),
    ("cuModuleLoadData", Out(), b"\\0"), ("cuLibraryLoadData", Out(), b"\\0", 0, 0, 0, 0, 0, 0),
    ("cuStreamCreate", Out(), 0), ("cuEventCreate", Out(), 0), ("cuLaunchKernel", 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
    ("cuPointerGetAttribute", Out(), 2, 0), ("cuProfilerStart",),
]
for name, *arguments in calls:
    assert cuda.call(name, *arguments) == NOT_INITIALIZED, name
version = cuda.get("cuDriverGetVersion")
assert 13000 <= version < 14000, version
text = ctypes.c_char_p()
cuda.ok("cuGetErrorName", 3, ctypes.byref(text))
assert text.value == b"CUDA_ERROR_NOT_INITIALIZED"
out, status = Out(), Out()
cuda.ok("cuGetProcAddress_v2", b"cuInit", out, 12000, 0, status)
assert out.value and status.value == 0
assert cuda.call("cuInit", 1) == INVALID_VALUE
assert cuda.call("cuDeviceGetCount", Out()) == NOT_INITIALIZED, "a failed cuInit counts"
cuda.ok("cuInit", 0)
cuda.ok("cuInit", 0)
assert cuda.get("cuDeviceGetCount") >= 1
"""


def test_before_init(child: Child) -> None:
    child.run(UNINITIALISED)


def test_many_threads_initialise(child: Child) -> None:
    child.run("""
        codes = []
        threads = [threading.Thread(target=lambda: codes.append(cuda.call("cuInit", 0))) for _ in range(8)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert codes == [0] * 8
    """)


def test_a_child_forked_after_init(child: Child) -> None:
    """Work of the child does not wait for threads that only the parent has."""
    child.run("""
        import os
        cuda.ok("cuInit", 0)
        context = cuda.get("cuCtxCreate_v2", 0, 0)
        memory = cuda.alloc(1 << 22)
        cuda.ok("cuMemsetD8Async", memory, 3, 1 << 22, 0)
        cuda.synchronize()
        process = os.fork()
        if process == 0:
            # NVIDIA's driver refuses every call there; doing the work is better, hanging or crashing is not allowed.
            code = cuda.call("cuMemsetD8Async", memory, 5, 1 << 22, 0)
            code = code or cuda.call("cuCtxSynchronize")
            os._exit(0 if code in (SUCCESS, NOT_INITIALIZED) else 1)
        assert os.waitpid(process, 0)[1] == 0
        assert cuda.read(memory, 1) == b"\\3"
    """)


def test_devices(bare: Driver) -> None:
    count = bare.get("cuDeviceGetCount")
    assert [bare.get("cuDeviceGet", i) for i in range(count)] == list(range(count))
    for ordinal in (count, -1, 1 << 30):
        assert bare.call("cuDeviceGet", Out(), ordinal) == INVALID_DEVICE
    assert bare.call("cuDeviceGet", None, 0) == INVALID_VALUE
    assert bare.call("cuDeviceGetCount", None) == INVALID_VALUE


def test_every_query_refuses_other_devices(bare: Driver) -> None:
    for name, *arguments in (
        ("cuDeviceGetName", ctypes.create_string_buffer(9), 9, 99),
        ("cuDeviceGetUuid_v2", ctypes.create_string_buffer(16), 99),
        ("cuDeviceTotalMem_v2", Out(), 99),
        ("cuDeviceGetAttribute", Out(), 1, 99),
        ("cuDeviceGetPCIBusId", ctypes.create_string_buffer(64), 64, 99),
        ("cuDeviceComputeCapability", Out(), Out(), 99),
        ("cuDeviceCanAccessPeer", Out(), 0, 99),
    ):
        assert bare.call(str(name), *arguments) == INVALID_DEVICE, name


def test_name_and_bus(bare: Driver) -> None:
    text = ctypes.create_string_buffer(256)
    bare.ok("cuDeviceGetName", text, 256, 0)
    whole = text.value
    assert whole
    short = ctypes.create_string_buffer(b"x" * 8, 8)
    bare.ok("cuDeviceGetName", short, 4, 0)
    assert short.raw == whole[:3] + b"\0xxxx"
    bare.ok("cuDeviceGetPCIBusId", text, 256, 0)
    domain, bus, device = (bare.attribute(n) for n in (50, 33, 34))
    assert text.value.decode().lower() == f"{domain:04x}:{bus:02x}:{device:02x}.0"
    assert bare.get("cuDeviceGetByPCIBusId", text.value) == 0
    assert bare.call("cuDeviceGetByPCIBusId", Out(), b"nonsense") == INVALID_VALUE
    assert bare.call("cuDeviceGetByPCIBusId", Out(), b"7fff:1e:1d.0") == INVALID_DEVICE


def test_capability_and_memory(bare: Driver) -> None:
    major, minor = Out(), Out()
    bare.ok("cuDeviceComputeCapability", major, minor, 0)
    assert (major.value, minor.value) == (bare.attribute(75), bare.attribute(76))
    assert bare.get("cuDeviceTotalMem_v2", 0) > 1 << 28
    uuids = [ctypes.create_string_buffer(16) for _ in range(2)]
    bare.ok("cuDeviceGetUuid", uuids[0], 0)
    bare.ok("cuDeviceGetUuid_v2", uuids[1], 0)
    assert uuids[0].raw == uuids[1].raw != bytes(16)
