"""Instruction forms of the tables as small kernels, and operands that reach the corners: what `record` runs on a real GPU."""

from __future__ import annotations

import importlib
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from fatload.ptx.isa.row import Row

THREADS, CTA = 1024, 256
NEWEST, SM = (8, 5), 90
Cells = npt.NDArray[np.uint64]

FAMILIES = ("bits", "video", "convert", "half", "float", "integer", "compare")
MOST = {"compare": 250, "integer": 250, "half": 450, "video": 500, "convert": 1000}
"""How many forms of a large family are taken, by lot."""

WIDTH = {
    "pred": 1, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "tf32": 32, "e4m3x2": 16, "e5m2x2": 16,
    **{f"{k}{n}": n for k in "busf" for n in (8, 16, 32, 64)},
}  # fmt: skip


@dataclass(slots=True, frozen=True)
class Form:
    """One form: its text (the id), its family, types of the result and of the sources, the sources' text behind the result."""

    name: str
    family: str
    out: str
    kind: str
    sources: tuple[str, ...]
    operands: str
    selector: str = ""

    @property
    def id(self) -> str:
        """Unique text."""
        return f"{self.name} {self.selector}{self.operands}"


def forms() -> list[Form]:
    """All forms, in a fixed order."""
    found: list[Form] = []
    for family in FAMILIES:
        mine = [f for row in importlib.import_module(f"fatload.ptx.isa.{family}").ROWS for f in _of_row(family, row)]
        mine = list({f.id: f for f in mine}.values())
        if len(mine) > MOST.get(family, 10**6):
            mine = sorted(random.Random(family).sample(mine, MOST[family]), key=lambda f: f.id)
        found += mine
    return found


def _of_row(family: str, row: Row) -> Iterator[Form]:
    if row.version > NEWEST or row.sm > SM or row.lower is None:
        return
    for words in row.spellings():
        attrs = row.match(words)
        assert attrs is not None
        types = row.types(attrs)
        needed = [(o, t) for o, t in zip(row.operands, types, strict=True) if not o.optional]
        if any(t not in WIDTH for _, t in needed) or "cc" in attrs or row.opcode in ("addc", "subc", "madc"):
            continue
        name = ".".join((row.opcode, *words))
        sources = tuple(t for _, t in needed[1:])
        out = needed[0][1]
        # What the bits of the result mean: the type written in the name where the operand's says less.
        kind = attrs.get("dtype", attrs.get("type", out)) if row.opcode not in ("setp", "testp") else "pred"
        if row.opcode == "set" and kind[0] in "us":
            kind = out
        for selector, operands in _variants(row, attrs, len(sources)):
            yield Form(name, family, out, kind, sources[: operands.count("%") or None], operands, selector)


def _variants(row: Row, attrs: dict[str, str], count: int) -> Iterator[tuple[str, str]]:
    names = ["%a", "%b", "%c", "%e"][:count]
    plain = ", ".join(names)
    if row.opcode == "lop3":
        tail = ", %e" if count == 5 else ""
        for table in (0x00, 0x01, 0x17, 0x3C, 0x40, 0x96, 0xCA, 0xE8, 0xFE, 0xFF):
            if not tail:
                yield "", f"%a, %b, %c, {table:#x}"
        return
    yield "", plain
    if row.opcode[0] != "v" or row.opcode.startswith("vote"):
        return
    rest = "".join(f", {n}" for n in names[2:])
    if row.opcode[-1] in "24":
        letter, parts = ("h", 2) if row.opcode[-1] == "2" else ("b", 4)
        for mask, a, b in (
            (("0", "01"[::-1], "10"), ("1", "01", "23"), ("10", "32", "01"), ("0", "02", "13"))
            if parts == 2
            else (("0", "3210", "7654"), ("31", "0123", "4567"), ("3210", "7531", "6420"), ("20", "0000", "3210"))
        ):
            yield f".{letter}{mask}", f"%a.{letter}{a}, %b.{letter}{b}{rest}"
        return
    selectors = ("b0", "b3", "h0", "h1")
    for a, b in (("b1", "h0"), ("h1", "b2"), ("b3", "b0")):
        yield "", f"%a.{a}, %b.{b}{rest}"
    if count == 2:  # a selector of the result: the rest comes from c
        for d in selectors:
            yield f".{d}", "%a.h1, %b.b0, %c"


def _register(type_: str) -> str:
    return ".pred" if type_ == "pred" else f".b{max(16, WIDTH[type_])}"


