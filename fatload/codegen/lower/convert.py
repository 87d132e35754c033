"""cvt: between integers, f16, bf16, f32, f64 and the 8-bit and tf32 formats; cvt.pack."""

from __future__ import annotations

from fatload.codegen.builder import BITS, Value
from fatload.codegen.lower.common import clamp01, flush, is_nan
from fatload.codegen.lower.integer import signed
from fatload.codegen.lower.narrow import BF16, E4M3, E5M2, F16, TF32, Format, narrow, widen_bf16, widen_half
from fatload.codegen.lowering import IR_TYPES, Lowering
from fatload.ptx.model import Instruction

_ROUND = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_SMALL: dict[str, Format] = {"f16": F16, "bf16": BF16}
_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})


def cvt(b: Lowering, i: Instruction) -> None:
    """cvt with one source."""
    d, a = i.attrs["dtype"], i.attrs["atype"]
    source = b.operand(i.operands[1], "i16" if a in ("f16", "bf16") else IR_TYPES[a])
    if a in _FLOATS:
        if d in _FLOATS:
            _float_to_float(b, i, source, d, a)
        else:
            _float_to_int(b, i, source, d, a)
    elif d in _FLOATS:
        _int_to_float(b, i, source, d, a)
    else:
        _int_to_int(b, i, source, d, a)


def _int_to_int(b: Lowering, i: Instruction, v: Value, d: str, a: str) -> None:
    have, want = BITS[v.type], BITS[IR_TYPES[d]]
    if i.attrs.get("sat"):
        v = _saturated(b, v, d, a)
    v = b.extend(v, f"i{want}", signed(a)) if want > have else b.trunc(v, f"i{want}")
    b.write_extended(i, 0, v, signed(d))


def _saturated(b: Lowering, v: Value, d: str, a: str) -> Value:
    """`v` clamped to the range of `d`, as far as its own type reaches past it."""
    have, want = int(a[1:]), int(d[1:])
    low, high = (-(1 << (want - 1)), (1 << (want - 1)) - 1) if signed(d) else (0, (1 << want) - 1)
    least, most = (-(1 << (have - 1)), (1 << (have - 1)) - 1) if signed(a) else (0, (1 << have) - 1)
    if most > high:
        v = b.intrinsic("smin" if signed(a) else "umin", v.type, (v, b.integer(v.type, high)))
    if least < low:
        v = b.intrinsic("smax", v.type, (v, b.integer(v.type, low)))
    return v


def _widened(b: Lowering, v: Value, a: str) -> Value:
    """A half-width value as f32."""
    if a == "f16":
        return widen_half(b, v)
    return widen_bf16(b, v) if a == "bf16" else v


def _float_to_int(b: Lowering, i: Instruction, v: Value, d: str, a: str) -> None:
    v = _widened(b, v, a)
    if i.attrs.get("ftz"):
        v = flush(b, v)
    rounded = b.intrinsic(_ROUND[i.attrs["rnd"]], v.type, (v,))
    is_signed, bits = signed(d), int(d[1:])
    to = f"i{max(bits, 32)}"
    name = "fptosi.sat" if is_signed else "fptoui.sat"
    result = b.intrinsic(name, to, (rounded,), mangle=(to, v.type))
    if bits < 32:
        if is_signed:
            result = b.intrinsic("smax", to, (result, b.integer(to, -(1 << (bits - 1)))))
            result = b.intrinsic("smin", to, (result, b.integer(to, (1 << (bits - 1)) - 1)))
        else:
            result = b.intrinsic("umin", to, (result, b.integer(to, (1 << bits) - 1)))
        result = b.trunc(result, f"i{bits}")
    if bits == 64 or a == "f64":
        # Recorded from hardware: NaN gives the sign bit where either side has 64 bits, else 0.
        result = b.select(is_nan(b, v), b.integer(result.type, 1 << (bits - 1)), result)
    b.write_extended(i, 0, result, is_signed)


def _int_to_float(b: Lowering, i: Instruction, v: Value, d: str, a: str) -> None:
    rnd = i.attrs["rnd"]
    is_signed = signed(a)
    if d in ("f32", "f64"):
        wide = b.extend(v, f"i{max(BITS[v.type], 32)}", is_signed)
        result = b.rounded_cast("sitofp" if is_signed else "uitofp", rnd, wide, IR_TYPES[d])
        if rnd == "rm":
            # A zero must not come out negative, whatever the expansion subtracts on the way.
            zero = b.cmp("eq", wide, b.integer(wide.type, 0))
            result = b.select(zero, b.real(result.type, 0), result)
        b.write(i, 0, clamp01(b, result) if i.attrs.get("sat") else result)
        return
    if d == "f16":
        # Everything past 2^17 overflows as 2^17 does, and what is below is exact in f32.
        wide = b.extend(v, f"i{max(BITS[v.type], 32)}", is_signed)
        limit = b.integer(wide.type, 1 << 17)
        wide = b.intrinsic("smin" if is_signed else "umin", wide.type, (wide, limit))
        if is_signed:
            wide = b.intrinsic("smax", wide.type, (wide, b.integer(wide.type, -(1 << 17))))
        exact = b.cast("sitofp", b.trunc(wide, "i32"), "float")
        _write_small(b, i, exact, "f16", rnd)
        return
    wide = b.extend(v, "i64", is_signed)
    _write_small(b, i, _odd_double(b, wide, is_signed), "bf16", rnd)


