"""The loader of relocatables: what it accepts, and that damaged objects are refused and never crash."""

from __future__ import annotations

import ctypes
import io
import random
import struct

import pytest
from elftools.elf.elffile import ELFFile

from .support import Harness, compile_ir


def load(harness: Harness, code: bytes, entry: str = "f") -> tuple[int | None, str]:
    error = ctypes.create_string_buffer(500)
    handle = harness.lib.t_load_object(code, ctypes.c_size_t(len(code)), entry.encode(), error, ctypes.c_size_t(500))
    return handle, error.value.decode(errors="replace")


def call(harness: Harness, handle: int, result: type, arguments: list[type], *values: object) -> object:
    address = harness.lib.t_object_entry(ctypes.c_void_p(handle))
    return ctypes.CFUNCTYPE(result, *arguments)(address)(*values)


def relocation_types(code: bytes) -> set[int]:
    sections = ELFFile(io.BytesIO(code)).iter_sections()
    return {r["r_info_type"] for s in sections if s["sh_type"] == "SHT_RELA" for r in s.iter_relocations()}


def test_constants_tables_and_calls(harness: Harness) -> None:
    code = compile_ir(
        """
@table = internal constant [3 x ptr] [ptr @one, ptr @two, ptr @three]
@state = internal global i32 5
@numbers = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
define internal i32 @one(i32 %x) noinline { %r = add i32 %x, 1 ret i32 %r }
define internal i32 @two(i32 %x) noinline { %r = mul i32 %x, 2 ret i32 %r }
define internal i32 @three(i32 %x) noinline {
  %s = load volatile i32, ptr @state
  %n = add i32 %s, 1
  store volatile i32 %n, ptr @state
  %r = add i32 %x, %s
  ret i32 %r
}
define double @f(i32 %i, i32 %x) {
  %p = getelementptr ptr, ptr @table, i32 %i
  %g = load ptr, ptr %p
  %a = call i32 %g(i32 %x)
  %n.p = getelementptr double, ptr @numbers, i32 %i
  %n = load double, ptr %n.p
  %d = sitofp i32 %a to double
  %r = fadd double %n, %d
  ret double %r
}
"""
    )
    handle, error = load(harness, code)
    assert handle, error
    kinds = [ctypes.c_int, ctypes.c_int]
    assert call(harness, handle, ctypes.c_double, kinds, 0, 10) == 12.5
    assert call(harness, handle, ctypes.c_double, kinds, 1, 10) == 22.5
    assert call(harness, handle, ctypes.c_double, kinds, 2, 10) == 18.5
    assert call(harness, handle, ctypes.c_double, kinds, 2, 10) == 19.5  # its state is its own, and writable
    harness.lib.t_unload_object(ctypes.c_void_p(handle))


def test_outside_functions_of_the_closed_list(harness: Harness) -> None:
    code = compile_ir(
        """
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)
declare double @fma(double, double, double)
define double @f(ptr %to, ptr %from, i64 %n) {
  %half = lshr i64 %n, 1
  %1 = call ptr @memcpy(ptr %to, ptr %from, i64 %n)
  %2 = call ptr @memset(ptr %to, i32 120, i64 %half)
  %3 = call double @fma(double 2.0, double 3.0, double 4.0)
  ret double %3
}
"""
    )
    handle, error = load(harness, code)
    assert handle, error
    to = ctypes.create_string_buffer(9)
    kinds = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    assert call(harness, handle, ctypes.c_double, kinds, ctypes.addressof(to), b"abcdefgh", 8) == 10.0
    assert to.value == b"xxxxefgh"


def test_outside_address_by_table(harness: Harness) -> None:
    code = compile_ir("declare ptr @memcpy(ptr, ptr, i64) nonlazybind\ndefine ptr @f() { ret ptr @memcpy }")
    assert relocation_types(code) & {9, 41, 42}  # GOTPCREL and its relaxable forms
    handle, error = load(harness, code)
    assert handle, error
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
    copy = function(call(harness, handle, ctypes.c_void_p, []))
    to = ctypes.create_string_buffer(4)
    copy(ctypes.addressof(to), b"abc", 3)
    assert to.value == b"abc"