@cache
def module(batch: tuple[Form, ...]) -> str:
    """A module whose kernel k(a, b, c, e, d) runs forms with the same sources; form j writes THREADS cells from d + j * THREADS * 8."""
    sources = types(batch[0])
    lines = [
        ".version 8.5", ".target sm_90", ".address_size 64",
        ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pe, .param .u64 pd)", "{",
        " .reg .b64 %p<6>, %off, %wide; .reg .b32 %x, %y, %t; .reg .pred %q;",
    ]  # fmt: skip
    lines.append(" mov.u32 %x, %ctaid.x; mov.u32 %y, %tid.x; mad.lo.u32 %x, %x, 256, %y; mul.wide.u32 %off, %x, 8;")
    for k, (n, type_) in enumerate(zip("abce", sources, strict=False)):
        bits = WIDTH[type_]
        lines.append(f" .reg {_register(type_)} %{n}; ld.param.u64 %p{k}, [p{n}]; add.u64 %p{k}, %p{k}, %off;")
        if type_ == "pred":
            lines.append(f" ld.global.b32 %t, [%p{k}]; and.b32 %t, %t, 1; setp.ne.b32 %{n}, %t, 0;")
        else:
            lines.append(f" ld.global.b{bits} %{n}, [%p{k}];")
    lines.append(" ld.param.u64 %p5, [pd]; add.u64 %p5, %p5, %off;")
    for j, f in enumerate(batch):
        wide = f.name.startswith("cvt") and f.out[0] in "us" and WIDTH[f.out] < 32
        register = ".b32" if wide else _register(f.out)
        at = j * THREADS * 8
        lines.append(f" {{ .reg {register} %d; {f.name} %d{f.selector}, {f.operands};")
        if f.out == "pred":
            lines.append(f"  selp.b32 %t, 1, 0, %d; st.global.b32 [%p5+{at}], %t; }}")
        else:
            lines.append(f"  st.global{register} [%p5+{at}], %d; }}")
    return "\n".join([*lines, " ret;", "}", ""])


def types(form: Form) -> tuple[str, ...]:
    """The types of registers a, b, c, e that the operands name."""
    if form.selector and len(form.sources) < 3:
        return (*form.sources, "b32")[:3] if "%c" in form.operands else form.sources
    return form.sources


def batches(listed: Sequence[Form], size: int) -> list[tuple[Form, ...]]:
    """Forms with the same sources together, `size` at most."""
    groups: dict[tuple[str, ...], list[Form]] = {}
    for f in listed:
        groups.setdefault(types(f), []).append(f)
    return [tuple(g[k : k + size]) for g in groups.values() for k in range(0, len(g), size)]


# -- operands ---------------------------------------------------------------------------------------------------------


def _float_patterns(numbers: Sequence[float], to: str) -> list[int]:
    """Bit patterns of numbers, with their neighbours, in f32 or f64."""
    code, raw = ("<f", "<I") if to == "f32" else ("<d", "<Q")
    found = []
    for x in numbers:
        if to == "f32" and abs(x) > 3.4e38:
            continue
        bits = struct.unpack(raw, struct.pack(code, x))[0]
        found += [bits, max(bits - 1, 0), bits + 1]
    return found


_NUMBERS = [
    s * x
    for x in (
        0.5, 1.0, 1.5, 2.5, 3.5, 127.5, 128.0, 255.5, 256.0, 32767.5, 65504.0, 65520.0, 65535.5, 448.0, 464.0, 480.0, 57344.0,
        61440.0, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 2.0**-14, 2.0**-15, 2.0**-24, 2.0**-25, 1.5 * 2.0**-24, 2.0**-6, 2.0**-9, 2.0**-10,
        2.0**-16, 2.0**-17, 2.0**-126, 2.0**-133, 2.0**-134, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 3.3895e38,
        100.25, 3.14159, 0.1, 2.0**-149, 2.0**-150, 1 + 2.0**-24, 1 + 3 * 2.0**-24, 1 - 2.0**-25, 2.0**127, 2.0**128, 3.40282357e38,
    )
    for s in (1.0, -1.0)
]  # fmt: skip

