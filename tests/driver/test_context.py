"""Contexts: the thread's stack, the primary context, what a context owns, flags and limits."""

from __future__ import annotations

import threading

import pytest

from .api import (
    CONTEXT_IS_DESTROYED,
    INVALID_CONTEXT,
    INVALID_DEVICE,
    INVALID_VALUE,
    UNSUPPORTED_LIMIT,
    Driver,
    Out,
)
from .child import Child


def current(cuda: Driver) -> int:
    return cuda.get("cuCtxGetCurrent")


def test_create_makes_current_and_destroy_restores(bare: Driver) -> None:
    first = bare.get("cuCtxCreate_v2", 0, 0)
    assert current(bare) == first != 0
    second = bare.get("cuCtxCreate_v2", 0, 0)
    assert current(bare) == second != first
    bare.ok("cuCtxDestroy_v2", second)
    assert current(bare) == first
    bare.ok("cuCtxDestroy_v2", first)
    assert current(bare) == 0


def test_the_stack(bare: Driver) -> None:
    a, b = (bare.get("cuCtxCreate_v2", 0, 0) for _ in range(2))
    bare.ok("cuCtxPushCurrent_v2", a)
    assert [bare.get("cuCtxPopCurrent_v2") for _ in range(3)] == [a, b, a]
    assert bare.call("cuCtxPopCurrent_v2", Out()) == INVALID_CONTEXT
    assert bare.call("cuCtxPushCurrent_v2", 0) == INVALID_CONTEXT
    bare.ok("cuCtxPushCurrent_v2", a)
    bare.ok("cuCtxPushCurrent_v2", a)
    bare.ok("cuCtxSetCurrent", b)  # replaces the topmost
    assert current(bare) == b
    bare.ok("cuCtxSetCurrent", 0)  # pops it
    assert current(bare) == a
    bare.ok("cuCtxPopCurrent_v2", None)
    assert current(bare) == 0
    bare.ok("cuCtxSetCurrent", 0)
    bare.ok("cuCtxSetCurrent", b)
    assert current(bare) == b
    for context in (a, b):
        bare.ok("cuCtxDestroy_v2", context)


def test_destroying_what_is_not_on_top(bare: Driver) -> None:
    below, above = (bare.get("cuCtxCreate_v2", 0, 0) for _ in range(2))
    bare.ok("cuCtxDestroy_v2", below)
    assert current(bare) == above
    bare.synchronize()
    bare.ok("cuCtxPopCurrent_v2", None)
    assert current(bare) == below
    assert bare.call("cuMemAlloc_v2", Out(), 16) == CONTEXT_IS_DESTROYED
    assert bare.call("cuCtxSynchronize") == CONTEXT_IS_DESTROYED
    bare.ok("cuCtxDestroy_v2", above)