def test_half_conversions_through_the_loader(harness: Harness) -> None:
    """LLVM calls these with a 16-bit value in the low bits of an XMM register."""
    code = compile_ir(
        """
declare half @__truncdfhf2(double)
declare float @__extendhfsf2(half)
declare bfloat @__truncsfbf2(float)
define i32 @f(double %d) {
  %h = call half @__truncdfhf2(double %d)
  %f = call float @__extendhfsf2(half %h)
  %b = call bfloat @__truncsfbf2(float %f)
  %hb = bitcast half %h to i16
  %bb = bitcast bfloat %b to i16
  %h32 = zext i16 %hb to i32
  %b32 = zext i16 %bb to i32
  %high = shl i32 %b32, 16
  %r = or i32 %high, %h32
  ret i32 %r
}
"""
    )
    handle, error = load(harness, code)
    assert handle, error
    assert call(harness, handle, ctypes.c_uint32, [ctypes.c_double], 1.5) == 0x3FC03E00


CONSTRUCTOR = """
@llvm.global_ctors = appending global [1 x {i32, ptr, ptr}] [{i32, ptr, ptr} {i32 1, ptr @f, ptr null}]
define void @f() { ret void }
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("declare void @printf()\ndefine void @f() { call void @printf() ret void }", "outside symbol 'printf'"),
        ("@t = thread_local global i32 0\ndefine ptr @f() { ret ptr @t }", "thread-local"),
        ("define void @g() { ret void }", "no function 'f'"),
        ("@c = common global i32 0\ndefine ptr @f() { ret ptr @c }", "'c' lies in no loaded section"),
        (CONSTRUCTOR, "constructors"),
    ],
)  # fmt: skip
def test_refused(harness: Harness, text: str, says: str) -> None:
    handle, error = load(harness, compile_ir(text))
    assert handle is None
    assert says in error


def test_sections_both_writable_and_executable_are_refused(harness: Harness) -> None:
    code = bytearray(compile_ir("define void @f() { ret void }"))
    elf = ELFFile(io.BytesIO(bytes(code)))
    for i, section in enumerate(elf.iter_sections()):
        if section.name == ".text":
            at = elf["e_shoff"] + i * elf["e_shentsize"] + 8
            struct.pack_into("<Q", code, at, section["sh_flags"] | 1)
    handle, error = load(harness, bytes(code))
    assert handle is None
    assert "both writable and executable" in error


SAMPLE = """
@numbers = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]
@table = internal constant [1 x ptr] [ptr @f]
declare ptr @memset(ptr, i32, i64)
define double @f(ptr %p, i64 %i) {
  %1 = call ptr @memset(ptr %p, i32 0, i64 %i)
  %n.p = getelementptr double, ptr @numbers, i64 %i
  %n = load double, ptr %n.p
  %t.p = getelementptr ptr, ptr @table, i64 %i
  %t = load ptr, ptr %t.p
  store ptr %t, ptr %p
  ret double %n
}
"""


def test_truncated_objects(harness: Harness) -> None:
    code = compile_ir(SAMPLE)
    for size in range(0, len(code), 3):
        handle, error = load(harness, code[:size])
        assert handle is None and error


def test_damaged_objects_never_crash_the_loader(harness: Harness) -> None:
    code = compile_ir(SAMPLE)
    source = random.Random(1)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(code)
        for _ in range(source.randint(1, 4)):
            at = source.randrange(len(damaged) - 8)
            damaged[at : at + 4] = struct.pack("<I", source.choice([0, 1, 0xFFFFFFFF, source.getrandbits(32)]))
        handle, error = load(harness, bytes(damaged))
        if handle is None:
            refused += 1
            assert error
        else:
            harness.lib.t_unload_object(ctypes.c_void_p(handle))
    assert refused > 250


def test_code_is_not_writable(harness: Harness) -> None:
    handle, _ = load(harness, compile_ir(SAMPLE))
    assert handle
    entry = harness.lib.t_object_entry(ctypes.c_void_p(handle))
    with open("/proc/self/maps") as maps:
        for line in maps:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            if low <= entry < high:
                assert line.split()[1].startswith("r-x")
                return
    pytest.fail("the code is not mapped")
