"""Streams: order within one and between them, the default streams, host functions, queries."""

from __future__ import annotations

import ctypes
import threading
import time

from .api import (
    INVALID_HANDLE,
    INVALID_VALUE,
    LEGACY,
    NOT_PERMITTED,
    NOT_READY,
    PER_THREAD,
    Driver,
    Gate,
    HostFunction,
    Out,
    StreamCallback,
)

NON_BLOCKING = 1


def query(cuda: Driver, stream: int) -> int:
    return cuda.call("cuStreamQuery", stream)


def test_creating(cuda: Driver) -> None:
    assert cuda.call("cuStreamCreate", None, 0) == INVALID_VALUE
    for flags in (2, 77):
        assert cuda.call("cuStreamCreate", Out(), flags) == INVALID_VALUE
    streams = [cuda.stream(f) for f in (0, 1, 0)]
    assert len(set(streams)) == 3
    for stream, flags in zip(streams, (0, 1, 0), strict=True):
        out = Out()
        cuda.ok("cuStreamGetFlags", stream, out)
        assert out.value == flags
        cuda.ok("cuStreamGetCtx", stream, out)
        assert out.value == cuda.get("cuCtxGetCurrent")
        assert query(cuda, stream) == 0
        cuda.ok("cuStreamSynchronize", stream)
        cuda.ok("cuStreamDestroy_v2", stream)
    for name, *arguments in (("cuStreamDestroy_v2",), ("cuStreamQuery",), ("cuStreamSynchronize",)):
        assert cuda.call(str(name), 0x1234_5678, *arguments) == INVALID_HANDLE


def test_the_default_streams_cannot_be_destroyed(cuda: Driver) -> None:
    for stream in (0, LEGACY, PER_THREAD):
        assert cuda.call("cuStreamDestroy_v2", stream) == INVALID_HANDLE
        assert query(cuda, stream) == 0


def test_identities(cuda: Driver) -> None:
    def identity(stream: int) -> int:
        out = Out()
        cuda.ok("cuStreamGetId", stream, out)
        return out.value

    a, b = cuda.stream(), cuda.stream()
    assert identity(0) == identity(LEGACY)
    assert len({identity(s) for s in (LEGACY, PER_THREAD, a, b)}) == 4
    assert identity(a) == identity(a)


def test_priorities(cuda: Driver) -> None:
    least, greatest = Out(), Out()
    cuda.ok("cuCtxGetStreamPriorityRange", least, greatest)
    low, high = least.signed, greatest.signed
    assert low == 0 and high < 0
    for wanted in (low, high, low + 5, high - 5, -1):
        stream, seen = cuda.get("cuStreamCreateWithPriority", 1, wanted), Out()
        cuda.ok("cuStreamGetPriority", stream, seen)
        assert seen.signed == max(high, min(low, wanted))
    cuda.ok("cuCtxGetStreamPriorityRange", None, None)
    assert cuda.call("cuStreamCreateWithPriority", Out(), 5, 0) == INVALID_VALUE


def test_work_runs_in_order(cuda: Driver) -> None:
    stream, size = cuda.stream(), 1 << 20
    address, host = cuda.alloc(size), cuda.get("cuMemHostAlloc", size, 0)
    seen: list[int] = []

    @HostFunction
    def look(_: int | None) -> None:
        seen.append(ctypes.string_at(host, size).count(bytes([len(seen) + 1])))

    for value in range(1, 6):
        cuda.ok("cuMemsetD8Async", address, value, size, stream)
        cuda.ok("cuMemcpyDtoHAsync_v2", host, address, size, stream)
        cuda.ok("cuLaunchHostFunc", stream, look, None)
    cuda.ok("cuStreamSynchronize", stream)
    assert seen == [size] * 5


def test_a_busy_stream(cuda: Driver) -> None:
    """Queries see it, others are not held up."""
    busy, other = cuda.stream(NON_BLOCKING), cuda.stream(NON_BLOCKING)
    address = cuda.alloc(1 << 20)
    with Gate(cuda, busy) as gate:
        cuda.ok("cuMemsetD8Async", address, 1, 1 << 20, busy)
        assert query(cuda, busy) == NOT_READY
        assert query(cuda, other) == 0
        assert query(cuda, 0) == 0
        cuda.ok("cuMemsetD8Async", address, 2, 1 << 20, other)
        cuda.ok("cuStreamSynchronize", other)
        assert query(cuda, busy) == NOT_READY
        gate.open()
        cuda.ok("cuStreamSynchronize", busy)
        assert query(cuda, busy) == 0
    assert cuda.read(address, 1) == b"\1"


