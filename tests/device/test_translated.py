"""Kernels of nvcc, translated and run on the device: the contract between the code generator and the runtime."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.compiler import Compiler
from tests.support import build_folder

from .support import Harness, cache_bytes, module_id, object_id

SOURCE = r"""
#include <cassert>
#include <cstdio>
extern "C" {
__global__ void vadd(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void reduce(const int *x, int *out, int n) {
  extern __shared__ int s[];
  int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y, v = 0;
  for (int i = blockIdx.x * threads + t; i < n; i += gridDim.x * threads) v += x[i];
  s[t] = v;
  __syncthreads();
  for (int k = threads / 2; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void early(int *out, int n) {
  __shared__ int s[128];
  if ((int)threadIdx.x >= n) return;
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[(threadIdx.x + 1) % n];
}
__global__ void some(int *out, int n) {
  __shared__ int s[256];
  int t = threadIdx.x;
  if (t < n) {
    s[t] = t;
    __syncthreads();
    out[t] = s[n - 1 - t];
  }
}
__device__ int turn, counter;
__global__ void lookback(int *out) {
  if (threadIdx.x == 0) {
    while (*(volatile int *)&turn != (int)blockIdx.x) {}
    out[blockIdx.x] = blockIdx.x;
    __threadfence();
    *(volatile int *)&turn = blockIdx.x + 1;
  }
  __syncthreads();
  atomicAdd(&counter, 1);
}
__global__ void count(int *out) { *out = counter; }
__global__ void hello(int n) {
  if (threadIdx.x % 32 == 3) printf("lane %d of %d: %5.2f %s|", threadIdx.x, n, 0.5, "text");
}
__global__ void refuse(int n) { assert((int)threadIdx.x < n); }
__global__ void fall() { __trap(); }
__global__ void stray(int *p) { if (threadIdx.x == 33) p[-(1ll << 38)] = 1; }
__global__ void votes(int *out) {
  int t = threadIdx.x;
  out[t] = __syncthreads_count(t % 3 == 0);
  out[t] += 1000 * __syncthreads_and(t < 1000) + 10000 * __syncthreads_or(t == 77);
}
}
"""

GRID = r"""
#include <cooperative_groups.h>
extern "C" __global__ void grid(int *out, int n) {
  auto all = cooperative_groups::this_grid();
  int self = all.thread_rank();
  for (int turn = 0; turn < 5; ++turn) {
    out[self] = self + turn;
    all.sync();
    int next = out[(self + 33) % n];
    all.sync();
    if (next != (self + 33) % n + turn) __trap();
  }
}
"""


class Program:
    """The module on one device."""

    def __init__(self, harness: Harness, ptx: str) -> None:
        from fatload.codegen.translate import translate
        from fatload.ptx.manifest import manifest_text_and_payload

        self.harness = harness
        image = ptx.encode()
        identity = module_id(image)
        text, payload = manifest_text_and_payload(ptx)
        harness.write("manifest", identity, cache_bytes("manifest", text, payload))
        lines = [line.split("\t") for line in text.splitlines()]
        self.names = [line[1] for line in lines if line[0] == "kernel"]
        for name in self.names:
            for shape in ("row", "any"):
                described, code = translate(ptx, name, "x86-64-v3", shape)
                data = cache_bytes("object", described, code)
                harness.write("object", object_id(identity, name, "x86-64-v3", shape), data)
        result, self.module, log = harness.load(image)
        assert result == 0, log
        self.queue = harness.queue()

    def run(
        self,
        name: str,
        grid: int,
        block: int | tuple[int, ...],
        *arguments: object,
        shared: int = 0,
        cooperative: bool = False,
    ) -> int:
        """Launches and synchronises; answers the result of the latter."""
        params = b""
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                params += bytes(-len(params) % 8) + struct.pack("<Q", argument.ctypes.data)
            else:
                params += struct.pack("<i", argument)
        x, y = (block, 1) if isinstance(block, int) else block
        shape = (ctypes.c_uint32 * 7)(grid, 1, 1, x, y, 1, shared)
        kernel = self.names.index(name)
        size = ctypes.c_size_t(len(params))
        assert self.harness.lib.t_launch(self.queue, self.module, kernel, shape, cooperative, params, size) == 0
        return self.harness.synchronize(self.queue)


def compile_cuda(source: str, folder: Path) -> str:
    path = folder / "kernels.cu"
    path.write_text(source)
    return Compiler(build_folder() / "programs").compile(path, "-ptx", "-arch=compute_75", suffix=".ptx").read_text()


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_cuda(SOURCE, tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="module")
def grid_ptx(tmp_path_factory: pytest.TempPathFactory) -> str:
    text = compile_cuda(GRID, tmp_path_factory.mktemp("cuda"))
    # CUDA's headers put the operation in front of semantics and scope; the order of the other atomics is tested here.
    return text.replace("atom.add.release.gpu", "atom.release.gpu.add")


@pytest.fixture
def program(harness: Harness, ptx: str) -> Program:
    return Program(harness, ptx)


def test_kernels(program: Program) -> None:
    source = np.random.default_rng(1)
    n = 10001
    a, b, c = source.random(n, dtype=np.float32), source.random(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
    assert program.run("vadd", (n + 255) // 256, 256, a, b, c, n) == 0
    assert np.array_equal(c, a + b)
    x, sums = source.integers(-1000, 1000, n, dtype=np.int32), np.zeros(13, dtype=np.int32)
    for block in (256, 64, (16, 16), (8, 4), (32, 32), 1):
        sums[:] = 0
        threads = int(np.prod(block))
        assert program.run("reduce", 13, block, x, sums, n, shared=4 * threads) == 0
        assert sums.sum() == x.sum(), block


@pytest.mark.parametrize("n", [1, 31, 32, 33, 100, 128])
def test_threads_that_leave_or_skip_a_barrier(program: Program, n: int) -> None:
    out = np.full(256, -1, dtype=np.int32)
    assert program.run("early", 1, 128, out, n) == 0
    assert np.array_equal(out[:n], (np.arange(n) + 1) % n)
    assert (out[n:] == -1).all()
    assert program.run("some", 1, 256, out, n) == 0
    assert np.array_equal(out[:n], np.arange(n)[::-1])


def test_ctas_that_wait_for_each_other_and_a_counter_of_two_kernels(program: Program) -> None:
    out = np.full(1500, -1, dtype=np.int32)
    assert program.run("lookback", len(out), 96, out) == 0
    assert np.array_equal(out, np.arange(len(out)))
    total = np.zeros(1, dtype=np.int32)
    assert program.run("count", 1, 1, total) == 0
    assert total[0] == len(out) * 96


@pytest.mark.parametrize("threads", ["1", "3"])
def test_grid_wide_barriers(harness: Harness, grid_ptx: str, monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    monkeypatch.setenv("FATLOAD_CPU_THREADS", threads)
    program = Program(harness, grid_ptx)
    out = np.zeros(12 * 128, dtype=np.int32)
    for _ in range(3):
        assert program.run("grid", 12, 128, out, len(out), cooperative=True) == 0
    assert np.array_equal(out, np.arange(len(out)) + 4)


def test_grid_wide_barriers_need_a_cooperative_launch(harness: Harness, grid_ptx: str) -> None:
    program = Program(harness, grid_ptx)
    out = np.zeros(256, dtype=np.int32)
    assert program.run("grid", 2, 128, out, len(out)) == 719


def test_barrier_reductions(program: Program) -> None:
    out = np.zeros(100, dtype=np.int32)
    assert program.run("votes", 1, 100, out) == 0
    assert (out == 34 + 1000 + 10000).all()


def test_print_and_assert(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    assert program.run("hello", 1, 64, 7) == 0
    printed = capfd.readouterr().out
    assert sorted(printed.split("|")) == ["", "lane 3 of 7:  0.50 text", "lane 35 of 7:  0.50 text"]
    assert program.run("refuse", 1, 64, 63) == 710
    message = capfd.readouterr().err
    assert "block: [0,0,0], thread: [63,0,0] Assertion `(int)threadIdx.x < n` failed." in message


@pytest.mark.parametrize(
    ("name", "code", "says"), [("fall", 719, "a trap"), ("stray", 700, "warp 1: an illegal access")]
)
def test_errors(program: Program, capfd: pytest.CaptureFixture[str], name: str, code: int, says: str) -> None:
    arguments = [np.zeros(1, dtype=np.int32)] if name == "stray" else []
    assert program.run(name, 1, 64, *arguments) == code
    assert says in capfd.readouterr().err
