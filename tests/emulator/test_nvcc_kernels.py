"""Vector add and a reduction in shared memory from PTX, executed as gfx1100 code."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from fatload.codegen.amdgcn.module import translate_module

from .machine import Emulator, EmulatorError

DATA = Path(__file__).with_name("data")


@pytest.fixture(scope="module")
def code() -> bytes:
    return translate_module((DATA / "kernels.ptx").read_text(), "gfx1100")


def test_vector_add(code: bytes) -> None:
    """A grid whose last CTA is partial: nothing behind the end is written."""
    n = 1000
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(1024).astype(np.float32) for _ in range(2))
    e = Emulator(code)
    pa, pb, pc = e.memory.allocate(a.tobytes()), e.memory.allocate(b.tobytes()), e.memory.allocate(4096)
    e.launch("vecadd", (4, 1, 1), (256, 1, 1), struct.pack("<QQQi", pa, pb, pc, n))
    c = np.frombuffer(e.memory.read(pc, 4096), np.float32)
    assert np.array_equal(c[:n], (a + b)[:n])
    assert not c[n:].any()


@pytest.mark.parametrize("threads", [32, 256])
def test_shared_reduction(code: bytes, threads: int) -> None:
    """Barriers, LDS and divergent tails; whole numbers, so that the sum is exact in any order."""
    values = np.random.default_rng(2).integers(0, 100, 4096).astype(np.float32)
    e = Emulator(code)
    source, target = e.memory.allocate(values.tobytes()), e.memory.allocate(8)
    e.launch(f"reduce{threads}", (2, 1, 1), (threads, 1, 1), struct.pack("<QQi", source, target, values.size))
    sums = np.frombuffer(e.memory.read(target, 8), np.float32)
    assert sums.sum() == values.sum()
    assert (sums > 0).all()


def test_out_of_bounds_is_caught(code: bytes) -> None:
    """The emulator is no rubber stamp: a wild address stops it."""
    e = Emulator(code)
    with pytest.raises(EmulatorError, match="in no buffer"):
        e.launch("vecadd", (1, 1, 1), (32, 1, 1), struct.pack("<QQQi", 64, 64, 64, 32))
