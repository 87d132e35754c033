"""Video instructions: scalar ones with byte and half selectors, SIMD ones on two or four parts."""

from __future__ import annotations

from fatload.codegen.builder import Value
from fatload.codegen.lower.integer import signed
from fatload.codegen.lowering import Lowering
from fatload.ptx.model import Instruction, Operand, Reg, Selected


def _selected(b: Lowering, o: Operand, type_: str) -> Value:
    """An operand with its selector, extended to a signed i64."""
    selector = ""
    if isinstance(o, Selected):
        selector, o = o.selector, o.operand
    v = b.operand(o, "i32")
    if selector:
        bits = 8 if selector[0] == "b" else 16
        position = int(selector[1]) * bits
        v = b.trunc(b.bin("lshr", v, b.integer("i32", position)), f"i{bits}")
    return b.cast("sext" if signed(type_) else "zext", v, "i64")


def _clamped(b: Lowering, v: Value, type_: str, bits: int) -> Value:
    """A signed i64 saturated to an integer type of `bits` bits."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed(type_) else (0, (1 << bits) - 1)
    v = b.intrinsic("smax", "i64", (v, b.integer("i64", low)))
    return b.intrinsic("smin", "i64", (v, b.integer("i64", high)))


def _operation(b: Lowering, name: str, x: Value, y: Value) -> Value:
    """vadd … on signed integers wide enough."""
    t = x.type
    match name:
        case "vadd":
            return b.bin("add", x, y)
        case "vsub":
            return b.bin("sub", x, y)
        case "vabsdiff":
            return b.intrinsic("abs", t, (b.bin("sub", x, y),), "i1 false")
        case "vavrg":  # rounded half away from zero
            s = b.bin("add", x, y)
            up = b.bin("add", s, b.cast("zext", b.cmp("sge", s, b.integer(t, 0)), t))
            return b.bin("ashr", up, b.integer(t, 1))
        case "vmin":
            return b.intrinsic("smin", t, (x, y))
        case _:
            return b.intrinsic("smax", t, (x, y))


def _secondary(b: Lowering, i: Instruction, r: Value, type_: str) -> Value:
    """The second operation with c, in 32 bits."""
    op = i.attrs.get("op2")
    if op is None:
        return r
    c = b.operand(i.operands[3], "i32")
    if op == "add":
        return b.bin("add", r, c)
    return b.intrinsic(("s" if signed(type_) else "u") + op, "i32", (r, c))


def _merge(b: Lowering, i: Instruction, r: Value, type_: str) -> Value:
    """A destination selector puts the low part of the result into c."""
    d = i.operands[0]
    if not isinstance(d, Selected):
        return _secondary(b, i, r, type_)
    bits = 8 if d.selector[0] == "b" else 16
    position = int(d.selector[1]) * bits
    mask = ((1 << bits) - 1) << position
    c = b.operand(i.operands[3], "i32")
    placed = b.bin("and", b.bin("shl", r, b.integer("i32", position)), b.integer("i32", mask))
    return b.bin("or", b.bin("and", c, b.integer("i32", ~mask)), placed)


def _finish(b: Lowering, i: Instruction, wide: Value, type_: str) -> None:
    """Saturates, narrows, merges or applies the second operation, and writes."""
    d = i.operands[0]
    if i.attrs.get("sat"):
        bits = 32 if not isinstance(d, Selected) else 8 if d.selector[0] == "b" else 16
        wide = _clamped(b, wide, type_, bits)
    result = _merge(b, i, b.cast("trunc", wide, "i32"), type_)
    b.assign(d.operand if isinstance(d, Selected) else d, result)


def scalar(b: Lowering, i: Instruction) -> None:
    """vadd, vsub, vabsdiff, vmin, vmax."""
    x, y = _selected(b, i.operands[1], i.attrs["atype"]), _selected(b, i.operands[2], i.attrs["btype"])
    _finish(b, i, _operation(b, i.opcode, x, y), i.attrs["dtype"])


def shift(b: Lowering, i: Instruction) -> None:
    """vshl, vshr: amounts clamp at 32 or wrap at 31."""
    x = _selected(b, i.operands[1], i.attrs["atype"])
    n = _selected(b, i.operands[2], "u32")
    if i.attrs["mode"] == "wrap":
        n = b.bin("and", n, b.integer("i64", 31))
    else:
        n = b.intrinsic("umin", "i64", (n, b.integer("i64", 32)))
    _finish(b, i, b.bin("shl" if i.opcode == "vshl" else "ashr", x, n), i.attrs["dtype"])


def vset(b: Lowering, i: Instruction) -> None:
    """vset: 1 where the comparison holds."""
    x, y = _selected(b, i.operands[1], i.attrs["atype"]), _selected(b, i.operands[2], i.attrs["btype"])
    _finish(b, i, b.cast("zext", _compare(b, i.attrs["cmp"], x, y), "i64"), "u32")


def _compare(b: Lowering, cmp: str, x: Value, y: Value) -> Value:
    return b.cmp(cmp if cmp in ("eq", "ne") else f"s{cmp}", x, y)


def vmad(b: Lowering, i: Instruction) -> None:
    """vmad: a * b + c (plus one with .po) scaled down by 7 or 15 bits."""
    x, y = _selected(b, i.operands[1], i.attrs["atype"]), _selected(b, i.operands[2], i.attrs["btype"])
    is_signed = signed(i.attrs["atype"]) or signed(i.attrs["btype"])
    c = b.cast("sext" if is_signed else "zext", b.operand(i.operands[3], "i32"), "i64")
    total = b.bin("add", b.bin("mul", x, y), c)
    if i.attrs.get("po"):
        total = b.bin("add", total, b.integer("i64", 1))
    amount = {"shr7": 7, "shr15": 15}.get(i.attrs.get("shift", ""), 0)
    if amount:
        total = b.bin("ashr" if is_signed else "lshr", total, b.integer("i64", amount))
    if i.attrs.get("sat"):
        total = _clamped(b, total, "s32" if is_signed else "u32", 32)
    b.write(i, 0, b.cast("trunc", total, "i32"))


def _parts(b: Lowering, i: Instruction, n: int, type_: str, count: int) -> list[Value]:
    """The parts of operand `n` (1 or 2) as i32; its selector names parts of the pair (b, a), numbered from a's lowest."""
    bits = 32 // count
    order = [(n - 1) * count + k for k in range(count)]
    sources: list[Operand] = []
    for o in i.operands[1:3]:
        sources.append(o.operand if isinstance(o, Selected) else o)
    selected = i.operands[n]
    if isinstance(selected, Selected):
        if len(selected.selector) != count + 1:
            raise b.unsupported(f"the selector .{selected.selector}")
        order = [int(c) for c in reversed(selected.selector[1:])]
    parts = []
    for k in order:
        v = b.operand(sources[k // count], "i32")
        up = b.bin("shl", v, b.integer("i32", 32 - bits - k % count * bits))
        parts.append(b.bin("ashr" if signed(type_) else "lshr", up, b.integer("i32", 32 - bits)))
    return parts


def _simd_width(i: Instruction) -> int:
    return int(i.opcode[-1])


def simd(b: Lowering, i: Instruction) -> None:
    """vadd2 … vmax4: with .add the sum of the parts is added to c, otherwise c's parts stay where the mask leaves them out."""
    count = _simd_width(i)
    bits = 32 // count
    name = i.opcode[:-1]
    d_type = i.attrs["dtype"]
    xs = _parts(b, i, 1, i.attrs["atype"], count)
    ys = _parts(b, i, 2, i.attrs["btype"], count)
    results = []
    for x, y in zip(xs, ys, strict=True):
        r = _operation(b, name, x, y)
        if i.attrs.get("sat"):
            r = b.cast("trunc", _clamped(b, b.cast("sext", r, "i64"), d_type, bits), "i32")
        results.append(r)
    _simd_finish(b, i, results, bits)


def simd_set(b: Lowering, i: Instruction) -> None:
    """vset2, vset4."""
    count = _simd_width(i)
    xs = _parts(b, i, 1, i.attrs["atype"], count)
    ys = _parts(b, i, 2, i.attrs["btype"], count)
    results = [b.cast("zext", _compare(b, i.attrs["cmp"], x, y), "i32") for x, y in zip(xs, ys, strict=True)]
    _simd_finish(b, i, results, 32 // count)


def _simd_finish(b: Lowering, i: Instruction, results: list[Value], bits: int) -> None:
    d = i.operands[0]
    chosen = range(len(results))
    if isinstance(d, Selected):
        wanted = {int(c) for c in d.selector[1:]}
        chosen = [k for k in chosen if k in wanted]  # type: ignore[assignment]
        d = d.operand
    c = b.operand(i.operands[3], "i32")
    if i.attrs.get("op2"):
        total = c
        for k in chosen:
            total = b.bin("add", total, results[k])  # with all its bits, as recorded from hardware
    else:
        mask = sum(((1 << bits) - 1) << (k * bits) for k in chosen)
        total = b.bin("and", c, b.integer("i32", ~mask))
        for k in chosen:
            part = b.bin("and", results[k], b.integer("i32", (1 << bits) - 1))
            total = b.bin("or", total, b.bin("shl", part, b.integer("i32", k * bits)))
    assert isinstance(d, Reg)
    b.assign(d, total)
