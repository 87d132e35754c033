"""What goes wrong in a kernel ends the launch, is told on stderr, sticks, and leaves the process alive."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from .support import Harness, Kernels

NULL_STORE = """
  %there = icmp eq i32 %ctaid, 5
  %here = icmp eq i32 %warp, 1
  %bad = and i1 %there, %here
  br i1 %bad, label %fault, label %done
fault:
  %address = inttoptr i64 4660 to ptr
  store volatile i32 1, ptr %address
  br label %done
done:
  ret void"""

DIVIDE = """
  %zero = load volatile i32, ptr %active.p
  %z = sub i32 %zero, %active
  %q = sdiv i32 %ntid, %z
  store volatile i32 %q, ptr %active.p
  ret void"""

TRAP = """
  call void %trap.f(ptr %w, i32 %active, i32 0, i32 12)
  ret void"""

RECURSE = """
define void @deep(ptr %w, i32 %n) noinline {
  %room = alloca [64 x i32], align 16
  store volatile i32 %n, ptr %room
  %m = add i32 %n, 1
  call void @deep(ptr %w, i32 %m)
  store volatile i32 %n, ptr %room
  ret void
}
"""

MISALIGNED = """
  %odd = getelementptr i8, ptr %shared, i64 4
  %v = load volatile <8 x i32>, ptr %odd, align 32
  store volatile <8 x i32> %v, ptr %odd, align 32
  ret void"""


@pytest.mark.parametrize("flags", ["-", "barrier", "yield"])
@pytest.mark.parametrize(
    ("body", "outside", "code", "says"),
    [
        (NULL_STORE, "", 700, "CTA (5,0,0), warp 1: an illegal access to address 0x1234"),
        (DIVIDE, "", 719, "an integer division failed"),
        (TRAP, "", 719, "a trap instruction (line 12 of the PTX)"),
        ("  call void @deep(ptr %w, i32 0)\n  ret void", RECURSE, 719, "its stack is exhausted"),
        (MISALIGNED, "", 700, "an access to an impossible address"),
    ],
)
def test_faults(
    harness: Harness,
    kernels: Kernels,
    capfd: pytest.CaptureFixture[str],
    flags: str,
    body: str,
    outside: str,
    code: int,
    says: str,
) -> None:
    module = harness.module(b"fault", kernels.code(body, outside), flags=flags, shared=256, name="broken")
    queue = harness.queue()
    assert harness.launch(queue, module, 20, 64) == 0
    assert harness.synchronize(queue) == code
    message = capfd.readouterr().err
    assert message.startswith("fatload: kernel broken: CTA (")
    assert says in message
    assert message.count("\n") == 1
    assert harness.lib.t_error(harness.device) == code
    assert harness.launch(queue, module, 1, 32) == code
    assert harness.lib.t_copy(queue, None, None, ctypes.c_size_t(8)) == code


def test_a_fault_in_place(harness: Harness, kernels: Kernels, capfd: pytest.CaptureFixture[str]) -> None:
    """The second launch of a small kernel runs on the calling thread; its fault must not end that thread."""
    body = """
  %v = load volatile i32, ptr %out
  ret void"""
    module = harness.module(b"inplace", kernels.code(body), param_bytes=8)
    queue = harness.queue()
    good = ctypes.c_uint64(0)
    for _ in range(3):
        assert harness.launch(queue, module, 1, 32, ctypes.addressof(good).to_bytes(8, "little")) == 0
        assert harness.synchronize(queue) == 0
    harness.launch(queue, module, 1, 32, (0x1000).to_bytes(8, "little"))
    assert harness.synchronize(queue) == 700
    assert "address 0x1000" in capfd.readouterr().err


ASSERT = """
  %message = alloca [32 x i64]
  %line = alloca [32 x i32]
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  %m.p = getelementptr i64, ptr %message, i32 %i
  store i64 ptrtoint (ptr @text to i64), ptr %m.p
  %l.p = getelementptr i32, ptr %line, i32 %i
  store i32 42, ptr %l.p
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 32
  br i1 %more, label %loop, label %fail
fail:
  call void %assert.f(ptr %w, i32 2, ptr %message, ptr %message, ptr %line, ptr %message, ptr %message)
  ret void"""


def test_assert(harness: Harness, kernels: Kernels, capfd: pytest.CaptureFixture[str]) -> None:
    code = kernels.code(ASSERT, '@text = private constant [6 x i8] c"x > y\\00"')
    module = harness.module(b"assert", code)
    queue = harness.queue()
    assert harness.launch(queue, module, 1, (8, 4)) == 0
    assert harness.synchronize(queue) == 710
    line = "x > y:42: x > y: block: [0,0,0], thread: [1,0,0] Assertion `x > y` failed.\n"
    assert capfd.readouterr().err == line


def test_other_faults_reach_the_program(harness: Harness, kernels: Kernels) -> None:
    """A handler that the program installed, and the default action, still serve faults outside of kernels."""
    program = textwrap.dedent(
        """
        import ctypes, faulthandler, os, sys
        from device.support import Harness, Kernels
        if sys.argv[2] == "handler":
            faulthandler.enable()
        from pathlib import Path
        harness = Harness(ctypes.CDLL(sys.argv[1]), Path(os.environ["FATLOAD_CACHE_DIR"]))
        module = harness.module(b"empty", Kernels().code("  ret void"))
        queue = harness.queue()
        for i in range(3):
            assert harness.launch(queue, module, 1, 32) == 0 and harness.synchronize(queue) == 0
        ctypes.string_at(8)
        """
    )
    for mode, says in (("handler", "Fatal Python error: Segmentation fault"), ("default", "")):
        environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(__file__))}
        result = subprocess.run(
            [sys.executable, "-c", program, harness.lib._name, mode],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
        )
        assert result.returncode == -signal.SIGSEGV, result.stderr
        assert says in result.stderr


@pytest.mark.parametrize("explicit", [False, True])
def test_a_forked_child_computes(harness: Harness, kernels: Kernels, explicit: bool) -> None:
    module = harness.module(b"fork", kernels.code("  store i32 %nctaid, ptr %out\n  ret void"), param_bytes=8)
    queue = harness.queue()
    result = ctypes.c_uint32(0)
    params = ctypes.addressof(result).to_bytes(8, "little")
    assert harness.launch(queue, module, 3, 32, params) == 0
    assert harness.synchronize(queue) == 0
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(20)
            if explicit:
                harness.lib.t_after_fork(harness.device)
            good = harness.launch(queue, module, 100000, 32, params) == 0 and harness.synchronize(queue) == 0
            os._exit(0 if good and result.value == 100000 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert harness.launch(queue, module, 4, 32, params) == 0
    assert harness.synchronize(queue) == 0
    assert result.value == 4


def test_forks_while_kernels_run(harness: Harness, kernels: Kernels) -> None:
    """A fork at any moment leaves a child that can compute, and the parent's work goes on."""
    module = harness.module(b"fork2", kernels.code("  store i32 %nctaid, ptr %out\n  ret void"), param_bytes=8)
    queue = harness.queue()
    result = ctypes.c_uint32(0)
    params = ctypes.addressof(result).to_bytes(8, "little")
    for turn in range(20):
        for _ in range(5):
            assert harness.launch(queue, module, 20000, 32, params) == 0
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(20)
                result.value = 0
                good = harness.launch(queue, module, 777, 64, params) == 0 and harness.synchronize(queue) == 0
                os._exit(0 if good and result.value == 777 else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0, turn
    assert harness.synchronize(queue) == 0
    assert result.value == 20000
