"""Exact conversion of f32 and f64 to narrower formats in any rounding mode, by integer operations on their bits."""

from __future__ import annotations

from dataclasses import dataclass

from fatload.codegen.builder import BITS, MANTISSA, Value
from fatload.codegen.lowering import Lowering


@dataclass(slots=True, frozen=True)
class Format:
    """A floating-point format: exponent and mantissa bits; `infinities`: it has them (else the top exponent holds numbers, and only the
    all-ones pattern is NaN); `nan`: the pattern of a NaN."""

    exponent: int
    mantissa: int
    nan: int
    infinities: bool = True

    @property
    def bias(self) -> int:
        """Exponent bias."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinity(self) -> int:
        """The pattern of infinity; without infinities, one above the largest number."""
        if self.infinities:
            return ((1 << self.exponent) - 1) << self.mantissa
        return (1 << (self.exponent + self.mantissa)) - 1

    @property
    def width(self) -> int:
        """Bits with the sign."""
        return 1 + self.exponent + self.mantissa


F16 = Format(5, 10, 0x7FFF)
BF16 = Format(8, 7, 0x7FFF)
TF32 = Format(8, 10, 0x3FFFF)
E4M3 = Format(4, 3, 0x7F, infinities=False)
E5M2 = Format(5, 2, 0x7F)


def narrow(b: Lowering, v: Value, to: Format, rnd: str, satfinite: bool = False) -> Value:
    """`v` (f32 or f64) in the format `to`, as an integer of the source's width. `rnd`: rn rz rm rp rna.

    `satfinite`: results past the largest number become it; infinities too.
    """
    t = f"i{BITS[v.type]}"
    width, m0 = BITS[v.type], MANTISSA[v.type]
    bias0 = (1 << (width - 2 - m0)) - 1

    def n(value: int) -> Value:
        return b.integer(t, value)

    raw = b.bitcast(v, t)
    magnitude = b.bin("and", raw, n((1 << (width - 1)) - 1))
    negative = b.cmp("slt", raw, n(0))
    exponent = b.bin("lshr", magnitude, n(m0))
    effective = b.intrinsic("umax", t, (exponent, n(1)))
    implicit = b.select(b.cmp("eq", exponent, n(0)), n(0), n(1 << m0))
    significand = b.bin("or", b.bin("and", magnitude, n((1 << m0) - 1)), implicit)
    # Normal results: exponent and mantissa move together. Others: the significand moves below the least exponent.
    shift0 = m0 - to.mantissa
    below = b.bin("sub", n(bias0 - to.bias + 1), effective)  # how far below the least normal exponent
    tiny = b.cmp("sgt", below, n(0))
    x = b.select(tiny, significand, b.bin("sub", magnitude, n((bias0 - to.bias) << m0)))
    more = b.intrinsic("smin", t, (below, n(to.mantissa + 2)))
    s = b.select(tiny, b.bin("add", more, n(shift0)), n(shift0))
    q = b.bin("lshr", x, s)
    rest = b.bin("sub", x, b.bin("shl", q, s))
    half = b.bin("shl", n(1), b.bin("sub", s, n(1)))
    match rnd:
        case "rn":
            odd = b.cmp("ne", b.bin("and", q, n(1)), n(0))
            up = b.bin("or", b.cmp("ugt", rest, half), b.bin("and", b.cmp("eq", rest, half), odd))
        case "rna":
            up = b.cmp("uge", rest, half)
        case "rz":
            up = b.integer("i1", 0)
        case _:
            inexact = b.cmp("ne", rest, n(0))
            away = negative if rnd == "rm" else b.bin("xor", negative, b.integer("i1", 1))
            up = b.bin("and", inexact, away)
    q = b.bin("add", q, b.cast("zext", up, t))
    largest = to.infinity - 1
    over = b.cmp("uge", q, n(to.infinity))
    if not to.infinities:
        # The pattern below NaN is the largest number; a source infinity overflows as any large number does.
        over = b.bin("or", over, b.cmp("uge", magnitude, n(((1 << (width - 1 - m0)) - 1) << m0)))
    limit = n(to.infinity if to.infinities else to.nan)
    if satfinite or rnd == "rz":
        limit = n(largest)
    elif rnd in ("rm", "rp"):
        toward = negative if rnd == "rp" else b.bin("xor", negative, b.integer("i1", 1))
        limit = b.select(toward, n(largest), n(to.infinity))
    source_infinite = b.cmp("eq", magnitude, n(((1 << (width - 1 - m0)) - 1) << m0))
    q = b.select(over, limit, q)
    if to.infinities and not satfinite:
        q = b.select(source_infinite, n(to.infinity), q)
    nan = b.cmp("ugt", magnitude, n(((1 << (width - 1 - m0)) - 1) << m0))
    sign = b.select(negative, n(1 << (to.width - 1)), n(0))
    return b.select(nan, n(to.nan), b.bin("or", q, sign))


def to_odd(b: Lowering, d: Value) -> Value:
    """An f64 as f32, rounded to odd: inexact results get an odd last bit, so that a further rounding is as if there had been one."""
    f = b.cast("fptrunc", d, "float")
    back = b.cast("fpext", f, "double")
    bits = b.bitcast(f, "i32")
    one = b.integer("i32", 1)
    even = b.cmp("eq", b.bin("and", bits, one), b.integer("i32", 0))
    inexact = b.cmp("one", back, d)
    larger = b.cmp("ogt", b.intrinsic("fabs", "double", (d,)), b.intrinsic("fabs", "double", (back,)))
    moved = b.select(larger, b.bin("add", bits, one), b.bin("sub", bits, one))
    return b.bitcast(b.select(b.bin("and", even, inexact), moved, bits), "float")


def widen_half(b: Lowering, v: Value) -> Value:
    """The bits of an f16 (i16) as f32."""
    return b.cast("fpext", b.bitcast(v, "half"), "float")


def widen_bf16(b: Lowering, v: Value) -> Value:
    """The bits of a bf16 (i16) as f32."""
    return b.bitcast(b.bin("shl", b.cast("zext", v, "i32"), b.integer("i32", 16)), "float")
