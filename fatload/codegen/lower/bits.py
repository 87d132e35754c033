"""Logic, shifts, bit fields, permutation of bytes."""

from __future__ import annotations

from fatload.codegen.builder import BITS, Value
from fatload.codegen.lower.integer import signed
from fatload.codegen.lowering import Lowering
from fatload.ptx.model import Imm, Instruction, Pair


def _logic(b: Lowering, i: Instruction, op: str) -> None:
    b.write(i, 0, b.bin(op, b.read(i, 1), b.read(i, 2)))


def and_(b: Lowering, i: Instruction) -> None:
    """and."""
    _logic(b, i, "and")


def or_(b: Lowering, i: Instruction) -> None:
    """or."""
    _logic(b, i, "or")


def xor(b: Lowering, i: Instruction) -> None:
    """xor."""
    _logic(b, i, "xor")


def not_(b: Lowering, i: Instruction) -> None:
    """not."""
    x = b.read(i, 1)
    b.write(i, 0, b.bin("xor", x, b.integer(x.type, -1)))


def cnot(b: Lowering, i: Instruction) -> None:
    """cnot: 1 for 0, else 0."""
    x = b.read(i, 1)
    b.write(i, 0, b.cast("zext", b.cmp("eq", x, b.integer(x.type, 0)), x.type))


def _amount(b: Lowering, i: Instruction, n: int, type_: str) -> Value:
    """A 32-bit shift amount as `type_`, too large ones kept too large."""
    v = b.operand(i.operands[n], "i32")
    bits = BITS[type_]
    if bits < 32:
        return b.trunc(b.intrinsic("umin", "i32", (v, b.integer("i32", bits))), type_)
    return b.extend(v, type_, False) if bits > 32 else v


def shl(b: Lowering, i: Instruction) -> None:
    """shl: amounts past the width give 0."""
    x = b.read(i, 1)
    b.write(i, 0, b.clamp_shift("shl", x, _amount(b, i, 2, x.type)))


def shr(b: Lowering, i: Instruction) -> None:
    """shr: amounts past the width give 0 or the sign."""
    x = b.read(i, 1)
    op = "ashr" if signed(i.attrs["type"]) else "lshr"
    b.write(i, 0, b.clamp_shift(op, x, _amount(b, i, 2, x.type)))


def shf(b: Lowering, i: Instruction) -> None:
    """shf: shifts the pair (b, a) and keeps the upper (l) or lower (r) half; .clamp: amounts above 32 count as 32."""
    low, high, c = (b.read_as(i, n, "i32") for n in (1, 2, 3))
    if i.attrs["mode"] == "wrap":
        name = "fshl" if i.attrs["dir"] == "l" else "fshr"
        b.write(i, 0, b.intrinsic(name, "i32", (high, low, b.bin("and", c, b.integer("i32", 31)))))
        return
    n = b.cast("zext", b.intrinsic("umin", "i32", (c, b.integer("i32", 32))), "i64")
    pair = b.bin("or", b.bin("shl", b.cast("zext", high, "i64"), b.integer("i64", 32)), b.cast("zext", low, "i64"))
    if i.attrs["dir"] == "l":
        b.write(i, 0, b.cast("trunc", b.bin("lshr", b.bin("shl", pair, n), b.integer("i64", 32)), "i32"))
    else:
        b.write(i, 0, b.cast("trunc", b.bin("lshr", pair, n), "i32"))


def lop3(b: Lowering, i: Instruction) -> None:
    """lop3.b32 d, a, b, c, immLut; with .and/.or also a predicate: (result != 0) op q."""
    table = i.operands[4]
    if not isinstance(table, Imm):
        raise b.unsupported("a table that is no constant")
    x, y, z = (b.read_as(i, n, "i32") for n in (1, 2, 3))
    result = lookup3(b, table.value & 0xFF, x, y, z)
    d = i.operands[0]
    if "bool" not in i.attrs:
        b.write(i, 0, result)
        return
    p = b.bin(i.attrs["bool"], b.cmp("ne", result, b.integer("i32", 0)), b.operand(i.operands[5], "i1"))
    if isinstance(d, Pair):
        b.assign(d.first, result)
        b.assign(d.second, p)
    else:
        b.assign(d, p)


def lookup3(b: Lowering, table: int, x: Value, y: Value, z: Value) -> Value:
    """The function of three bits whose truth table is `table` (bit 4x + 2y + z), by Shannon expansion over x."""
    zero, ones = b.integer("i32", 0), b.integer("i32", -1)

    def two(t: int) -> Value:  # function of y and z: bit 2y + z
        nz = b.bin("xor", z, ones)
        low, high = {0: zero, 1: nz, 2: z, 3: ones}[t & 3], {0: zero, 1: nz, 2: z, 3: ones}[t >> 2]
        if low is high:
            return low
        if t == 0b0110:
            return b.bin("xor", y, z)
        if t == 0b1001:
            return b.bin("xor", b.bin("xor", y, z), ones)
        return choose(y, low, high)

    def choose(c: Value, off: Value, on: Value) -> Value:
        if off is on:
            return off
        if off is zero:
            return c if on is ones else b.bin("and", c, on)
        if on is zero:
            return b.bin("and", b.bin("xor", c, ones), off)
        if on is ones:
            return b.bin("or", c, off)
        if off is ones:
            return b.bin("or", b.bin("xor", c, ones), on)
        return b.bin("xor", off, b.bin("and", c, b.bin("xor", off, on)))

    low, high = table & 15, table >> 4
    if low == high:
        return two(low)
    if low == high ^ 15:
        return b.bin("xor", x, two(low))
    return choose(x, two(low), two(high))


