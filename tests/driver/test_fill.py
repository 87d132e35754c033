"""Fills with 8-, 16- and 32-bit values, in rows and rectangles, at once and in a stream."""

from __future__ import annotations

import pytest

from .api import INVALID_VALUE, Driver

VALUES = {1: 0xA5, 2: 0xBEEF, 4: 0xDEADBEEF}


def name(element: int, *, rectangle: bool, asynchronous: bool) -> str:
    """Of the function."""
    base = f"cuMemsetD{'2D' if rectangle else ''}{8 * element}"
    return base + ("Async" if asynchronous else "_v2")


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("element", [1, 2, 4])
def test_rows(cuda: Driver, element: int, asynchronous: bool) -> None:
    function = name(element, rectangle=False, asynchronous=asynchronous)
    stream = [cuda.stream()] if asynchronous else []
    for count in (1, 7, 1000, 300_000):
        size = count * element + 64
        address = cuda.alloc(size)
        cuda.ok("cuMemsetD8_v2", address, 0x11, size)
        cuda.ok(function, address + 32, VALUES[element], count, *stream)
        cuda.synchronize()
        got = cuda.read(address, size)
        value = VALUES[element].to_bytes(element, "little")
        assert got == b"\x11" * 32 + value * count + b"\x11" * 32
        cuda.ok("cuMemFree_v2", address)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("element", [1, 2, 4])
def test_rectangles(cuda: Driver, element: int, asynchronous: bool) -> None:
    function = name(element, rectangle=True, asynchronous=asynchronous)
    stream = [cuda.stream()] if asynchronous else []
    for pitch, width, height in ((64, 5, 9), (256, 64, 30), (40, 10, 1)):
        address = cuda.alloc(pitch * height)
        cuda.ok("cuMemsetD8_v2", address, 0x11, pitch * height)
        cuda.ok(function, address, pitch, VALUES[element], width, height, *stream)
        cuda.synchronize()
        row = VALUES[element].to_bytes(element, "little") * width
        assert cuda.read(address, pitch * height) == row.ljust(pitch, b"\x11") * height


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("element", [1, 2, 4])
def test_wrong_ranges(cuda: Driver, element: int, asynchronous: bool) -> None:
    stream = [0] if asynchronous else []
    row, rectangle = (name(element, rectangle=r, asynchronous=asynchronous) for r in (False, True))
    address = cuda.alloc(4096)
    count = 4096 // element
    cuda.ok(row, address, 0, count, *stream)
    cuda.ok(row, address, 0, 0, *stream)
    huge = (1 << 64) - 1
    for at, n in (
        (address, count + 1),
        (address + element, count),
        (0, 1),
        (0x1230, 1),
        (address, huge),
        (address, 1 << 62),
    ):
        assert cuda.call(row, at, 0, n, *stream) == INVALID_VALUE, (at, n)
    cuda.ok(rectangle, address, 64, 0, 64 // element, 64, *stream)
    cuda.ok(rectangle, address, 64, 0, 0, 64, *stream)
    cuda.ok(rectangle, address, 64, 0, 4, 0, *stream)
    for at, pitch, width, height in (
        (address, 64, 64 // element, 65),
        (address, 64, 64 // element + 1, 3),
        (address, 32, 64 // element, 3),
        (address + 64, 64, 64 // element, 64),
        (address, huge // 2 + 1, 1, 3),
        (address, 64, 1, huge),
        (address, 1 << 32, 1, 1 << 32),
        (address, 64, 1 << 63, 2),
        (0x1200, 64, 1, 1),
    ):
        assert cuda.call(rectangle, at, pitch, 0, width, height, *stream) == INVALID_VALUE, (at, pitch, width, height)


@pytest.mark.parametrize("element", [2, 4])
def test_alignment(cuda: Driver, element: int) -> None:
    """The address and the pitch are multiples of the value's size."""
    address = cuda.alloc(4096)
    for asynchronous, stream in ((False, ()), (True, (0,))):
        row, rectangle = (name(element, rectangle=r, asynchronous=asynchronous) for r in (False, True))
        assert cuda.call(row, address + 1, 0, 4, *stream) == INVALID_VALUE
        assert cuda.call(rectangle, address + 1, 64, 0, 4, 4, *stream) == INVALID_VALUE
        assert cuda.call(rectangle, address, 65, 0, 4, 4, *stream) == INVALID_VALUE
