"""Approximations of f32 and f64 functions: own polynomials on vectors, no library calls.

Bounds are those of the PTX ISA; coefficients are least-squares fits on Chebyshev nodes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from fatload.codegen.builder import Value
from fatload.codegen.lower.common import flush
from fatload.codegen.lower.float import finish, inputs
from fatload.codegen.lowering import Lowering
from fatload.ptx.model import Instruction


def _f(b: Lowering, x: float) -> Value:
    return b.real("float", struct.unpack("<I", struct.pack("<f", x))[0])


def _d(b: Lowering, x: float) -> Value:
    return b.real("double", struct.unpack("<Q", struct.pack("<d", x))[0])


def _fma(b: Lowering, x: Value, y: Value, z: Value) -> Value:
    return b.intrinsic("fma", x.type, (x, y, z))


def horner(b: Lowering, x: Value, coefficients: Sequence[float]) -> Value:
    """A polynomial, highest power first."""
    make = _f if x.type == "float" else _d
    result = make(b, coefficients[0])
    for c in coefficients[1:]:
        result = _fma(b, result, x, make(b, c))
    return result


# 2^x on [-0.5, 0.5]: Taylor terms (ln 2)^k / k!, relative error below 2^-26.
_EXP2 = (
    1.525273380405984e-05,
    0.00015403530393381606,
    0.0013333558146428443,
    0.009618129107628477,
    0.05550410866482158,
    0.24022650695910072,
    0.6931471805599453,
    1.0,
)


def exp2(b: Lowering, x: Value) -> Value:
    """2^x of f32, relative error about 2^-23; denormal results are right."""
    low, high = _f(b, -152.0), _f(b, 129.0)
    c = b.select(b.cmp("olt", x, low), low, b.select(b.cmp("ogt", x, high), high, x))
    n = b.intrinsic("roundeven", "float", (c,))
    n = b.select(b.cmp("uno", x, x), _f(b, 0.0), n)
    p = horner(b, b.bin("fsub", c, n), _EXP2)
    k = b.cast("fptosi", n, "i32")
    # Two factors, so that neither over- nor underflows on the way.
    first = b.bin("ashr", k, b.integer("i32", 1))
    second = b.bin("sub", k, first)
    return b.bin("fmul", b.bin("fmul", p, _power(b, first)), _power(b, second))


def _power(b: Lowering, k: Value) -> Value:
    """2^k as f32 for k in the normal range."""
    return b.bitcast(b.bin("shl", b.bin("add", k, b.integer("i32", 127)), b.integer("i32", 23)), "float")


def ex2(b: Lowering, i: Instruction) -> None:
    """ex2.approx{.ftz}.f32."""
    finish(b, i, exp2(b, inputs(b, i, 1)[0]))


# log2(1 + t) / t on [sqrt(1/2) - 1, sqrt(2) - 1], in powers of t (highest first), fitted in f64.
def _log2_coefficients() -> tuple[float, ...]:
    # Chebyshev interpolation of log2(1+t)/t, converted to powers of t by solving in exact order; degree 14.
    a, c, n = math.sqrt(0.5) - 1, math.sqrt(2) - 1, 15
    nodes = [(a + c) / 2 + (c - a) / 2 * math.cos(math.pi * (k + 0.5) / n) for k in range(n)]
    values = [math.log2(1 + t) / t if t else 1 / math.log(2) for t in nodes]
    # Newton's divided differences, then expansion to powers.
    d = list(values)
    for level in range(1, n):
        for k in range(n - 1, level - 1, -1):
            d[k] = (d[k] - d[k - 1]) / (nodes[k] - nodes[k - level])
    poly = [0.0]
    for k in range(n - 1, -1, -1):
        shifted = [0.0, *poly]
        for m, x in enumerate(poly):
            shifted[m] -= nodes[k] * x
        shifted[0] += d[k]
        poly = shifted
    return tuple(reversed(poly[:n]))


_LOG2 = _log2_coefficients()


def log2(b: Lowering, x: Value) -> Value:
    """log2 of f32, absolute error below 2^-23 near 1 and relative elsewhere; computed in f64, whose range holds f32's denormals as normals."""
    d = b.cast("fpext", x, "double")
    bits = b.bitcast(d, "i64")
    # Split at sqrt(1/2): exponent k, mantissa in [sqrt(1/2), sqrt(2)).
    offset = b.bin("sub", bits, b.integer("i64", 0x3FE6A09E667F3BCD))
    k = b.bin("ashr", offset, b.integer("i64", 52))
    m = b.bitcast(b.bin("sub", bits, b.bin("shl", k, b.integer("i64", 52))), "double")
    t = b.bin("fsub", m, _d(b, 1.0))
    p = b.bin("fmul", horner(b, t, _LOG2), t)
    exponent = b.cast("sitofp", b.cast("trunc", k, "i32"), "double")
    result = b.cast("fptrunc", b.bin("fadd", exponent, p), "float")
    infinity, zero = b.real("float", 0x7F800000), b.real("float", 0)
    result = b.select(b.cmp("oeq", x, infinity), infinity, result)
    result = b.select(b.cmp("oeq", x, zero), b.real("float", 0xFF800000), result)
    nan = b.bin("or", b.cmp("olt", x, zero), b.cmp("uno", x, x))
    return b.select(nan, b.real("float", 0x7FFFFFFF), result)