def test_the_legacy_stream_waits_for_blocking_ones(cuda: Driver) -> None:
    blocking, free = cuda.stream(), cuda.stream(NON_BLOCKING)
    a = cuda.alloc(16)
    cuda.ok("cuMemsetD8_v2", a, 0, 16)
    with Gate(cuda, blocking) as gate:
        cuda.ok("cuMemsetD8Async", a, 7, 16, blocking)
        cuda.ok("cuMemsetD8Async", a, 8, 8, 0)  # behind the other one
        assert query(cuda, 0) == NOT_READY
        assert query(cuda, LEGACY) == NOT_READY
        cuda.ok("cuStreamSynchronize", free)
        gate.open()
        cuda.ok("cuStreamSynchronize", 0)
    assert cuda.read(a, 16) == b"\10" * 8 + b"\7" * 8


def test_blocking_streams_wait_for_the_legacy_one(cuda: Driver) -> None:
    blocking, free = cuda.stream(), cuda.stream(NON_BLOCKING)
    a = cuda.alloc(16)
    with Gate(cuda, 0) as gate:
        cuda.ok("cuMemsetD8Async", a, 1, 16, 0)
        cuda.ok("cuMemsetD8Async", a, 2, 8, blocking)
        assert query(cuda, blocking) == NOT_READY
        cuda.ok("cuStreamSynchronize", free)
        gate.open()
        cuda.ok("cuStreamSynchronize", blocking)
    assert cuda.read(a, 16) == b"\2" * 8 + b"\1" * 8


def test_a_synchronous_copy_waits(cuda: Driver) -> None:
    blocking = cuda.stream()
    a = cuda.alloc(16)
    cuda.ok("cuMemsetD8_v2", a, 0, 16)
    done: list[bytes] = []
    context = cuda.get("cuCtxGetCurrent")

    def read() -> None:
        cuda.ok("cuCtxSetCurrent", context)
        done.append(cuda.read(a, 16))

    with Gate(cuda, blocking) as gate:
        cuda.ok("cuMemsetD8Async", a, 9, 16, blocking)
        thread = threading.Thread(target=read)
        thread.start()
        time.sleep(0.05)
        assert not done
        gate.open()
        thread.join(20)
    assert done == [b"\t" * 16]


def test_streams_of_threads(cuda: Driver) -> None:
    """Each thread has its own default stream, which other threads' do not hold up."""
    context = cuda.get("cuCtxGetCurrent")
    a = cuda.alloc(16)
    seen: list[int] = []

    def other() -> None:
        cuda.ok("cuCtxSetCurrent", context)
        seen.append(query(cuda, PER_THREAD))
        seen.append(cuda.call("cuStreamQuery_ptsz", 0))
        cuda.ok("cuMemsetD8Async_ptsz", a, 5, 16, 0)
        seen.append(cuda.call("cuStreamSynchronize_ptsz", 0))

    with Gate(cuda, PER_THREAD) as gate:
        assert query(cuda, PER_THREAD) == NOT_READY
        assert cuda.call("cuStreamQuery_ptsz", 0) == NOT_READY
        assert cuda.call("cuStreamQuery_ptsz", LEGACY) in (0, NOT_READY)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(20)
        assert seen == [0, 0, 0]
        gate.open()
        cuda.ok("cuStreamSynchronize_ptsz", 0)
    assert cuda.read(a, 16) == b"\5" * 16


def test_entry_points_of_the_threads_stream(cuda: Driver) -> None:
    """Every argument arrives, also those on the stack."""
    a, size = cuda.alloc(4096), Out()
    cuda.ok("cuMemsetD2D8Async_ptsz", a, 64, 3, 8, 4, 0)
    cuda.ok("cuStreamSynchronize_ptsz", 0)
    assert cuda.read(a, 9)[:8] == b"\3" * 8
    cuda.ok("cuMemcpyHtoD_v2_ptds", a, b"abcd", 4)
    to = ctypes.create_string_buffer(4)
    cuda.ok("cuMemcpyDtoH_v2_ptds", to, a, 4)
    assert to.raw == b"abcd"
    cuda.ok("cuStreamGetFlags_ptsz", 0, size)
    # The mark of such a call is gone behind it: NULL is the legacy stream again.
    first, second = Out(), Out()
    cuda.ok("cuStreamGetId_ptsz", 0, first)
    cuda.ok("cuStreamGetId", 0, second)
    assert first.value != second.value
    assert cuda.call("cuStreamQuery_ptsz", 0x1234_5678) == INVALID_HANDLE
    cuda.ok("cuStreamGetId", 0, first)
    assert first.value == second.value