def prmt(b: Lowering, i: Instruction) -> None:
    """prmt: four bytes out of the eight of (b, a), by the selector's nibbles or a mode."""
    x, y = b.read_as(i, 1, "i32"), b.read_as(i, 2, "i32")
    pair = b.bin("or", b.bin("shl", b.cast("zext", y, "i64"), b.integer("i64", 32)), b.cast("zext", x, "i64"))
    mode = i.attrs.get("mode")
    selector = b.read_as(i, 3, "i32")
    total: Value | None = None
    for k in range(4):
        nibble = _prmt_index(b, mode, selector, k)
        index = b.bin("and", nibble, b.integer("i32", 7))
        shift = b.cast("zext", b.bin("shl", index, b.integer("i32", 3)), "i64")
        byte = b.bin("and", b.cast("trunc", b.bin("lshr", pair, shift), "i32"), b.integer("i32", 0xFF))
        if mode is None:  # bit 3 of the nibble: replicate the byte's sign
            sign = b.select(
                b.cmp("ne", b.bin("and", byte, b.integer("i32", 0x80)), b.integer("i32", 0)),
                b.integer("i32", 0xFF),
                b.integer("i32", 0),
            )
            wanted = b.cmp("ne", b.bin("and", nibble, b.integer("i32", 8)), b.integer("i32", 0))
            byte = b.select(wanted, sign, byte)
        placed = b.bin("shl", byte, b.integer("i32", 8 * k)) if k else byte
        total = placed if total is None else b.bin("or", total, placed)
    assert total is not None
    b.write(i, 0, total)


def _prmt_index(b: Lowering, mode: str | None, selector: Value, k: int) -> Value:
    """Which byte goes to place `k`."""
    if mode is None:
        return b.bin("and", b.bin("lshr", selector, b.integer("i32", 4 * k)), b.integer("i32", 15))
    s = b.bin("and", selector, b.integer("i32", 3))
    place = b.integer("i32", k)
    match mode:
        case "f4e":
            return b.bin("add", s, place)
        case "b4e":
            return b.bin("and", b.bin("sub", s, place), b.integer("i32", 7))
        case "rc8":
            return s
        case "ecl":
            return b.intrinsic("smax", "i32", (s, place))
        case "ecr":
            return b.intrinsic("smin", "i32", (s, place))
        case _:  # rc16: the halves
            return b.bin(
                "or", b.bin("shl", b.bin("and", s, b.integer("i32", 1)), b.integer("i32", 1)), b.integer("i32", k & 1)
            )


def _place(b: Lowering, i: Instruction, n: int, type_: str) -> Value:
    """A field's position or length: as hardware has it, mod 256 for 32-bit fields, all 32 bits of it for 64-bit ones."""
    v = b.operand(i.operands[n], "i32")
    if type_ == "i32":
        return b.bin("and", v, b.integer("i32", 0xFF))
    return b.extend(v, type_, False)


def bfe(b: Lowering, i: Instruction) -> None:
    """bfe: `c` bits of a from bit `b`, zero- or sign-extended; past the end the sign of the value's top bit."""
    x = b.read(i, 1)
    bits = BITS[x.type]
    wide = _place(b, i, 2, x.type), _place(b, i, 3, x.type)
    none = b.cmp("eq", wide[1], b.integer(x.type, 0))
    if not signed(i.attrs["type"]):
        shifted = b.clamp_shift("lshr", x, wide[0])
        mask = b.bin("xor", b.clamp_shift("shl", b.integer(x.type, -1), wide[1]), b.integer(x.type, -1))
        b.write(i, 0, b.bin("and", shifted, mask))
        return
    shifted = b.clamp_shift("ashr", x, wide[0])
    spare = b.bin("sub", b.integer(x.type, bits), b.intrinsic("umin", x.type, (wide[1], b.integer(x.type, bits))))
    up = b.clamp_shift("shl", shifted, spare)
    result = b.clamp_shift("ashr", up, spare)
    # A field that reaches past the top takes bit 31 (63) as its sign, which `shifted` is filled with already.
    b.write(i, 0, b.select(none, b.integer(x.type, 0), result))


def bfi(b: Lowering, i: Instruction) -> None:
    """bfi: puts the low `d` bits of a into b at bit `c`."""
    x, y = b.read(i, 1), b.read(i, 2)
    position, length = _place(b, i, 3, x.type), _place(b, i, 4, x.type)
    ones = b.integer(x.type, -1)
    field = b.bin("xor", b.clamp_shift("shl", ones, length), ones)
    mask = b.clamp_shift("shl", field, position)
    placed = b.bin("and", b.clamp_shift("shl", x, position), mask)
    b.write(i, 0, b.bin("or", b.bin("and", y, b.bin("xor", mask, ones)), placed))