def lg2(b: Lowering, i: Instruction) -> None:
    """lg2.approx{.ftz}.f32."""
    finish(b, i, log2(b, inputs(b, i, 1)[0]))


# sin(2 pi t) / t and cos(2 pi t) on [-1/8, 1/8] in powers of t^2, highest first: Taylor terms, relative error below 2^-27.
_SIN = tuple((-1) ** k * (2 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in (5, 4, 3, 2, 1, 0))
_COS = tuple((-1) ** k * (2 * math.pi) ** (2 * k) / math.factorial(2 * k) for k in (5, 4, 3, 2, 1, 0))


def _sincos(b: Lowering, x: Value, shift: int) -> Value:
    """sin(x + shift * pi/2). As in hardware the reduction is one product with 1 / (2 pi), rounded toward zero: what that loses for
    large x is lost here too."""
    turn = _f(b, 0.15915493667125702)
    t = b.bin("fmul", x, turn)
    bits = b.bitcast(t, "i32")
    rest = _fma(b, x, turn, b.un("fneg", t))
    sign = b.bin("xor", bits, b.bitcast(rest, "i32"))
    over = b.bin("and", b.cmp("slt", sign, b.integer("i32", 0)), b.cmp("one", rest, _f(b, 0.0)))
    t = b.bitcast(b.bin("sub", bits, b.cast("zext", over, "i32")), "float")
    finite = b.cmp("olt", b.intrinsic("fabs", "float", (t,)), b.real("float", 0x7F800000))
    t = b.select(finite, t, _f(b, 0.0))
    zero = b.cmp("oeq", t, _f(b, 0.0))
    # Quarters of a turn: n of them, and what is left in [-1/8, 1/8]; numbers past 2^24 are whole turns.
    whole = b.intrinsic("roundeven", "float", (t,))
    t = b.bin("fsub", t, whole)
    n = b.intrinsic("roundeven", "float", (b.bin("fmul", t, _f(b, 4.0)),))
    f = _fma(b, n, _f(b, -0.25), t)
    q = b.bin("add", b.cast("fptosi", n, "i32"), b.integer("i32", shift))
    square = b.bin("fmul", f, f)
    sine = b.bin("fmul", horner(b, square, _SIN), f)
    cosine = horner(b, square, _COS)
    odd = b.cmp("ne", b.bin("and", q, b.integer("i32", 1)), b.integer("i32", 0))
    value = b.select(odd, cosine, sine)
    negative = b.cmp("ne", b.bin("and", q, b.integer("i32", 2)), b.integer("i32", 0))
    value = b.select(negative, b.un("fneg", value), value)
    if not shift:  # keeps the sign of zero
        value = b.select(zero, b.intrinsic("copysign", "float", (_f(b, 0.0), x)), value)
    return b.select(finite, value, b.real("float", 0x7FFFFFFF))


def sin(b: Lowering, i: Instruction) -> None:
    """sin.approx{.ftz}.f32."""
    finish(b, i, _sincos(b, inputs(b, i, 1)[0], 0))


def cos(b: Lowering, i: Instruction) -> None:
    """cos.approx{.ftz}.f32."""
    finish(b, i, _sincos(b, inputs(b, i, 1)[0], 1))


def tanh_value(b: Lowering, x: Value) -> Value:
    """tanh of f32 by 1 - 2 / (e^2x + 1), a short series near 0."""
    magnitude = b.intrinsic("fabs", "float", (x,))
    e = exp2(b, b.bin("fmul", magnitude, _f(b, 2.8853900817779268)))
    big = b.bin("fsub", _f(b, 1.0), b.bin("fdiv", _f(b, 2.0), b.bin("fadd", e, _f(b, 1.0))))
    square = b.bin("fmul", x, x)
    series = b.bin(
        "fmul", horner(b, square, (-0.05396825396825397, 0.13333333333333333, -0.3333333333333333, 1.0)), magnitude
    )
    r = b.select(b.cmp("olt", magnitude, _f(b, 0.3)), series, big)
    r = b.select(b.cmp("uno", x, x), x, r)
    return b.intrinsic("copysign", "float", (r, x))


def tanh(b: Lowering, i: Instruction) -> None:
    """tanh.approx.f32."""
    b.write(i, 0, tanh_value(b, b.read(i, 1)))


def div(b: Lowering, i: Instruction) -> None:
    """div.approx and div.full: the correctly rounded quotient is within both bounds; .approx gives 0 for divisors above 2^126."""
    x, y = inputs(b, i, 2)
    q = b.bin("fdiv", x, y)
    if i.attrs.get("approx"):
        size = b.intrinsic("fabs", "float", (y,))
        finite = b.cmp("olt", size, b.real("float", 0x7F800000))
        huge = b.bin("and", b.cmp("ogt", size, _f(b, 2.0**126)), finite)
        infinite = b.cmp("oeq", b.intrinsic("fabs", "float", (x,)), b.real("float", 0x7F800000))
        zero = b.intrinsic("copysign", "float", (b.real("float", 0), q))
        gone = b.select(infinite, b.real("float", 0x7FFFFFFF), zero)
        q = b.select(b.bin("and", huge, b.cmp("ord", x, x)), gone, q)
    finish(b, i, q)


def rcp(b: Lowering, i: Instruction) -> None:
    """rcp.approx{.ftz}.f32."""
    (x,) = inputs(b, i, 1)
    finish(b, i, b.bin("fdiv", _f(b, 1.0), x))


def sqrt(b: Lowering, i: Instruction) -> None:
    """sqrt.approx{.ftz}.f32."""
    (x,) = inputs(b, i, 1)
    finish(b, i, b.intrinsic("sqrt", "float", (x,)))


def rsqrt(b: Lowering, i: Instruction) -> None:
    """rsqrt.approx{.ftz}.f32."""
    (x,) = inputs(b, i, 1)
    finish(b, i, b.bin("fdiv", _f(b, 1.0), b.intrinsic("sqrt", "float", (x,))))


def _upper(b: Lowering, v: Value) -> Value:
    """An f64 with its lower 32 bits cleared, as the hardware's tables give it."""
    raw = b.bitcast(v, "i64")
    return b.bitcast(b.bin("and", raw, b.integer("i64", -(1 << 32))), "double")


def rcp64(b: Lowering, i: Instruction) -> None:
    """rcp.approx.ftz.f64: from the upper word of x; denormals count as zero."""
    x = flush(b, _upper(b, b.read(i, 1)))
    b.write(i, 0, flush(b, _upper(b, b.bin("fdiv", _d(b, 1.0), x))))


def rsqrt64(b: Lowering, i: Instruction) -> None:
    """rsqrt.approx{.ftz}.f64."""
    x = b.read(i, 1)
    if i.attrs.get("ftz"):
        x = flush(b, _upper(b, x))
    r = b.bin("fdiv", _d(b, 1.0), b.intrinsic("sqrt", "double", (x,)))
    b.write(i, 0, _upper(b, r) if i.attrs.get("ftz") else r)
