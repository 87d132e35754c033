"""Integer arithmetic: add … mad, carries, 24-bit, sad, division, dot products, pairs of 16 bits."""

from __future__ import annotations

from collections.abc import Callable

from fatload.codegen.builder import BITS, UNIFORM, Value
from fatload.codegen.lowering import Lowering
from fatload.ptx.model import Instruction


def signed(type_: str) -> bool:
    """Whether a PTX integer type is signed."""
    return type_[0] == "s"


def pairs(b: Lowering, i: Instruction, count: int, f: Callable[[list[Value]], Value]) -> None:
    """Applies `f` to both 16-bit halves of 32-bit operands 1 … `count`."""
    operands = [b.read_as(i, n, "i32") for n in range(1, count + 1)]
    low = f([b.trunc(v, "i16") for v in operands])
    high = f([b.trunc(b.bin("lshr", v, b.integer("i32", 16)), "i16") for v in operands])
    wide = b.bin("shl", b.cast("zext", high, "i32"), b.integer("i32", 16))
    b.write(i, 0, b.bin("or", wide, b.cast("zext", low, "i32")))


def saturate(b: Lowering, name: str, x: Value, y: Value, is_signed: bool) -> Value:
    """``sadd/ssub/uadd/usub`` with saturation."""
    return b.intrinsic(f"{'s' if is_signed else 'u'}{name}.sat", x.type, (x, y))


def _sum(b: Lowering, i: Instruction, name: str) -> None:
    type_ = i.attrs["type"]
    op = b.add if name == "add" else b.sub
    if type_.endswith("x2"):
        if i.attrs.get("sat"):
            pairs(b, i, 2, lambda v: saturate(b, name, v[0], v[1], signed(type_)))
        else:
            pairs(b, i, 2, lambda v: b.bin(name, v[0], v[1]))
        return
    x, y = b.read(i, 1), b.read(i, 2)
    if i.attrs.get("cc"):
        carry_chain(b, i, name, x, y, None)
    elif i.attrs.get("sat"):
        b.write(i, 0, saturate(b, name, x, y, signed(type_)))
    else:
        b.write(i, 0, op(x, y))


def add(b: Lowering, i: Instruction) -> None:
    """add{.sat}, add.cc, add.{u,s}16x2."""
    _sum(b, i, "add")


def sub(b: Lowering, i: Instruction) -> None:
    """sub{.sat}, sub.cc, sub.{u,s}16x2."""
    _sum(b, i, "sub")


def carry_in(b: Lowering) -> Value:
    """CC.CF, as the instruction before left it in this block."""
    if b.carry is None:
        raise b.unsupported("the carry flag across blocks")
    return b.carry


def carry_chain(b: Lowering, i: Instruction, op: str, x: Value, y: Value, carry: Value | None) -> None:
    """x op y (op carry), writing the sum and, with .cc, the carry or borrow out (as PTX has it: borrow is 1)."""
    total = b.bin(op, x, y)
    out = b.cmp("ult", total, x) if op == "add" else b.cmp("ult", x, y)
    if carry is not None:
        c = b.cast("zext", carry, x.type)
        before = total
        total = b.bin(op, before, c)
        again = b.cmp("ult", total, before) if op == "add" else b.cmp("ult", before, c)
        out = b.bin("or", out, again)
    b.write(i, 0, total)
    if i.attrs.get("cc"):
        b.carry = out


def addc(b: Lowering, i: Instruction) -> None:
    """addc{.cc}."""
    carry_chain(b, i, "add", b.read(i, 1), b.read(i, 2), carry_in(b))


def subc(b: Lowering, i: Instruction) -> None:
    """subc{.cc}."""
    carry_chain(b, i, "sub", b.read(i, 1), b.read(i, 2), carry_in(b))


def product(b: Lowering, i: Instruction, x: Value, y: Value, is_signed: bool) -> Value:
    """The product in the mode of the instruction: lo, hi or wide."""
    match i.attrs.get("mode", "lo"):
        case "lo":
            return b.mul(x, y)
        case "wide":
            to = f"i{BITS[x.type] * 2}"
            return (
                b.mul(b.extend(x, to, is_signed), b.extend(y, to, is_signed))
                if to != "i128"
                else _wide(b, x, y, is_signed)
            )
        case _:
            return high(b, x, y, is_signed)


def _wide(b: Lowering, x: Value, y: Value, is_signed: bool) -> Value:
    op = "sext" if is_signed else "zext"
    return b.bin("mul", b.cast(op, x, "i128"), b.cast(op, y, "i128"))


