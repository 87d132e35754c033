"""Launches: CTAs of all shapes, barriers, CTAs that wait for each other, and what happens when they cannot."""

from __future__ import annotations

import ctypes
import struct
import time

import numpy as np
import pytest

from .support import Harness, Kernels

SAXPY = """
  %x.p = getelementptr i8, ptr %params, i64 8
  %x = load ptr, ptr %x.p
  %n.p = getelementptr i8, ptr %params, i64 16
  %n = load i32, ptr %n.p
  %a.p = getelementptr i8, ptr %params, i64 20
  %a = load float, ptr %a.p
  %cta.first = mul i32 %ctaid, %ntid
  %warp.first = mul i32 %warp, 32
  %first = add i32 %cta.first, %warp.first
  br label %loop
loop:
  %lane = phi i32 [0, %entry], [%next, %again]
  %i = add i32 %first, %lane
  %bit = shl i32 1, %lane
  %set = and i32 %bit, %active
  %there = icmp ne i32 %set, 0
  %below = icmp ult i32 %i, %n
  %go = and i1 %there, %below
  br i1 %go, label %do, label %again
do:
  %xi.p = getelementptr float, ptr %x, i32 %i
  %xi = load float, ptr %xi.p
  %yi.p = getelementptr float, ptr %out, i32 %i
  %yi = load float, ptr %yi.p
  %ax = fmul float %a, %xi
  %s = fadd float %ax, %yi
  store float %s, ptr %yi.p
  br label %again
again:
  %next = add i32 %lane, 1
  %more = icmp ult i32 %next, 32
  br i1 %more, label %loop, label %done
done:
  ret void
"""

# Each warp puts warp + 1 into shared memory, waits for the CTA, and adds up what all of them put there.
SUM = """
  %own.p = getelementptr i32, ptr %shared, i32 %warp
  %own = add i32 %warp, 1
  store i32 %own, ptr %own.p
  %a = call i32 %barrier.f(ptr %w, i32 0, i32 0, i32 %active, i32 0, i32 0)
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  %sum = phi i32 [0, %entry], [%plus, %loop]
  %p = getelementptr i32, ptr %shared, i32 %i
  %v = load i32, ptr %p
  %plus = add i32 %sum, %v
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %nwarps
  br i1 %more, label %loop, label %done
done:
  %b = call i32 %barrier.f(ptr %w, i32 0, i32 0, i32 %active, i32 0, i32 0)
  %base = mul i32 %ctaid, %nwarps
  %at = add i32 %base, %warp
  %o = getelementptr i32, ptr %out, i32 %at
  store i32 %plus, ptr %o
  ret void
"""


def array_pointer(array: np.ndarray) -> int:
    return int(array.ctypes.data)