def _odd_double(b: Lowering, v: Value, is_signed: bool) -> Value:
    """A 64-bit integer as f64 with sticky low bits: good for a further rounding to at most 51 bits."""
    if is_signed:
        negative = b.cmp("slt", v, b.integer("i64", 0))
        v = b.intrinsic("abs", "i64", (v,), "i1 false")
    low = b.bin("and", v, b.integer("i64", 0xFFF))
    sticky = b.cast("zext", b.cmp("ne", low, b.integer("i64", 0)), "i64")
    high = b.bin("lshr", v, b.integer("i64", 12))
    cut = b.bin("or", b.bin("shl", high, b.integer("i64", 12)), b.bin("shl", sticky, b.integer("i64", 11)))
    small = b.cmp("ult", v, b.integer("i64", 1 << 52))
    exact = b.cast("uitofp", b.select(small, v, cut), "double")
    return b.select(negative, b.un("fneg", exact), exact) if is_signed else exact


def _write_small(b: Lowering, i: Instruction, v: Value, d: str, rnd: str) -> None:
    """Rounds f32 or f64 to f16 or bf16, with .sat, .relu and .satfinite, and writes it."""
    b.write(i, 0, small(b, i, v, d, rnd))


def small(b: Lowering, i: Instruction, v: Value, d: str, rnd: str) -> Value:
    """f32 or f64 as the 16 bits of an f16 or bf16."""
    if i.attrs.get("sat"):
        v = clamp01(b, v)
    if i.attrs.get("relu"):
        v = _relu(b, v)
    satfinite = bool(i.attrs.get("satfinite"))
    if d == "f16" and rnd == "rn" and v.type == "float" and not satfinite:
        return b.bitcast(b.cast("fptrunc", v, "half"), "i16")
    return b.trunc(narrow(b, v, _SMALL[d], rnd, satfinite), "i16")


def _relu(b: Lowering, v: Value) -> Value:
    """Negative numbers (and -0) become +0, NaN stays."""
    zero = b.real(v.type, 0)
    return b.select(b.cmp("ole", v, zero), zero, v)


def _float_to_float(b: Lowering, i: Instruction, v: Value, d: str, a: str) -> None:
    rnd = i.attrs.get("rnd", "")
    v = _widened(b, v, a)
    if i.attrs.get("ftz") and a == "f32" and d not in _SMALL:  # to f16 hardware takes denormals as they are
        v = flush(b, v)
    if rnd in _ROUND:
        v = b.intrinsic(_ROUND[rnd], v.type, (v,))
        rnd = "rn"
    if d in _SMALL:
        if d == a and not i.attrs.get("sat") and "rnd" not in i.attrs:
            b.write(i, 0, b.operand(i.operands[1], "i16"))
            return
        _write_small(b, i, v, d, rnd or "rn")
        return
    to = IR_TYPES[d]
    if BITS[to] > BITS[v.type]:
        v = b.cast("fpext", v, to)
    elif BITS[to] < BITS[v.type]:
        v = b.rounded_cast("fptrunc", rnd or "rn", v, to)
    if i.attrs.get("ftz") and to == "float":
        v = flush(b, v)
    if i.attrs.get("sat"):
        v = clamp01(b, v)
    b.write(i, 0, v)


def pack2(b: Lowering, i: Instruction) -> None:
    """cvt.{f16x2,bf16x2}.f32 d, a, b: a in the upper half."""
    d = i.attrs["dtype"].removesuffix("x2")
    rnd = i.attrs["rnd"]
    high, low = (small(b, i, b.operand(i.operands[n], "float"), d, rnd) for n in (1, 2))
    b.write(i, 0, join_halves(b, low, high))


def join_halves(b: Lowering, low: Value, high: Value) -> Value:
    """Two i16 as an i32."""
    return b.bin("or", b.bin("shl", b.cast("zext", high, "i32"), b.integer("i32", 16)), b.cast("zext", low, "i32"))


def split_halves(b: Lowering, v: Value) -> tuple[Value, Value]:
    """The low and high i16 of an i32."""
    return b.trunc(v, "i16"), b.trunc(b.bin("lshr", v, b.integer("i32", 16)), "i16")