def high(b: Lowering, x: Value, y: Value, is_signed: bool) -> Value:
    """The upper half of the product."""
    bits = BITS[x.type]
    if bits < 64:
        to = f"i{bits * 2}"
        op = "sext" if is_signed else "zext"
        wide = b.bin("mul", b.cast(op, x, to), b.cast(op, y, to))
        return b.cast("trunc", b.bin("lshr", wide, b.integer(to, bits)), x.type)
    # 64 bits from four 32-bit products, so that vectors stay vectors.
    low = b.integer("i64", 0xFFFFFFFF)
    half = b.integer("i64", 32)
    xl, yl = b.bin("and", x, low), b.bin("and", y, low)
    xh, yh = b.bin("lshr", x, half), b.bin("lshr", y, half)
    ll, lh, hl, hh = (b.bin("mul", p, q) for p, q in ((xl, yl), (xl, yh), (xh, yl), (xh, yh)))
    middle = b.bin("add", b.bin("add", b.bin("lshr", ll, half), b.bin("and", lh, low)), b.bin("and", hl, low))
    top = b.bin(
        "add",
        b.bin("add", hh, b.bin("lshr", lh, half)),
        b.bin("add", b.bin("lshr", hl, half), b.bin("lshr", middle, half)),
    )
    if is_signed:
        sign = b.integer("i64", 63)
        top = b.bin("sub", top, b.bin("and", b.bin("ashr", x, sign), y))
        top = b.bin("sub", top, b.bin("and", b.bin("ashr", y, sign), x))
    return top


def mul(b: Lowering, i: Instruction) -> None:
    """mul.lo, .hi, .wide."""
    b.write(i, 0, product(b, i, b.read(i, 1), b.read(i, 2), signed(i.attrs["type"])))


def mad(b: Lowering, i: Instruction) -> None:
    """mad.lo, .hi{.sat}, .wide, with .cc."""
    is_signed = signed(i.attrs["type"])
    p = product(b, i, b.read(i, 1), b.read(i, 2), is_signed)
    c = b.read_as(i, 3, p.type)
    if i.attrs.get("cc"):
        carry_chain(b, i, "add", p, c, None)
    elif i.attrs.get("sat"):
        b.write(i, 0, saturate(b, "add", p, c, is_signed))
    else:
        b.write(i, 0, b.add(p, c))


def madc(b: Lowering, i: Instruction) -> None:
    """madc.lo, .hi {.cc}."""
    p = product(b, i, b.read(i, 1), b.read(i, 2), signed(i.attrs["type"]))
    carry_chain(b, i, "add", p, b.read_as(i, 3, p.type), carry_in(b))


def _product24(b: Lowering, i: Instruction) -> Value:
    is_signed = signed(i.attrs["type"])
    shift = b.integer("i32", 8)
    operands = []
    for n in (1, 2):
        up = b.bin("shl", b.read_as(i, n, "i32"), shift)
        operands.append(
            b.cast("sext" if is_signed else "zext", b.bin("ashr" if is_signed else "lshr", up, shift), "i64")
        )
    wide = b.bin("mul", operands[0], operands[1])
    if i.attrs.get("mode") == "hi":  # bits 16 to 47 of the 48-bit product
        wide = b.bin("lshr", wide, b.integer("i64", 16))
    return b.cast("trunc", wide, "i32")


def mul24(b: Lowering, i: Instruction) -> None:
    """mul24.lo, .hi."""
    b.write(i, 0, _product24(b, i))


def mad24(b: Lowering, i: Instruction) -> None:
    """mad24.lo, .hi{.sat}."""
    p, c = _product24(b, i), b.read_as(i, 3, "i32")
    b.write(i, 0, saturate(b, "add", p, c, True) if i.attrs.get("sat") else b.add(p, c))


def distance(b: Lowering, x: Value, y: Value, is_signed: bool) -> Value:
    """|x - y| modulo 2^n."""
    less = b.cmp("slt" if is_signed else "ult", x, y)
    return b.select(less, b.bin("sub", y, x), b.bin("sub", x, y))


def sad(b: Lowering, i: Instruction) -> None:
    """sad: c + |a - b|."""
    x, y, c = (b.read(i, n) for n in (1, 2, 3))
    b.write(i, 0, b.add(distance(b, x, y, signed(i.attrs["type"])), c))


def _constant(v: Value) -> int | None:
    return int(v.text) if v.kind == UNIFORM and v.text.lstrip("-").isdigit() else None


