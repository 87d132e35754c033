"""f32 and f64 arithmetic with rounding modes, flushing and saturation."""

from __future__ import annotations

from collections.abc import Sequence

from fatload.codegen.builder import BITS, MANTISSA, Value
from fatload.codegen.lower.common import clamp01, flush, is_nan
from fatload.codegen.lowering import IR_TYPES, Lowering
from fatload.ptx.model import Instruction

CANONICAL_NAN = {"float": 0x7FFFFFFF, "double": 0x7FF8000000000000 | 0, "half": 0x7FFF}


def inputs(b: Lowering, i: Instruction, count: int) -> list[Value]:
    """Operands 1 … `count`, flushed with .ftz."""
    values = [b.read(i, n) for n in range(1, count + 1)]
    return [flush(b, v) for v in values] if i.attrs.get("ftz") else values


def finish(b: Lowering, i: Instruction, v: Value) -> None:
    """Flushes and saturates a result as the modifiers say, and writes it."""
    if i.attrs.get("ftz"):
        v = flush(b, v)
    if i.attrs.get("sat"):
        v = clamp01(b, v)
    b.write(i, 0, v)


def _arithmetic(b: Lowering, i: Instruction, op: str, count: int) -> None:
    args: Sequence[Value] = inputs(b, i, count)
    finish(b, i, b.rounded(op, i.attrs.get("rnd", "rn"), args))


def add(b: Lowering, i: Instruction) -> None:
    """add.f32, .f64."""
    _arithmetic(b, i, "fadd", 2)


def sub(b: Lowering, i: Instruction) -> None:
    """sub.f32, .f64."""
    _arithmetic(b, i, "fsub", 2)


def mul(b: Lowering, i: Instruction) -> None:
    """mul.f32, .f64."""
    _arithmetic(b, i, "fmul", 2)


def fma(b: Lowering, i: Instruction) -> None:
    """fma and mad on f32 and f64 (sm_20 and later: mad is fused)."""
    _arithmetic(b, i, "fma", 3)


def div(b: Lowering, i: Instruction) -> None:
    """div with IEEE rounding."""
    _arithmetic(b, i, "fdiv", 2)


def sqrt(b: Lowering, i: Instruction) -> None:
    """sqrt with IEEE rounding."""
    _arithmetic(b, i, "sqrt", 1)


def rcp(b: Lowering, i: Instruction) -> None:
    """1/x with IEEE rounding."""
    (x,) = inputs(b, i, 1)
    one = b.real(x.type, 0x3F800000 if x.type == "float" else 0x3FF0000000000000)
    finish(b, i, b.rounded("fdiv", i.attrs.get("rnd", "rn"), (one, x)))


def neg(b: Lowering, i: Instruction) -> None:
    """neg{.ftz}: flips the sign, of NaN too."""
    (x,) = inputs(b, i, 1)
    b.write(i, 0, b.un("fneg", x))


def abs(b: Lowering, i: Instruction) -> None:
    """abs{.ftz}."""
    (x,) = inputs(b, i, 1)
    b.write(i, 0, b.intrinsic("fabs", x.type, (x,)))


def extreme(b: Lowering, i: Instruction, values: Sequence[Value], smaller: bool) -> Value:
    """min or max of two or three: a number wins over NaN (.NaN: NaN wins), -0 is below +0; .xorsign.abs."""
    xorsign = i.attrs.get("xorsign")
    sign: Value | None = None
    if xorsign:
        raws = [b.as_int(v) for v in values]
        sign = b.bin("and", b.bin("xor", raws[0], raws[1]), b.integer(raws[0].type, 1 << (BITS[values[0].type] - 1)))
        values = [b.intrinsic("fabs", v.type, (v,)) for v in values]
    result = values[0]
    for v in values[1:]:
        result = _extreme_of_two(b, result, v, smaller, bool(i.attrs.get("nan")))
    if sign is not None:
        result = b.bitcast(b.bin("or", b.as_int(result), sign), result.type)
    return result


def _extreme_of_two(b: Lowering, x: Value, y: Value, smaller: bool, nan_wins: bool) -> Value:
    rx, ry = b.as_int(x), b.as_int(y)
    first = b.cmp("olt" if smaller else "ogt", x, y)
    # Equal values differ at most in the sign of zero: min takes the union of the bits, max what they share.
    same = b.bitcast(b.bin("or" if smaller else "and", rx, ry), x.type)
    result = b.select(b.cmp("oeq", x, y), same, b.select(first, x, y))
    canonical = b.real(x.type, CANONICAL_NAN[x.type])
    nx, ny = is_nan(b, x), is_nan(b, y)
    if nan_wins:
        return b.select(b.bin("or", nx, ny), canonical, result)
    result = b.select(nx, y, b.select(ny, x, result))
    return b.select(b.bin("and", nx, ny), canonical, result)


def min(b: Lowering, i: Instruction) -> None:
    """min{.ftz}{.NaN}{.xorsign.abs} of two or three."""
    b.write(i, 0, extreme(b, i, inputs(b, i, len(i.operands) - 1), True))


def max(b: Lowering, i: Instruction) -> None:
    """max{.ftz}{.NaN}{.xorsign.abs} of two or three."""
    b.write(i, 0, extreme(b, i, inputs(b, i, len(i.operands) - 1), False))


def copysign(b: Lowering, i: Instruction) -> None:
    """copysign: the sign of a on the magnitude of b."""
    x, y = b.as_int(b.read(i, 1)), b.as_int(b.read(i, 2))
    sign = 1 << (BITS[x.type] - 1)
    v = b.bin("or", b.bin("and", x, b.integer(x.type, sign)), b.bin("and", y, b.integer(y.type, sign - 1)))
    b.write(i, 0, b.bitcast(v, IR_TYPES[i.attrs["type"]]))


def testp(b: Lowering, i: Instruction) -> None:
    """testp: finite, infinite, number, notanumber, normal, subnormal."""
    x = b.read(i, 1)
    raw = b.as_int(x)
    bits, mantissa = BITS[x.type], MANTISSA[x.type]
    magnitude = b.bin("and", raw, b.integer(raw.type, (1 << (bits - 1)) - 1))
    infinity = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    inf, least = b.integer(raw.type, infinity), b.integer(raw.type, 1 << mantissa)
    match i.attrs["property"]:
        case "finite":
            p = b.cmp("ult", magnitude, inf)
        case "infinite":
            p = b.cmp("eq", magnitude, inf)
        case "number":
            p = b.cmp("ule", magnitude, inf)
        case "notanumber":
            p = b.cmp("ugt", magnitude, inf)
        case "normal":
            p = b.bin("and", b.cmp("ult", magnitude, inf), b.cmp("uge", magnitude, least))
        case "subnormal":
            p = b.bin("and", b.cmp("ult", magnitude, least), b.cmp("ne", magnitude, b.integer(raw.type, 0)))
        case other:
            raise b.unsupported(f"testp.{other}")
    b.write(i, 0, p)