_FIRST = {
    "f16": [0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFD01, 1, 0x8001, 0x3FF, 0x400, 0x8400, 0x7BFF, 0xFBFF, 0x3C01,
            0x3BFF, 0x3800, 0x4200, 0xC300, 0x0200, 0x5640, 0x1234, 0xA345],
    "bf16": [0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0xFFA0, 1, 0x8001, 0x7F, 0x80, 0x8080, 0x7F7F, 0xFF7F, 0x3F81,
             0x3F7F, 0x3F00, 0x4040, 0xC060, 0x0040, 0x4EC8, 0x1234, 0xA345],
    "f32": [0, 1 << 31, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFA00001, 1, 0x80000001, 0x7FFFFF, 0x800000,
            0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800001, 0x3F7FFFFF, 0x3F000000, 0x40400000, 0xC0600000, 0x00400000, 0x7E800001,
            0x12345678, 0xA3456789],
    "f64": [0, 1 << 63, 0x3FF0 << 48, 0xBFF0 << 48, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, (0xFFF4 << 48) + 1, 1, (1 << 63) + 1,
            (1 << 52) - 1, 1 << 52, (1 << 63) + (1 << 52), (0x7FF0 << 48) - 1, (0xFFF0 << 48) - 1, (0x3FF0 << 48) + 1,
            (0x3FF0 << 48) - 1, 0x3FE0 << 48, 0x4008 << 48, 0xC00C << 48, 1 << 51, 0x123456789ABCDEF0, 0xA3456789ABCDEF01, 0x43D0 << 48],
}  # fmt: skip


def _patterns(type_: str) -> list[int]:
    """Values of a type that matter, the most important ones first."""
    if type_.endswith("x2") and type_[0] in "bf":
        rng = random.Random(type_)
        one = _FIRST[type_[:-2]]
        return [lo | rng.choice(one) << 16 for lo in one]
    if type_ in ("f32", "f64"):
        return _FIRST[type_] + _float_patterns(_NUMBERS, type_)
    if type_ in _FIRST:
        return _FIRST[type_]
    bits = WIDTH[type_]
    top = 1 << (bits - 1)
    small = [
        0,
        1,
        2,
        -1,
        top,
        top - 1,
        top + 1,
        31,
        32,
        33,
        63,
        64,
        65,
        7,
        16,
        255,
        256,
        127,
        128,
        -128,
        -129,
        0x7FFF,
        -0x8000,
        -32,
    ]
    more = [0xFFFF, 0x10000, 1 << 24, (1 << 24) + 1, (1 << 25) + 2, (1 << 53) + 1, (1 << 54) - 1, 65519, 65520, 0x7FFFFFFF, 1 << 31,
            (1 << 32) - 1, 1 << 32, 257, 259, (1 << 62) + (1 << 37) + 1, (1 << 62) + (1 << 53) + 1, 0x3210, 0xFEDC]  # fmt: skip
    return [v & ((1 << bits) - 1) for v in small + more]


@cache
def inputs(sources: tuple[str, ...]) -> list[Cells]:
    """Four arrays of THREADS cells for operands of these types: every pair of the most important values, then others, then chance."""
    rng = random.Random(" ".join(sources))
    arrays = []
    lists = [_patterns(t) for t in sources]
    pairs = list(product(lists[0][:24], lists[1][:24])) if len(lists) > 1 else []
    for k, type_ in enumerate(sources):
        bits = WIDTH[type_]
        if k < 2 and pairs:
            values = [p[k] for p in pairs]
        elif len(sources) == 1:
            values = list(lists[0])
        else:
            values = [rng.choice(lists[k]) for _ in pairs]
        for _ in range((THREADS - len(values)) // 3):
            values.append(rng.choice(lists[k]))
        while len(values) < THREADS:
            values.append(_chance(rng, type_))
        arrays.append(np.array([v & ((1 << max(bits, 1)) - 1) for v in values[:THREADS]], np.uint64))
    while len(arrays) < 4:
        arrays.append(np.zeros(THREADS, np.uint64))
    return arrays


def _chance(rng: random.Random, type_: str) -> int:
    """A value by chance; half of the floating-point numbers have a moderate size."""
    bits = WIDTH[type_]
    value = rng.getrandbits(bits)
    if type_ in ("f32", "f64") and rng.random() < 0.5:
        number = rng.choice((-1, 1)) * 2.0 ** rng.uniform(-20, 20)
        code, raw = ("<f", "<I") if type_ == "f32" else ("<d", "<Q")
        value = struct.unpack(raw, struct.pack(code, number))[0]
    elif type_[0] in "us" and rng.random() < 0.5:
        value >>= rng.randrange(bits)
    return value