def quotient(b: Lowering, x: Value, y: Value, is_signed: bool) -> Value:
    """x / y toward zero. Never traps: division by zero gives all ones, the smallest by -1 itself."""
    ones, zero, one = b.integer(x.type, -1), b.integer(x.type, 0), b.integer(x.type, 1)
    divisor = _constant(y)
    op = "sdiv" if is_signed else "udiv"
    if divisor not in (None, 0) and not (is_signed and divisor == -1):
        return b.bin(op, x, y)
    nothing = b.cmp("eq", y, zero)
    bits = BITS[x.type]
    if is_signed:
        minus = b.cmp("eq", y, ones)
        safe = b.select(b.bin("or", nothing, minus), one, y)
    else:
        safe = b.select(nothing, one, y)
    if bits < 64 and b.lanes > 1 and (x.kind != UNIFORM or y.kind != UNIFORM):
        # Exact in floating point: the quotient's distance from an integer is far above half a unit in the last place.
        real = "float" if bits <= 16 else "double"
        to, back = ("sitofp", "fptosi") if is_signed else ("uitofp", "fptoui")
        q = b.cast(back, b.bin("fdiv", b.cast(to, x, real), b.cast(to, safe, real)), x.type)
    else:
        q = (
            b.per_lane((x, safe), (x.type,), lambda v: [b.bin(op, v[0], v[1])])[0]
            if b.lanes > 1 and (x.kind != UNIFORM or safe.kind != UNIFORM)
            else b.bin(op, x, safe)
        )
    if is_signed:
        q = b.select(minus, b.bin("sub", zero, x), q)
    return b.select(nothing, ones, q)


def div(b: Lowering, i: Instruction) -> None:
    """Integer division."""
    b.write(i, 0, quotient(b, b.read(i, 1), b.read(i, 2), signed(i.attrs["type"])))


def rem(b: Lowering, i: Instruction) -> None:
    """Remainder with the dividend's sign; of zero: the dividend."""
    x, y = b.read(i, 1), b.read(i, 2)
    is_signed = signed(i.attrs["type"])
    if _constant(y) not in (None, 0, -1):
        b.write(i, 0, b.bin("srem" if is_signed else "urem", x, y))
        return
    b.write(i, 0, b.bin("sub", x, b.bin("mul", quotient(b, x, y, is_signed), y)))


def neg(b: Lowering, i: Instruction) -> None:
    """Two's complement negation."""
    x = b.read(i, 1)
    b.write(i, 0, b.sub(b.integer(x.type, 0), x))


def abs(b: Lowering, i: Instruction) -> None:
    """Absolute value; of the smallest itself."""
    x = b.read(i, 1)
    b.write(i, 0, b.intrinsic("abs", x.type, (x,), "i1 false"))


def _extreme(b: Lowering, i: Instruction, name: str) -> None:
    type_ = i.attrs["type"]
    op = ("s" if signed(type_) else "u") + name
    zero = b.integer("i16" if type_.endswith("x2") else f"i{type_[1:]}", 0)
    relu = bool(i.attrs.get("relu"))

    def one(v: list[Value]) -> Value:
        r = b.intrinsic(op, v[0].type, (v[0], v[1]))
        return b.intrinsic("smax", r.type, (r, zero)) if relu else r

    if type_.endswith("x2"):
        pairs(b, i, 2, one)
    else:
        b.write(i, 0, one([b.read(i, 1), b.read(i, 2)]))


def min(b: Lowering, i: Instruction) -> None:
    """min{.relu}."""
    _extreme(b, i, "min")


def max(b: Lowering, i: Instruction) -> None:
    """max{.relu}."""
    _extreme(b, i, "max")


def _part(b: Lowering, v: Value, index: int, bits: int, is_signed: bool) -> Value:
    shifted = b.bin("shl", v, b.integer("i32", 32 - bits - index * bits))
    return b.bin("ashr" if is_signed else "lshr", shifted, b.integer("i32", 32 - bits))


def dp4a(b: Lowering, i: Instruction) -> None:
    """Four products of bytes, added to c."""
    x, y, total = (b.read_as(i, n, "i32") for n in (1, 2, 3))
    sx, sy = signed(i.attrs["atype"]), signed(i.attrs["btype"])
    for k in range(4):
        total = b.bin("add", total, b.bin("mul", _part(b, x, k, 8, sx), _part(b, y, k, 8, sy)))
    b.write(i, 0, total)


def dp2a(b: Lowering, i: Instruction) -> None:
    """Two products of 16-bit parts of a with the low or high bytes of b, added to c."""
    x, y, total = (b.read_as(i, n, "i32") for n in (1, 2, 3))
    sx, sy = signed(i.attrs["atype"]), signed(i.attrs["btype"])
    first = 2 if i.attrs["mode"] == "hi" else 0
    for k in range(2):
        total = b.bin("add", total, b.bin("mul", _part(b, x, k, 16, sx), _part(b, y, first + k, 8, sy)))
    b.write(i, 0, total)