def test_no_context(bare: Driver) -> None:
    for name, *arguments in (
        ("cuCtxGetDevice", Out()),
        ("cuCtxSynchronize",),
        ("cuCtxGetLimit", Out(), 0),
        ("cuMemAlloc_v2", Out(), 16),
        ("cuMemFree_v2", 16),
        ("cuMemGetInfo_v2", Out(), Out()),
        ("cuMemHostAlloc", Out(), 16, 0),
        ("cuMemcpyHtoD_v2", 16, b"1234", 4),
        ("cuMemsetD8_v2", 16, 0, 1),
        ("cuModuleLoadData", Out(), b"\0"),
        ("cuStreamCreate", Out(), 0),
        ("cuStreamSynchronize", 0),
        ("cuEventCreate", Out(), 0),
        ("cuLaunchKernel", 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
    ):
        assert bare.call(str(name), *arguments) == INVALID_CONTEXT, name


def test_threads_have_stacks_of_their_own(cuda: Driver) -> None:
    mine = current(cuda)
    seen: list[object] = []

    def other() -> None:
        seen.append(current(cuda))
        seen.append(cuda.call("cuMemAlloc_v2", Out(), 16))
        cuda.ok("cuCtxSetCurrent", mine)
        seen.append(current(cuda) == mine)
        seen.append(cuda.call("cuMemFree_v2", cuda.alloc(16)))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [0, INVALID_CONTEXT, True, 0]
    assert current(cuda) == mine


def test_a_context_destroyed_by_another_thread(bare: Driver) -> None:
    context = bare.get("cuCtxCreate_v2", 0, 0)
    thread = threading.Thread(target=bare.ok, args=("cuCtxDestroy_v2", context))
    thread.start()
    thread.join()
    assert current(bare) == context
    assert bare.call("cuMemAlloc_v2", Out(), 16) == CONTEXT_IS_DESTROYED
    assert bare.call("cuStreamCreate", Out(), 0) == CONTEXT_IS_DESTROYED


def test_destroying_frees_memory(bare: Driver) -> None:
    context = bare.get("cuCtxCreate_v2", 0, 0)
    address = bare.alloc(1 << 20)
    host = bare.get("cuMemHostAlloc", 4096, 0)
    bare.ok("cuCtxDestroy_v2", context)
    other = bare.get("cuCtxCreate_v2", 0, 0)
    for pointer in (address, host):
        assert bare.call("cuPointerGetAttribute", Out(), 2, pointer) == INVALID_VALUE
    bare.ok("cuCtxDestroy_v2", other)


def test_bad_arguments(bare: Driver) -> None:
    assert bare.call("cuCtxCreate_v2", None, 0, 0) == INVALID_VALUE
    assert bare.call("cuCtxCreate_v2", Out(), 0, 1000) == INVALID_DEVICE
    assert bare.call("cuCtxCreate_v2", Out(), 1 << 20, 0) == INVALID_VALUE
    assert bare.call("cuCtxCreate_v2", Out(), 3, 0) == INVALID_VALUE  # two ways of waiting at once
    assert bare.call("cuCtxGetCurrent", None) == INVALID_VALUE
    assert current(bare) == 0


@pytest.mark.parametrize("flags", [0, 1, 2, 4])
def test_flags(bare: Driver, flags: int) -> None:
    context = bare.get("cuCtxCreate_v2", flags, 0)
    assert bare.get("cuCtxGetFlags") & 7 == flags
    bare.ok("cuCtxDestroy_v2", context)


def test_device_and_identity(cuda: Driver) -> None:
    assert cuda.get("cuCtxGetDevice") == 0
    first, second = Out(), Out()
    cuda.ok("cuCtxGetId", current(cuda), first)
    context = cuda.get("cuCtxCreate_v2", 0, 0)
    cuda.ok("cuCtxGetId", context, second)
    assert first.value != second.value
    cuda.ok("cuCtxDestroy_v2", context)


def test_limits(cuda: Driver) -> None:
    for limit, value in ((0, 4096), (1, 2 << 20), (2, 16 << 20)):
        cuda.ok("cuCtxSetLimit", limit, value)
        assert cuda.get("cuCtxGetLimit", limit) >= value
    assert cuda.call("cuCtxSetLimit", 3, 2) == UNSUPPORTED_LIMIT
    assert cuda.call("cuCtxGetLimit", None, 0) == INVALID_VALUE
    assert cuda.get("cuCtxGetLimit", 7) == cuda.attribute(97)  # the most shared memory that a block can have


def test_preferences(cuda: Driver) -> None:
    for value in range(4):
        cuda.ok("cuCtxSetCacheConfig", value)
        assert cuda.get("cuCtxGetCacheConfig") == value
    assert cuda.call("cuCtxSetCacheConfig", 4) == INVALID_VALUE


PRIMARY = """
out, flags, active = Out(), Out(), Out()

def state():
    cuda.ok("cuDevicePrimaryCtxGetState", 0, flags, active)
    return active.value

cuda.ok("cuInit", 0)
assert state() == 0
assert cuda.call("cuDevicePrimaryCtxRelease_v2", 0) == INVALID_CONTEXT
primary = cuda.get("cuDevicePrimaryCtxRetain", 0)
assert state() == 1
assert cuda.get("cuCtxGetCurrent") == 0, "retaining does not make current"
assert cuda.get("cuDevicePrimaryCtxRetain", 0) == primary
cuda.ok("cuDevicePrimaryCtxRelease_v2", 0)
assert state() == 1
cuda.ok("cuCtxSetCurrent", primary)
memory = cuda.alloc(64)
assert cuda.call("cuCtxDestroy_v2", primary) == INVALID_CONTEXT
cuda.ok("cuDevicePrimaryCtxReset_v2", 0)
assert state() == 0
assert cuda.get("cuDevicePrimaryCtxRetain", 0) == primary
assert state() == 1
cuda.ok("cuCtxSetCurrent", primary)
assert cuda.call("cuMemFree_v2", memory) == INVALID_VALUE, "memory survived the reset"
for _ in range(2):
    cuda.ok("cuDevicePrimaryCtxRelease_v2", 0)
assert state() == 0
assert cuda.call("cuDevicePrimaryCtxRelease_v2", 0) == INVALID_CONTEXT
assert cuda.get("cuDevicePrimaryCtxRetain", 0) == primary
for name, *arguments in (("Retain", out, 5), ("Release_v2", 5), ("Reset_v2", 5), ("SetFlags_v2", 5, 0),
                         ("GetState", 5, flags, active)):
    assert cuda.call("cuDevicePrimaryCtx" + name, *arguments) == INVALID_DEVICE, name
cuda.ok("cuDevicePrimaryCtxSetFlags_v2", 0, 4)
cuda.ok("cuDevicePrimaryCtxGetState", 0, flags, active)
assert flags.value & 7 == 4
assert cuda.call("cuDevicePrimaryCtxSetFlags_v2", 0, 1 << 20) == INVALID_VALUE
assert cuda.call("cuDevicePrimaryCtxSetFlags_v2", 0, 3) == INVALID_VALUE
"""


def test_the_primary_context(child: Child) -> None:
    """In a process of its own, where nobody has retained it before."""
    child.run(PRIMARY)