def tf32(b: Lowering, i: Instruction) -> None:
    """cvt.tf32.f32: f32's exponent with 10 bits of mantissa, the lower 13 zero."""
    v = b.operand(i.operands[1], "float")
    if i.attrs.get("relu"):
        v = _relu(b, v)
    if i.attrs["rnd"] == "rna":
        b.write(i, 0, _tf32_away(b, v, bool(i.attrs.get("satfinite"))))
        return
    q = narrow(b, v, TF32, i.attrs["rnd"], bool(i.attrs.get("satfinite")))
    b.write(i, 0, b.bin("shl", q, b.integer("i32", 13)))


def _tf32_away(b: Lowering, v: Value, satfinite: bool) -> Value:
    """Ties away from zero, by an addition to the bits. As recorded from hardware, NaN keeps its upper bits, and satfinite takes one
    from every result with the top exponent: infinity becomes the largest number, NaN the NaN below."""
    raw = b.bitcast(v, "i32")
    top = b.integer("i32", 0x7F800000)
    special = b.cmp("eq", b.bin("and", raw, top), top)
    moved = b.select(special, raw, b.bin("add", raw, b.integer("i32", 0x1000)))
    result = b.bin("and", moved, b.integer("i32", ~0x1FFF))
    if not satfinite:
        return result
    over = b.cmp("eq", b.bin("and", result, top), top)
    return b.select(over, b.bin("sub", result, b.integer("i32", 0x2000)), result)


def fp8(b: Lowering, i: Instruction) -> None:
    """e4m3x2 and e5m2x2 from two f32 or an f16x2, and back to f16x2."""
    d, a = i.attrs["dtype"], i.attrs["atype"]
    if d == "f16x2":
        pair = b.operand(i.operands[1], "i16")
        parts = [_from_fp8(b, i, b.trunc(b.bin("lshr", pair, b.integer("i16", s)), "i8"), a) for s in (0, 8)]
        b.write(i, 0, join_halves(b, parts[0], parts[1]))
        return
    if a == "f32":
        high, low = (b.operand(i.operands[n], "float") for n in (1, 2))
    else:
        low, high = (widen_half(b, v) for v in split_halves(b, b.operand(i.operands[1], "i32")))
    to = E4M3 if d.startswith("e4m3") else E5M2
    bytes_ = []
    for v in (low, high):
        if i.attrs.get("relu"):
            v = _relu(b, v)
        bytes_.append(b.trunc(narrow(b, v, to, "rn", True), "i16"))
    b.write(i, 0, b.bin("or", b.bin("shl", bytes_[1], b.integer("i16", 8)), bytes_[0]))


def _from_fp8(b: Lowering, i: Instruction, v: Value, a: str) -> Value:
    """An e5m2 or e4m3 byte as the bits of an f16."""
    wide = b.cast("zext", v, "i16")
    if a.startswith("e5m2"):
        result = b.bin("shl", wide, b.integer("i16", 8))
    else:
        # The exponent moves up by 15 - 7 = 8: multiply by 2^8, which makes f16's denormals right as well.
        sign = b.bin("shl", b.bin("and", wide, b.integer("i16", 0x80)), b.integer("i16", 8))
        moved = b.bin("shl", b.bin("and", wide, b.integer("i16", 0x7F)), b.integer("i16", 7))
        scaled = b.bin("fmul", widen_half(b, moved), b.real("float", 0x43800000))
        half = b.bitcast(b.cast("fptrunc", scaled, "half"), "i16")
        nan = b.cmp("eq", b.bin("and", wide, b.integer("i16", 0x7F)), b.integer("i16", 0x7F))
        result = b.bin("or", b.select(nan, b.integer("i16", 0x7FFF), half), sign)
    if i.attrs.get("relu"):
        f = widen_half(b, result)
        result = b.select(b.cmp("ole", f, b.real("float", 0)), b.integer("i16", 0), result)
    return result


def cvt_pack(b: Lowering, i: Instruction) -> None:
    """cvt.pack.sat: a and b saturated to narrow integers, a above b; with c, its lower bits move up behind them."""
    d = i.attrs["dtype"]
    bits = int(d[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed(d) else (0, (1 << bits) - 1)
    parts = []
    for n in (1, 2):
        v = b.operand(i.operands[n], "i32")
        v = b.intrinsic("smax", "i32", (v, b.integer("i32", low)))
        v = b.intrinsic("smin", "i32", (v, b.integer("i32", high)))
        parts.append(b.bin("and", v, b.integer("i32", (1 << bits) - 1)))
    packed = b.bin("or", b.bin("shl", parts[0], b.integer("i32", bits)), parts[1])
    if "btype" in i.attrs:
        packed = b.bin("or", packed, b.bin("shl", b.operand(i.operands[3], "i32"), b.integer("i32", 2 * bits)))
    b.write(i, 0, packed)
