"""16-bit floats against numpy and against exact arithmetic."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .support import Harness


@pytest.fixture(scope="module")
def lib(library: ctypes.CDLL, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    Harness(library, tmp_path_factory.mktemp("cache"))
    for name in ("t_half_from_double", "t_bfloat_from_double"):
        getattr(library, name).argtypes = [ctypes.c_double]
    for name in ("t_half_from_float", "t_bfloat_from_float"):
        getattr(library, name).argtypes = [ctypes.c_float]
    for name in ("t_half_from_double", "t_bfloat_from_double", "t_half_from_float", "t_bfloat_from_float"):
        getattr(library, name).restype = ctypes.c_uint16
    library.t_float_from_half.argtypes = [ctypes.c_uint16]
    library.t_float_from_half.restype = ctypes.c_float
    return library


def test_every_half_widens(lib: ctypes.CDLL) -> None:
    bits = np.arange(65536, dtype=np.uint16)
    wide = np.array([lib.t_float_from_half(int(b)) for b in bits], dtype=np.float32)
    expected = bits.view(np.float16).astype(np.float32)
    assert np.array_equal(wide, expected, equal_nan=True)
    real = ~np.isnan(expected)
    back = np.array([lib.t_half_from_float(float(f)) for f in wide[real]], dtype=np.uint16)
    assert np.array_equal(back, bits[real])


def near(value: float) -> st.SearchStrategy[float]:
    return st.floats(value * 0.9, value * 1.1)


INTERESTING = st.one_of(st.floats(), near(65520.0), near(2.0**-24), near(2.0**-14), near(3.4e38), near(2.0**-133))


@settings(max_examples=2000, deadline=None)
@given(INTERESTING)
def test_half_from_double(lib: ctypes.CDLL, value: float) -> None:
    with np.errstate(over="ignore"):
        expected = np.array([value]).astype(np.float16)
    got = np.array([lib.t_half_from_double(value)], dtype=np.uint16).view(np.float16)
    assert np.array_equal(got, expected, equal_nan=True)
    assert np.signbit(got)[0] == np.signbit(expected)[0]


def bfloat_candidates(value: float) -> int:
    """Round to nearest even by comparing with both neighbours exactly."""
    from fractions import Fraction

    sign = 0x8000 if np.signbit(value) else 0
    magnitude = Fraction(abs(value))
    low, high = 0, 0x7F80

    def as_value(bits: int) -> Fraction:
        # infinity takes the place of the next power of two
        return Fraction(struct.unpack("<f", struct.pack("<I", bits << 16))[0]) if bits < 0x7F80 else Fraction(2) ** 128

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if as_value(middle) <= magnitude else (low, middle)
    below, above = magnitude - as_value(low), as_value(high) - magnitude
    if low == 0x7F80 or magnitude >= as_value(0x7F80):
        return sign | 0x7F80
    return sign | (high if above < below or (above == below and high % 2 == 0) else low)


@settings(max_examples=1000, deadline=None)
@given(INTERESTING.filter(lambda v: np.isfinite(v)))
def test_bfloat_from_double(lib: ctypes.CDLL, value: float) -> None:
    assert lib.t_bfloat_from_double(value) == bfloat_candidates(value)
    with np.errstate(over="ignore"):
        single = float(np.float32(value))
    if np.isfinite(single):
        assert lib.t_bfloat_from_float(single) == bfloat_candidates(single)