@pytest.mark.parametrize("threads", [1, 32, 33, 128, 1024])
def test_saxpy(harness: Harness, kernels: Kernels, threads: int) -> None:
    module = harness.module(b"saxpy", kernels.code(SAXPY), param_bytes=24)
    n = 10000
    x = np.arange(n, dtype=np.float32)
    y = np.ones(n, dtype=np.float32)
    params = struct.pack("<QQIf", array_pointer(y), array_pointer(x), n, 2.0)
    queue = harness.queue()
    assert harness.launch(queue, module, (n + threads - 1) // threads, threads, params) == 0
    assert harness.synchronize(queue) == 0
    assert np.array_equal(y, 2 * x + 1)


@pytest.mark.parametrize(("grid", "block"), [(5, 1), (7, 33), (3, (16, 16)), (40, 1024), ((2, 3, 4), (8, 4, 2))])
def test_barriers(harness: Harness, kernels: Kernels, grid: object, block: object) -> None:
    module = harness.module(b"sum", kernels.code(SUM), flags="barrier", shared=128, param_bytes=8)
    threads = int(np.prod(block))
    warps, ctas = (threads + 31) // 32, int(np.prod(grid))
    out = np.zeros(ctas * warps, dtype=np.int32)
    queue = harness.queue()
    for _ in range(3):
        assert harness.launch(queue, module, grid, block, struct.pack("<Q", array_pointer(out))) == 0  # type: ignore[arg-type]
    assert harness.synchronize(queue) == 0
    rows = out.reshape(ctas, warps)
    # ctaid.x alone names the CTA in this kernel, so only the first row of a grid writes
    rows = rows[: grid[0] if isinstance(grid, tuple) else ctas]
    assert (rows == warps * (warps + 1) // 2).all()


@pytest.mark.parametrize(("operation", "expected"), [(2, 3), (3, 0), (4, 1)])
def test_barrier_reductions(harness: Harness, kernels: Kernels, operation: int, expected: int) -> None:
    body = f"""
  %first = icmp eq i32 %warp, 1
  %predicates = select i1 %first, i32 7, i32 0
  %r = call i32 %barrier.f(ptr %w, i32 3, i32 0, i32 %active, i32 {operation}, i32 %predicates)
  %o = getelementptr i32, ptr %out, i32 %warp
  store i32 %r, ptr %o
  ret void"""
    module = harness.module(b"red", kernels.code(body), flags="barrier", param_bytes=8)
    out = np.full(4, -1, dtype=np.int32)
    queue = harness.queue()
    assert harness.launch(queue, module, 1, 100, struct.pack("<Q", array_pointer(out))) == 0
    assert harness.synchronize(queue) == 0
    assert out.tolist() == [expected] * 4


def test_barrier_and_of_a_partial_warp(harness: Harness, kernels: Kernels) -> None:
    body = """
  %r = call i32 %barrier.f(ptr %w, i32 0, i32 0, i32 %active, i32 3, i32 %active)
  %o = getelementptr i32, ptr %out, i32 %warp
  store i32 %r, ptr %o
  ret void"""
    module = harness.module(b"and", kernels.code(body), flags="barrier", param_bytes=8)
    out = np.zeros(2, dtype=np.int32)
    queue = harness.queue()
    assert harness.launch(queue, module, 1, 33, struct.pack("<Q", array_pointer(out))) == 0
    assert harness.synchronize(queue) == 0
    assert out.tolist() == [1, 1]


def test_warps_that_left_do_not_hold_up_a_barrier(harness: Harness, kernels: Kernels) -> None:
    body = """
  %gone = icmp ugt i32 %warp, 1
  br i1 %gone, label %done, label %wait
wait:
  %r = call i32 %barrier.f(ptr %w, i32 0, i32 0, i32 %active, i32 0, i32 0)
  %o = getelementptr i32, ptr %out, i32 %warp
  store i32 7, ptr %o
  br label %done
done:
  ret void"""
    module = harness.module(b"exit", kernels.code(body), flags="barrier", param_bytes=8)
    out = np.zeros(4, dtype=np.int32)
    queue = harness.queue()
    assert harness.launch(queue, module, 3, 128, struct.pack("<Q", array_pointer(out))) == 0
    assert harness.synchronize(queue) == 0
    assert out.tolist() == [7, 7, 0, 0]


def test_producers_arrive_and_consumers_wait(harness: Harness, kernels: Kernels) -> None:
    # Warps 2 and 3 produce and do not wait; 0 and 1 wait for 128 threads at barrier 5, three times.
    body = """
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %again]
  %producer = icmp ugt i32 %warp, 1
  br i1 %producer, label %produce, label %consume
produce:
  %s.p = getelementptr i32, ptr %shared, i32 %warp
  store i32 %i, ptr %s.p
  %p = call i32 %barrier.f(ptr %w, i32 5, i32 128, i32 %active, i32 1, i32 0)
  %p2 = call i32 %barrier.f(ptr %w, i32 6, i32 128, i32 %active, i32 0, i32 0)
  br label %again
consume:
  %c = call i32 %barrier.f(ptr %w, i32 5, i32 128, i32 %active, i32 0, i32 0)
  %from = add i32 %warp, 2
  %c.p = getelementptr i32, ptr %shared, i32 %from
  %v = load i32, ptr %c.p
  %row = mul i32 %i, 2
  %at = add i32 %row, %warp
  %o = getelementptr i32, ptr %out, i32 %at
  store i32 %v, ptr %o
  %c2 = call i32 %barrier.f(ptr %w, i32 6, i32 128, i32 %active, i32 0, i32 0)
  br label %again
again:
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 3
  br i1 %more, label %loop, label %done
done:
  ret void"""
    module = harness.module(b"arrive", kernels.code(body), flags="barrier", shared=64, param_bytes=8)
    out = np.full(6, -1, dtype=np.int32)
    queue = harness.queue()
    assert harness.launch(queue, module, 1, 128, struct.pack("<Q", array_pointer(out))) == 0
    assert harness.synchronize(queue) == 0
    assert out.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_barrier_that_cannot_complete_is_an_error(
    harness: Harness, kernels: Kernels, capfd: pytest.CaptureFixture[str]
) -> None:
    body = """
  %first = icmp eq i32 %warp, 0
  %id = select i1 %first, i32 1, i32 2
  %r = call i32 %barrier.f(ptr %w, i32 %id, i32 64, i32 %active, i32 0, i32 0)
  ret void"""
    module = harness.module(b"deadlock", kernels.code(body), flags="barrier", name="stuck")
    queue = harness.queue()
    assert harness.launch(queue, module, 2, 64) == 0
    assert harness.synchronize(queue) == 719
    assert harness.lib.t_error(harness.device) == 719
    message = capfd.readouterr().err
    assert message.count("\n") == 1
    assert "kernel stuck: CTA (" in message and "barrier 1 waits for 64 threads, 32 arrived" in message
    assert "barrier 2 waits" in message
    # the error sticks
    assert harness.launch(queue, module, 1, 64) == 719


WAIT_FOR_NEIGHBOUR = """
  %mine.p = getelementptr i32, ptr %out, i32 %ctaid
  %other = {other}
  %edge = icmp eq i32 %ctaid, {first}
  br i1 %edge, label %done, label %spin
spin:
  %p = getelementptr i32, ptr %out, i32 %other
  %v = load atomic i32, ptr %p acquire, align 4
  %set = icmp ne i32 %v, 0
  br i1 %set, label %done, label %wait
wait:
  call void %yield.f(ptr %w)
  br label %spin
done:
  %o = load atomic i32, ptr %mine.p acquire, align 4
  %n = atomicrmw add ptr %mine.p, i32 1 release
  ret void
"""


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_ctas_wait_for_earlier_ones(
    harness: Harness, kernels: Kernels, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setenv("FATLOAD_CPU_THREADS", str(threads))
    code = kernels.code(WAIT_FOR_NEIGHBOUR.format(other="sub i32 %ctaid, 1", first=0))
    module = harness.module(b"lookback", code, flags="yield", param_bytes=8)
    out = np.zeros(5000, dtype=np.int32)
    queue = harness.queue()
    assert harness.launch(queue, module, len(out), 32, struct.pack("<Q", array_pointer(out))) == 0
    assert harness.synchronize(queue) == 0
    assert (out == 1).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_all_ctas_of_a_cooperative_launch_are_live(
    harness: Harness, kernels: Kernels, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    # CTA i waits for CTA i + 1, so none ends before the last has started.
    monkeypatch.setenv("FATLOAD_CPU_THREADS", str(threads))
    ctas = harness.lib.t_multiprocessors(harness.device) * 12
    code = kernels.code(WAIT_FOR_NEIGHBOUR.format(other="add i32 %ctaid, 1", first=ctas - 1))
    module = harness.module(b"ahead", code, flags="yield", param_bytes=8)
    assert harness.lib.t_max_active(harness.device, module, 0, 128, ctypes.c_size_t(0)) == 12
    out = np.zeros(ctas, dtype=np.int32)
    params = struct.pack("<Q", array_pointer(out))
    queue = harness.queue()
    assert harness.launch(queue, module, ctas, 128, params, cooperative=True) == 0
    assert harness.synchronize(queue) == 0
    assert (out == 4).all()
    assert harness.launch(queue, module, ctas + 1, 128, params, cooperative=True) == 720


def test_a_kernel_that_waits_for_the_host(harness: Harness, kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that spins until the host writes; meanwhile another queue makes progress on the only worker."""
    monkeypatch.setenv("FATLOAD_CPU_THREADS", "1")
    spin = harness.module(
        b"host",
        kernels.code(WAIT_FOR_NEIGHBOUR.format(other="add i32 %ctaid, 1", first=99)),
        flags="yield",
        param_bytes=8,
    )
    saxpy = harness.module(b"saxpy", kernels.code(SAXPY), param_bytes=24)
    flags = np.zeros(2, dtype=np.int32)
    first, second = harness.queue(), harness.queue()
    assert harness.launch(first, spin, 1, 32, struct.pack("<Q", array_pointer(flags))) == 0
    x, y = np.ones(64, dtype=np.float32), np.ones(64, dtype=np.float32)
    params = struct.pack("<QQIf", array_pointer(y), array_pointer(x), 64, 2.0)
    for _ in range(50):
        assert harness.launch(second, saxpy, 1, 64, params) == 0
    assert harness.synchronize(second) == 0
    assert (y == 101).all()
    time.sleep(0.05)
    assert not harness.lib.t_idle(first)
    flags[1] = 1
    assert harness.synchronize(first) == 0
    assert flags[0] == 1


@pytest.mark.parametrize(
    ("grid", "block"), [((0, 1, 1), 32), (1, (0, 1, 1)), (1, 1025), (1, (32, 33, 1)), ((1, 65536, 1), 32)]
)
def test_bad_shapes(harness: Harness, kernels: Kernels, grid: object, block: object) -> None:
    module = harness.module(b"shape", kernels.code("  ret void"))
    assert harness.launch(harness.queue(), module, grid, block) == 1  # type: ignore[arg-type]
    assert harness.lib.t_error(harness.device) == 0


def test_too_much_shared_memory_and_short_parameters(harness: Harness, kernels: Kernels) -> None:
    module = harness.module(b"limits", kernels.code("  ret void"), param_bytes=16, shared=1024)
    queue = harness.queue()
    assert harness.launch(queue, module, 1, 32, bytes(16), dynamic=98 << 10) == 0
    assert harness.launch(queue, module, 1, 32, bytes(16), dynamic=(98 << 10) + 1) == 1
    assert harness.launch(queue, module, 1, 32, bytes(15)) == 1
    assert harness.synchronize(queue) == 0


CONTROL = """
  %control = alloca i32
  {set}
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  %r = call i32 %barrier.f(ptr %w, i32 0, i32 0, i32 %active, i32 0, i32 0)
  call void %yield.f(ptr %w)
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %warp
  br i1 %more, label %loop, label %done
done:
  call void @llvm.x86.sse.stmxcsr(ptr %control)
  %now = load i32, ptr %control
  %o = getelementptr i32, ptr %out, i32 %warp
  store i32 %now, ptr %o
  ; as at the end of an entry that set bits for the whole kernel
  store i32 8064, ptr %control
  call void @llvm.x86.sse.ldmxcsr(ptr %control)
  ret void"""


@pytest.mark.parametrize("control", [0x1F80, 0x9FC0, 0x7F80])
def test_control_words_survive_waiting(harness: Harness, kernels: Kernels, control: int) -> None:
    """Warps that have ended or not begun run between those that flush subnormals or round otherwise."""
    outside = "declare void @llvm.x86.sse.ldmxcsr(ptr)\ndeclare void @llvm.x86.sse.stmxcsr(ptr)"
    change = f"store i32 {control}, ptr %control\n  call void @llvm.x86.sse.ldmxcsr(ptr %control)"
    body = CONTROL.format(set=change if control != 0x1F80 else "")
    module = harness.module(b"control", kernels.code(body, outside), flags="barrier,yield", param_bytes=8)
    out = np.zeros(8, dtype=np.int32)
    queue = harness.queue()
    for _ in range(3):
        assert harness.launch(queue, module, 5, 256, struct.pack("<Q", array_pointer(out))) == 0
    assert harness.synchronize(queue) == 0
    assert out.tolist() == [control] * 8
