"""Reads MessagePack, as far as AMDGPU metadata uses it: maps, arrays, strings, integers, booleans, nil."""

from __future__ import annotations

import struct
from typing import Any


class MsgpackError(Exception):
    """Damaged data."""


def unpack(data: bytes) -> Any:
    """The value that `data` begins with. Raises MsgpackError."""
    try:
        value, _ = _value(data, 0, 0)
    except (IndexError, struct.error, UnicodeDecodeError) as e:
        raise MsgpackError(f"damaged MessagePack data: {e}") from None
    return value


_FIXED = {
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
    0xCA: ">f",
    0xCB: ">d",
}
_SIZES = {
    0xD9: ">B",
    0xDA: ">H",
    0xDB: ">I",
    0xC4: ">B",
    0xC5: ">H",
    0xC6: ">I",
    0xDC: ">H",
    0xDD: ">I",
    0xDE: ">H",
    0xDF: ">I",
}


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > 32:
        raise MsgpackError("nested too deeply")
    tag = data[at]
    at += 1
    if tag < 0x80:
        return tag, at
    if tag >= 0xE0:
        return tag - 256, at
    if tag in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[tag], at
    if tag in _FIXED:
        form = _FIXED[tag]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    if tag in _SIZES:
        form = _SIZES[tag]
        count = struct.unpack_from(form, data, at)[0]
        at += struct.calcsize(form)
    elif 0xA0 <= tag < 0xC0:
        count = tag & 31
    else:
        count = tag & 15
    if 0xA0 <= tag < 0xC0 or tag in (0xD9, 0xDA, 0xDB):
        if at + count > len(data):
            raise MsgpackError("a string past the end")
        return data[at : at + count].decode(), at + count
    if tag in (0xC4, 0xC5, 0xC6):
        return data[at : at + count], at + count
    if 0x90 <= tag < 0xA0 or tag in (0xDC, 0xDD):
        items = []
        for _ in range(count):
            item, at = _value(data, at, depth + 1)
            items.append(item)
        return items, at
    if 0x80 <= tag < 0x90 or tag in (0xDE, 0xDF):
        result = {}
        for _ in range(count):
            key, at = _value(data, at, depth + 1)
            if isinstance(key, list | dict):
                raise MsgpackError("a map or an array as a key")
            result[key], at = _value(data, at, depth + 1)
        return result, at
    raise MsgpackError(f"unknown tag {tag:#x}")
