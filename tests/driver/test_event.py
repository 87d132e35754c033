"""Events: recording, waiting, time between two."""

from __future__ import annotations

import ctypes
import time

from .api import INVALID_HANDLE, INVALID_VALUE, NOT_READY, Driver, Gate, HostFunction, Out

BLOCKING_SYNC, DISABLE_TIMING, INTERPROCESS = 1, 2, 4


def elapsed(cuda: Driver, start: int, end: int) -> tuple[int, float]:
    time_ms = ctypes.c_float(-1)
    code = cuda.call("cuEventElapsedTime", ctypes.byref(time_ms), start, end)
    return code, time_ms.value


def test_creating(cuda: Driver) -> None:
    assert cuda.call("cuEventCreate", None, 0) == INVALID_VALUE
    for flags in (8, 1000, INTERPROCESS):  # for several processes only without timing
        assert cuda.call("cuEventCreate", Out(), flags) == INVALID_VALUE
    events = [cuda.event(f) for f in (0, 1, 2, 3)]
    assert len(set(events)) == 4
    for event in events:
        cuda.ok("cuEventDestroy_v2", event)
    for name, *arguments in (
        ("cuEventDestroy_v2",), ("cuEventQuery",), ("cuEventSynchronize",), ("cuEventRecord", 0),
    ):  # fmt: skip
        assert cuda.call(str(name), 0, *arguments) == INVALID_HANDLE, name


def test_unrecorded(cuda: Driver) -> None:
    event = cuda.event()
    cuda.ok("cuEventQuery", event)
    cuda.ok("cuEventSynchronize", event)
    assert elapsed(cuda, event, event)[0] == INVALID_HANDLE


def test_query_and_synchronise(cuda: Driver) -> None:
    stream, event = cuda.stream(1), cuda.event()
    with Gate(cuda, stream) as gate:
        cuda.ok("cuEventRecord", event, stream)
        assert cuda.call("cuEventQuery", event) == NOT_READY
        assert elapsed(cuda, event, event)[0] == NOT_READY
        gate.open()
        cuda.ok("cuEventSynchronize", event)
        cuda.ok("cuEventQuery", event)


def test_recording_again(cuda: Driver) -> None:
    """The last record counts."""
    stream, event = cuda.stream(1), cuda.event()
    cuda.ok("cuEventRecord", event, stream)
    cuda.ok("cuEventSynchronize", event)
    with Gate(cuda, stream) as gate:
        cuda.ok("cuEventRecordWithFlags", event, stream, 0)
        assert cuda.call("cuEventQuery", event) == NOT_READY
        gate.open()
        cuda.ok("cuEventSynchronize", event)
    assert cuda.call("cuEventRecordWithFlags", event, stream, 16) == INVALID_VALUE
    assert cuda.call("cuEventRecord", event, 0x1234_5678) == INVALID_HANDLE


def test_a_wait_is_for_what_was_recorded_then(cuda: Driver) -> None:
    first, second, event = cuda.stream(1), cuda.stream(1), cuda.event()
    cuda.ok("cuEventRecord", event, first)
    cuda.ok("cuStreamWaitEvent", second, event, 0)
    with Gate(cuda, first) as gate:
        cuda.ok("cuEventRecord", event, first)
        cuda.ok("cuStreamSynchronize", second)  # does not wait for the later record
        gate.open()


def test_time(cuda: Driver) -> None:
    stream, start, end = cuda.stream(), cuda.event(), cuda.event()
    sleep = HostFunction(lambda _: time.sleep(0.08))
    began = time.monotonic()
    cuda.ok("cuEventRecord", start, stream)
    cuda.ok("cuLaunchHostFunc", stream, sleep, None)
    cuda.ok("cuEventRecord", end, stream)
    cuda.ok("cuEventSynchronize", end)
    whole = 1000 * (time.monotonic() - began)
    code, between = elapsed(cuda, start, end)
    assert code == 0
    assert 79 <= between <= whole + 1
    code, back = elapsed(cuda, end, start)
    assert code == 0 and abs(back + between) < 0.01
    assert elapsed(cuda, start, start) == (0, 0.0)


def test_without_timing(cuda: Driver) -> None:
    timed, untimed = cuda.event(), cuda.event(DISABLE_TIMING)
    for event in (timed, untimed):
        cuda.ok("cuEventRecord", event, 0)
    cuda.synchronize()
    for pair in ((timed, untimed), (untimed, timed), (untimed, untimed)):
        assert elapsed(cuda, *pair)[0] == INVALID_HANDLE
    assert cuda.call("cuEventElapsedTime", None, timed, timed) == INVALID_VALUE
    assert elapsed(cuda, timed, 0)[0] == INVALID_HANDLE


def test_the_default_stream(cuda: Driver) -> None:
    """An event in the legacy stream stands behind what blocking streams have."""
    stream, event = cuda.stream(), cuda.event()
    with Gate(cuda, stream) as gate:
        cuda.ok("cuEventRecord", event, 0)
        assert cuda.call("cuEventQuery", event) == NOT_READY
        gate.open()
        cuda.ok("cuEventSynchronize", event)


def test_destroying_before_it_is_reached(cuda: Driver) -> None:
    first, second, event = cuda.stream(1), cuda.stream(1), cuda.event()
    with Gate(cuda, first) as gate:
        cuda.ok("cuEventRecord", event, first)
        cuda.ok("cuStreamWaitEvent", second, event, 0)
        cuda.ok("cuEventDestroy_v2", event)
        assert cuda.call("cuStreamQuery", second) == NOT_READY
        gate.open()
        cuda.ok("cuStreamSynchronize", second)
