"""Queues, markers and transfers: order within a queue, side by side between queues."""

from __future__ import annotations

import ctypes
import random
import struct
import threading
import time

import numpy as np
import pytest

from .support import Harness, Kernels

Act = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# Adds one to out[ctaid] without an atomic: correct only if launches of a queue do not overlap.
COUNT = """
  %p = getelementptr i32, ptr %out, i32 %ctaid
  %v = load volatile i32, ptr %p
  %n = add i32 %v, 1
  store volatile i32 %n, ptr %p
  ret void"""


class Copy3D(ctypes.Structure):
    _fields_ = (
        ("to", ctypes.c_void_p),
        ("from_", ctypes.c_void_p),
        ("to_pitch", ctypes.c_size_t),
        ("from_pitch", ctypes.c_size_t),
        ("to_slice", ctypes.c_size_t),
        ("from_slice", ctypes.c_size_t),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
    )


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("threads", [1, 4])
def test_launches_of_a_queue_do_not_overlap(
    harness: Harness, kernels: Kernels, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setenv("FATLOAD_CPU_THREADS", str(threads))
    module = harness.module(b"count", kernels.code(COUNT), param_bytes=8)
    outs = [np.zeros(2000, dtype=np.int32) for _ in range(4)]
    queues = [harness.queue() for _ in outs]
    for _ in range(50):
        for queue, out in zip(queues, outs, strict=True):
            assert harness.launch(queue, module, 2000, 64, struct.pack("<Q", out.ctypes.data)) == 0
    for queue, out in zip(queues, outs, strict=True):
        assert harness.synchronize(queue) == 0
        assert (out == 100).all()  # two warps a CTA


def test_launches_from_many_threads(harness: Harness, kernels: Kernels) -> None:
    module = harness.module(b"threads", kernels.code(COUNT), param_bytes=8)
    outs = [np.zeros(8, dtype=np.int32) for _ in range(6)]

    def work(out: np.ndarray) -> None:
        queue = harness.queue()
        for i in range(500):
            harness.launch(queue, module, 8, 32, struct.pack("<Q", out.ctypes.data))
            if i % 50 == 0:
                harness.synchronize(queue)
        harness.synchronize(queue)
        harness.lib.t_destroy_queue(queue)

    workers = [threading.Thread(target=work, args=(out,)) for out in outs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all((out == 500).all() for out in outs)


@pytest.mark.parametrize("size", [1, 1000, (256 << 10) + 1, (5 << 20) + 3])
def test_copies_and_kernels_in_order(harness: Harness, kernels: Kernels, size: int) -> None:
    source = np.frombuffer(random.Random(size).randbytes(size), dtype=np.uint8)
    middle, target = np.zeros(size, dtype=np.uint8), np.zeros(size, dtype=np.uint8)
    queue = harness.queue()
    lib = harness.lib
    assert lib.t_copy(queue, pointer(middle), pointer(source), ctypes.c_size_t(size)) == 0
    assert lib.t_copy(queue, pointer(target), pointer(middle), ctypes.c_size_t(size)) == 0
    assert (
        lib.t_fill(queue, pointer(middle), ctypes.c_size_t(size), 7, 1, ctypes.c_size_t(size), ctypes.c_size_t(1)) == 0
    )
    assert harness.synchronize(queue) == 0
    assert np.array_equal(target, source)
    assert (middle == 7).all()


@pytest.mark.parametrize(("kind", "value"), [(np.uint8, 0xAB), (np.uint16, 0xABCD), (np.uint32, 0xABCDEF01)])
@pytest.mark.parametrize(("width", "height", "pitch"), [(5, 1, 5), (7, 9, 11), (700000, 3, 700001), (1, 1000, 3)])
def test_fills(harness: Harness, kind: type, value: int, width: int, height: int, pitch: int) -> None:
    out = np.zeros((height, pitch), dtype=kind)
    queue = harness.queue()
    result = harness.lib.t_fill(
        queue, pointer(out), ctypes.c_size_t(pitch * out.itemsize), value, out.itemsize, ctypes.c_size_t(width),
        ctypes.c_size_t(height),
    )  # fmt: skip
    assert result == 0
    assert harness.synchronize(queue) == 0
    assert (out[:, :width] == value).all()
    assert (out[:, width:] == 0).all()


def test_copies_of_boxes(harness: Harness) -> None:
    source = np.arange(4 * 6 * 8, dtype=np.uint8).reshape(4, 6, 8)
    target = np.zeros((3, 5, 7), dtype=np.uint8)
    box = Copy3D(target.ctypes.data, source[1, 2, 3:].ctypes.data, 7, 8, 35, 48, 4, 3, 2)
    queue = harness.queue()
    assert harness.lib.t_copy_3d(queue, ctypes.byref(box)) == 0
    assert harness.synchronize(queue) == 0
    assert np.array_equal(target[:2, :3, :4], source[1:3, 2:5, 3:7])
    assert target.sum() == source[1:3, 2:5, 3:7].sum()


def test_host_functions_run_in_order_and_may_block(harness: Harness, kernels: Kernels) -> None:
    """A host function that blocks holds up its own queue only."""
    module = harness.module(b"host", kernels.code(COUNT), param_bytes=8)
    out, other = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
    gate, seen = threading.Event(), []

    def act(_: object) -> None:
        gate.wait(10)
        seen.append(int(out[0]))

    callback = Act(act)
    first, second = harness.queue(), harness.queue()
    params = struct.pack("<Q", out.ctypes.data)
    assert harness.launch(first, module, 1, 32, params) == 0
    assert harness.lib.t_host(first, callback, None) == 0
    assert harness.launch(first, module, 1, 32, params) == 0
    assert harness.launch(second, module, 1, 32, struct.pack("<Q", other.ctypes.data)) == 0
    assert harness.synchronize(second) == 0
    assert other[0] == 1
    assert not harness.lib.t_idle(first)
    gate.set()
    assert harness.synchronize(first) == 0
    assert (seen, out[0]) == ([1], 2)


def test_markers_order_queues(harness: Harness, kernels: Kernels) -> None:
    module = harness.module(b"marker", kernels.code(COUNT), param_bytes=8)
    gate = threading.Event()
    callback = Act(lambda _: gate.wait(10))
    out = np.zeros(1, dtype=np.int32)
    params = struct.pack("<Q", out.ctypes.data)
    first, second = harness.queue(), harness.queue()
    marker = harness.marker()
    lib = harness.lib
    assert lib.t_reached(marker)  # never recorded
    lib.t_host(first, callback, None)
    lib.t_record(marker, first)
    lib.t_wait_in(marker, second)
    assert harness.launch(second, module, 1, 32, params) == 0
    time.sleep(0.02)
    assert not lib.t_reached(marker) and not lib.t_idle(second) and out[0] == 0
    before = time.monotonic_ns()
    gate.set()
    assert harness.synchronize(second) == 0
    assert out[0] == 1 and lib.t_reached(marker)
    assert before <= lib.t_nanoseconds(marker) <= time.monotonic_ns()
    # recorded again: waiting concerns the record that was last when the wait was queued
    gate.clear()
    lib.t_host(first, callback, None)
    lib.t_record(marker, first)
    lib.t_wait_in(marker, second)
    lib.t_host(first, callback, None)
    lib.t_record(marker, first)
    gate.set()
    assert harness.synchronize(second) == 0
    assert harness.synchronize(first) == 0


def test_synchronising_with_a_marker(harness: Harness, kernels: Kernels) -> None:
    module = harness.module(b"wait", kernels.code(COUNT), param_bytes=8)
    out = np.zeros(3000, dtype=np.int32)
    params = struct.pack("<Q", out.ctypes.data)
    queue, marker = harness.queue(), harness.marker()
    assert harness.lib.t_synchronize_marker(marker) == 0  # never recorded
    for turn in range(1, 30):
        for _ in range(3):
            harness.launch(queue, module, 3000, 32, params)
        harness.lib.t_record(marker, queue)
        assert harness.lib.t_synchronize_marker(marker) == 0
        assert (out == 3 * turn).all()


def test_a_chain_of_queues(harness: Harness, kernels: Kernels) -> None:
    module = harness.module(b"chain", kernels.code(COUNT), param_bytes=8)
    out = np.zeros(1, dtype=np.int32)
    params = struct.pack("<Q", out.ctypes.data)
    queues = [harness.queue() for _ in range(20)]
    for turn in range(200):
        queue = queues[turn % len(queues)]
        harness.launch(queue, module, 1, 32, params)
        marker = harness.marker()
        harness.lib.t_record(marker, queue)
        harness.lib.t_wait_in(marker, queues[(turn + 1) % len(queues)])
    for queue in queues:
        assert harness.synchronize(queue) == 0
    assert out[0] == 200


def test_a_destroyed_queue_finishes_its_work(harness: Harness, kernels: Kernels) -> None:
    module = harness.module(b"destroyed", kernels.code(COUNT), param_bytes=8)
    out = np.zeros(3000, dtype=np.int32)
    queue, other = harness.queue(), harness.queue()
    marker = harness.marker()
    for _ in range(20):
        harness.launch(queue, module, 3000, 32, struct.pack("<Q", out.ctypes.data))
    harness.lib.t_record(marker, queue)
    harness.lib.t_destroy_queue(queue)
    harness.lib.t_wait_in(marker, other)
    assert harness.synchronize(other) == 0
    assert (out == 20).all()


def test_memory(harness: Harness) -> None:
    lib = harness.lib
    blocks = []
    for size in (1, 511, 4096, 1 << 20, (5 << 20) + 1):
        out = ctypes.c_void_p()
        assert lib.t_allocate(harness.device, ctypes.c_size_t(size), ctypes.byref(out)) == 0
        assert out.value and out.value % 512 == 0
        ctypes.memset(out, 1, size)
        blocks.append(out)
    out = ctypes.c_void_p()
    assert lib.t_allocate(harness.device, ctypes.c_size_t(0), ctypes.byref(out)) == 1
    assert lib.t_allocate(harness.device, ctypes.c_size_t(1 << 50), ctypes.byref(out)) == 2
    assert lib.t_allocate(harness.device, ctypes.c_size_t(2**64 - 1), ctypes.byref(out)) == 2
    for block in blocks:
        assert lib.t_release(harness.device, block) == 0
        assert lib.t_release(harness.device, block) == 1
