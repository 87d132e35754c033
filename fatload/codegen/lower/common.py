"""What several families share."""

from __future__ import annotations

from fatload.codegen.builder import BITS, MANTISSA, Value
from fatload.codegen.lowering import Lowering


def flush(b: Lowering, v: Value) -> Value:
    """Denormals become zeros of the same sign (.ftz)."""
    bits = BITS[v.type]
    raw = b.as_int(v)
    sign = 1 << (bits - 1)
    exponent = (sign - 1) & ~((1 << MANTISSA[v.type]) - 1)
    zero = b.cmp("eq", b.bin("and", raw, b.integer(raw.type, exponent)), b.integer(raw.type, 0))
    return b.bitcast(b.select(zero, b.bin("and", raw, b.integer(raw.type, sign)), raw), v.type)


def clamp01(b: Lowering, v: Value) -> Value:
    """.sat of floating point: [0, 1], NaN becomes +0."""
    one = {"float": 0x3F800000, "double": 0x3FF0000000000000, "half": 0x3C00}[v.type]
    zero = b.real(v.type, 0)
    above = b.select(b.cmp("ogt", v, zero), v, zero)  # false for NaN and -0
    return b.select(b.cmp("olt", above, b.real(v.type, one)), above, b.real(v.type, one))


def is_nan(b: Lowering, v: Value) -> Value:
    """Whether `v` is NaN."""
    return b.cmp("uno", v, v)