def bfind(b: Lowering, i: Instruction) -> None:
    """bfind: position of the highest bit that is not the sign, 0xffffffff if none; .shiftamt: how far to shift it to the top."""
    x = b.read(i, 1)
    bits = BITS[x.type]
    if signed(i.attrs["type"]):
        x = b.bin("xor", x, b.bin("ashr", x, b.integer(x.type, bits - 1)))
    zeros = b.intrinsic("ctlz", x.type, (x,), "i1 false")
    zeros = b.trunc(zeros, "i32") if bits > 32 else zeros
    none = b.cmp("eq", x, b.integer(x.type, 0))
    found = zeros if i.attrs.get("shiftamt") else b.bin("sub", b.integer("i32", bits - 1), zeros)
    b.write(i, 0, b.select(none, b.integer("i32", -1), found))


def brev(b: Lowering, i: Instruction) -> None:
    """brev: bits in reverse order."""
    x = b.read(i, 1)
    b.write(i, 0, b.intrinsic("bitreverse", x.type, (x,)))


def clz(b: Lowering, i: Instruction) -> None:
    """clz: leading zeros."""
    x = b.read(i, 1)
    b.write(i, 0, b.trunc(b.intrinsic("ctlz", x.type, (x,), "i1 false"), "i32"))


def popc(b: Lowering, i: Instruction) -> None:
    """popc: number of ones."""
    x = b.read(i, 1)
    b.write(i, 0, b.trunc(b.intrinsic("ctpop", x.type, (x,)), "i32"))


def fns(b: Lowering, i: Instruction) -> None:
    """fns: position of the n-th set bit of a mask from a base, upward (n > 0), downward (n < 0) or the base itself (n = 0)."""
    mask, base, offset = (b.read_as(i, n, "i32") for n in (1, 2, 3))
    ones, zero, one = b.integer("i32", -1), b.integer("i32", 0), b.integer("i32", 1)
    down = b.cmp("slt", offset, zero)
    # Downward is upward on the reversed mask from the mirrored base.
    m = b.select(down, b.intrinsic("bitreverse", "i32", (mask,)), mask)
    start = b.select(down, b.bin("sub", b.integer("i32", 31), base), base)
    n = b.select(down, b.bin("sub", zero, offset), offset)
    m = b.bin("and", m, b.clamp_shift("shl", ones, start))
    # Drop the lowest set bit n - 1 times in five steps of a binary search by counts.
    rest = b.bin("sub", n, one)
    position: Value = zero
    part = m
    for width in (16, 8, 4, 2, 1):
        low = b.bin("and", part, b.integer("i32", (1 << width) - 1))
        count = b.intrinsic("ctpop", "i32", (low,))
        above = b.cmp("sge", rest, count)
        rest = b.select(above, b.bin("sub", rest, count), rest)
        position = b.select(above, b.bin("add", position, b.integer("i32", width)), position)
        part = b.select(above, b.bin("lshr", part, b.integer("i32", width)), low)
    enough = b.cmp("sle", n, b.intrinsic("ctpop", "i32", (m,)))
    found = b.select(down, b.bin("sub", b.integer("i32", 31), position), position)
    found = b.select(enough, found, ones)
    here = b.cmp("ne", b.bin("and", b.clamp_shift("lshr", mask, base), one), zero)
    at_base = b.select(here, base, ones)
    b.write(i, 0, b.select(b.cmp("eq", offset, zero), at_base, found))


def _field(b: Lowering, i: Instruction, n: int) -> Value:
    v = b.operand(i.operands[n], "i32")
    if i.attrs["mode"] == "clamp":
        return b.intrinsic("umin", "i32", (v, b.integer("i32", 32)))
    return b.bin("and", v, b.integer("i32", 31))


def bmsk(b: Lowering, i: Instruction) -> None:
    """bmsk: a mask of `b` ones from bit `a`; .clamp: both at most 32, .wrap: mod 32."""
    position, width = _field(b, i, 1), _field(b, i, 2)
    ones = b.integer("i32", -1)
    field = b.bin("xor", b.clamp_shift("shl", ones, width), ones)
    b.write(i, 0, b.clamp_shift("shl", field, position))


def szext(b: Lowering, i: Instruction) -> None:
    """szext: the low `b` bits of a, sign- or zero-extended; .clamp: at most 32, .wrap: mod 32."""
    x, width = b.read(i, 1), _field(b, i, 2)
    spare = b.bin("sub", b.integer("i32", 32), width)
    op = "ashr" if signed(i.attrs["type"]) else "lshr"
    result = b.clamp_shift(op, b.clamp_shift("shl", x, spare), spare)
    b.write(i, 0, b.select(b.cmp("eq", width, b.integer("i32", 0)), b.integer("i32", 0), result))