def test_waiting_for_an_event(cuda: Driver) -> None:
    first, second = cuda.stream(NON_BLOCKING), cuda.stream(NON_BLOCKING)
    event, a = cuda.event(), cuda.alloc(16)
    cuda.ok("cuStreamWaitEvent", second, event, 0)  # never recorded: nothing to wait for
    cuda.ok("cuStreamSynchronize", second)
    with Gate(cuda, first) as gate:
        cuda.ok("cuMemsetD8Async", a, 1, 16, first)
        cuda.ok("cuEventRecord", event, first)
        cuda.ok("cuStreamWaitEvent", second, event, 0)
        cuda.ok("cuMemsetD8Async", a, 2, 8, second)
        assert query(cuda, second) == NOT_READY
        gate.open()
        cuda.ok("cuStreamSynchronize", second)
    assert cuda.read(a, 16) == b"\2" * 8 + b"\1" * 8
    assert cuda.call("cuStreamWaitEvent", second, 0, 0) == INVALID_HANDLE
    assert cuda.call("cuStreamWaitEvent", 0x1234_5678, event, 0) == INVALID_HANDLE


def test_host_functions(cuda: Driver) -> None:
    stream = cuda.stream()
    got: list[tuple[int | None, int]] = []

    @HostFunction
    def function(data: int | None) -> None:
        got.append((data, threading.get_ident()))

    cuda.ok("cuLaunchHostFunc", stream, function, ctypes.c_void_p(77))
    cuda.ok("cuStreamSynchronize", stream)
    assert [d for d, _ in got] == [77]
    assert cuda.call("cuLaunchHostFunc", stream, None, None) == INVALID_VALUE
    assert cuda.call("cuLaunchHostFunc", 0x1234_5678, function, None) == INVALID_HANDLE


def test_callbacks(cuda: Driver) -> None:
    stream = cuda.stream()
    got: list[tuple[int | None, int, int | None]] = []

    @StreamCallback
    def callback(handle: int | None, code: int, data: int | None) -> None:
        got.append((handle, code, data))

    cuda.ok("cuStreamAddCallback", stream, callback, ctypes.c_void_p(5), 0)
    cuda.ok("cuStreamAddCallback", 0, callback, None, 0)
    cuda.synchronize()
    assert sorted(got, key=str) == sorted([(stream, 0, 5), (None, 0, None)], key=str)
    assert cuda.call("cuStreamAddCallback", stream, callback, None, 1) == INVALID_VALUE
    assert cuda.call("cuStreamAddCallback", stream, None, None, 0) == INVALID_VALUE


def test_host_functions_must_not_call_back(cuda: Driver) -> None:
    """What would wait for the stream that waits for the function is refused, not left hanging."""
    stream, context = cuda.stream(), cuda.get("cuCtxGetCurrent")
    codes: list[int] = []

    @HostFunction
    def function(_: int | None) -> None:
        cuda.call("cuCtxSetCurrent", context)
        codes.append(cuda.call("cuStreamSynchronize", stream))
        codes.append(cuda.call("cuCtxSynchronize"))
        codes.append(cuda.call("cuMemAlloc_v2", Out(), 16))

    cuda.ok("cuLaunchHostFunc", stream, function, None)
    cuda.ok("cuStreamSynchronize", stream)
    assert codes == [NOT_PERMITTED] * 3
    cuda.ok("cuStreamSynchronize", stream)


def test_destroying_a_busy_stream(cuda: Driver) -> None:
    """Its work still ends."""
    stream, a, context = cuda.stream(), cuda.alloc(16), cuda.get("cuCtxGetCurrent")
    cuda.ok("cuMemsetD8_v2", a, 0, 16)

    def destroy() -> None:
        # Some drivers wait here for the stream's end.
        cuda.ok("cuCtxSetCurrent", context)
        cuda.ok("cuStreamDestroy_v2", stream)

    with Gate(cuda, stream) as gate:
        cuda.ok("cuMemsetD8Async", a, 6, 16, stream)
        destroyer = threading.Thread(target=destroy)
        destroyer.start()
        time.sleep(0.02)
        gate.open()
        destroyer.join(20)
        assert not destroyer.is_alive()
    cuda.synchronize()
    assert cuda.read(a, 16) == b"\6" * 16


def test_nothing_is_capturing(cuda: Driver) -> None:
    status = Out()
    cuda.ok("cuStreamIsCapturing", cuda.stream(), status)
    assert status.value == 0
    cuda.ok("cuStreamGetCaptureInfo_v2", cuda.stream(), status, None, None, None, None)
    assert status.value == 0


def test_many_streams(cuda: Driver) -> None:
    streams = [cuda.stream(i & 1) for i in range(200)]
    a = cuda.alloc(200 * 4)
    for i, stream in enumerate(streams):
        cuda.ok("cuMemsetD32Async", a + 4 * i, i, 1, stream)
    cuda.synchronize()
    assert cuda.read(a, 800) == b"".join(i.to_bytes(4, "little") for i in range(200))
    for stream in streams:
        cuda.ok("cuStreamDestroy_v2", stream)
