"""Formats of device printf against C's printf, and printing from kernels."""

from __future__ import annotations

import ctypes
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .support import Harness, Kernels

libc = ctypes.CDLL(None)


def device_format(harness: Harness, text: bytes, block: bytes) -> tuple[bytes, int]:
    room = 1 << 16
    out = ctypes.create_string_buffer(room)
    aligned = (ctypes.c_uint64 * (len(block) // 8 + 2))()
    ctypes.memmove(aligned, block, len(block))
    count = harness.lib.t_format(text, aligned, out, ctypes.c_size_t(room))
    return out.value, count


def c_format(text: bytes, *arguments: object) -> bytes:
    out = ctypes.create_string_buffer(1 << 16)
    libc.snprintf(out, ctypes.c_size_t(1 << 16), text, *arguments)
    return out.value


FLAGS = st.text("-+ #0", max_size=3)
NUMBER = st.one_of(st.just(""), st.integers(0, 40).map(str))
PRECISION = st.one_of(st.just(""), st.just("."), st.integers(0, 40).map(lambda n: f".{n}"))


@pytest.fixture(scope="module")
def plain(library: ctypes.CDLL, tmp_path_factory: pytest.TempPathFactory) -> Harness:
    return Harness(library, tmp_path_factory.mktemp("cache"))


@settings(max_examples=300, deadline=None)
@given(
    FLAGS,
    NUMBER,
    PRECISION,
    st.sampled_from("diuoxX"),
    st.sampled_from(["", "l", "ll", "z", "h", "hh"]),
    st.integers(-(2**63), 2**63 - 1),
)
def test_integers(plain: Harness, flags: str, width: str, precision: str, kind: str, length: str, value: int) -> None:
    text = f"<%{flags}{width}{precision}{length}{kind}>".encode()
    if length in ("l", "ll", "z"):
        block, argument = struct.pack("<q", value), ctypes.c_int64(value)
    else:
        small = (value + 2**31) % 2**32 - 2**31
        block, argument = struct.pack("<i", small), ctypes.c_int(small)
    assert device_format(plain, text, block) == (c_format(text, argument), 1)


@settings(max_examples=300, deadline=None)
@given(FLAGS, NUMBER, PRECISION, st.sampled_from("eEfFgGaA"), st.floats(allow_nan=False))
def test_floats(plain: Harness, flags: str, width: str, precision: str, kind: str, value: float) -> None:
    text = f"<%{flags}{width}{precision}{kind}>".encode()
    assert device_format(plain, text, struct.pack("<d", value)) == (c_format(text, ctypes.c_double(value)), 1)


def test_arguments_are_aligned_to_their_size(plain: Harness) -> None:
    word = ctypes.create_string_buffer(b"word")
    block = struct.pack("<i4xdi4xQi", 7, 1.5, ord("c"), ctypes.addressof(word), -3)
    out, count = device_format(plain, b"%d %f %c %s %d|%%|%5s", block + struct.pack("<4xQ", 0))
    assert (out, count) == (b"7 1.500000 c word -3|%|(null)"[:-6] + b"(null)", 6)


def test_star_takes_arguments(plain: Harness) -> None:
    block = struct.pack("<iiii", 8, -6, 5, 42)
    assert device_format(plain, b"[%*d][%*d]", block) == (b"[      -6][   42]", 4)
    assert device_format(plain, b"[%*d]", struct.pack("<ii", -8, 42)) == (b"[42      ]", 2)
    assert device_format(plain, b"[%.*f]", struct.pack("<i4xd", 2, 1.239)) == (b"[1.24]", 2)


@pytest.mark.parametrize("text", [b"%", b"%l", b"100%!", b"%-", b"%y and %"])
def test_what_is_no_conversion_stays(plain: Harness, text: bytes) -> None:
    assert device_format(plain, text, b"") == (text, 0)


def test_widths_are_bounded(plain: Harness) -> None:
    out, _ = device_format(plain, b"%999999999d%.999999999f", struct.pack("<i4xd", 1, 1.0))
    assert 4096 < len(out) < 10000


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=40).filter(lambda b: b"s" not in b))
def test_any_format_is_survived(plain: Harness, text: bytes) -> None:
    device_format(plain, text.split(b"\0")[0], bytes(512))


PRINT = """
  %format = alloca [32 x i64]
  %arguments = alloca [32 x i64]
  %block = alloca [64 x i32], align 8
  %result = alloca [32 x i32]
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  %f.p = getelementptr i64, ptr %format, i32 %i
  store i64 ptrtoint (ptr @text to i64), ptr %f.p
  %own = mul i32 %i, 2
  %b.p = getelementptr i32, ptr %block, i32 %own
  store i32 %ctaid, ptr %b.p
  %second = getelementptr i32, ptr %b.p, i32 1
  store i32 %i, ptr %second
  %address = ptrtoint ptr %b.p to i64
  %a.p = getelementptr i64, ptr %arguments, i32 %i
  store i64 %address, ptr %a.p
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 32
  br i1 %more, label %loop, label %print
print:
  call void %vprintf.f(ptr %w, i32 10, ptr %format, ptr %arguments, ptr %result)
  %r.p = getelementptr i32, ptr %result, i32 3
  %r = load i32, ptr %r.p
  store i32 %r, ptr %out
  ret void"""


def test_print_from_a_kernel(harness: Harness, kernels: Kernels, capfd: pytest.CaptureFixture[str]) -> None:
    code = kernels.code(PRINT, '@text = private constant [16 x i8] c"cta %d lane %d\\0A\\00"')
    module = harness.module(b"print", code, param_bytes=8)
    queue = harness.queue()
    count = ctypes.c_int(0)
    params = ctypes.addressof(count).to_bytes(8, "little")
    assert harness.launch(queue, module, 40, 32, params) == 0
    assert harness.synchronize(queue) == 0
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"cta {c} lane {lane}" for c in range(40) for lane in (1, 3))
    assert count.value == 2
