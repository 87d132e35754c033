"""Instruction forms to put to ptxas: what the tables allow, and what lies beside it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from fatload.ptx.isa import table
from fatload.ptx.isa.row import OperandSpec, Row

REGISTER_OF = {
    "b8": "b16", "u8": "u16", "s8": "s16", "bf16": "b16", "f16": "b16", "bf16x2": "b32", "f16x2": "b32", "u16x2": "b32", "s16x2": "b32",
    "tf32": "b32", "e4m3x2": "b16", "e5m2x2": "b16",
}  # fmt: skip
"""Types that have no registers of their own, or rarely: what holds them."""

VARIABLES = {
    "global": "gvar", "const": "cvar", "shared": "svar", "shared::cta": "svar", "shared::cluster": "svar", "local": "lvar", "param": "pvar",
    "param::entry": "pvar", "param::func": "pvar",
}  # fmt: skip


def register(type_: str, number: int) -> str:
    """A register that holds `type_`."""
    return f"%{REGISTER_OF.get(type_, type_)}_{number}"


def spellings(row: Row, most: int) -> list[tuple[str, ...]]:
    """The row's lists of modifiers; `most` by lot when there are more, every word among them."""
    total = 1
    for g in row.groups:
        total *= len(g.words) + g.optional
    if total <= most:
        return list(row.spellings())
    lot = random.Random(row.text)
    found: dict[tuple[str, ...], None] = {}
    for _ in range(most):
        words = []
        for g in row.groups:
            # An optional group is left out half of the time: else rare words would always come in crowds.
            if not g.optional or lot.random() < 0.4:
                words.append(lot.choice(list(g.words)))
        found[tuple(words)] = None
    return list(found)


def operand_lists(row: Row, words: tuple[str, ...]) -> Iterator[str]:
    """Operands as text for one spelling: every legal number of them, with and without a second destination."""
    attrs = row.match(words)
    assert attrs is not None
    types = row.types(attrs)
    fewest, most = row.counts()
    for count in range(fewest, most + 1):
        dropped = {k for k, o in enumerate(row.operands) if o.optional}
        dropped = set(sorted(dropped)[len(dropped) - (most - count) :]) if count < most else set()
        kept = [(k, o, t) for k, (o, t) in enumerate(zip(row.operands, types, strict=True)) if k not in dropped]
        yield ", ".join(operand(row, attrs, k, o, t, False) for k, o, t in kept)
        if any(o.pair for _, o, _ in kept):
            yield ", ".join(operand(row, attrs, k, o, t, True) for k, o, t in kept)


def operand(row: Row, attrs: Mapping[str, str], k: int, o: OperandSpec, type_: str, pair: bool) -> str:
    """One operand's plainest text."""
    if type_ == "addr":
        return f"[{VARIABLES['param']}]" if attrs.get("space", "").startswith("param") else f"[%b64_{k}]"
    if type_ == "any":
        return f"%b64_{k}"
    if type_ == "label":
        return "LB"
    if o.vector and "vec" in attrs:
        return "{" + ", ".join(register(type_, 4 * k + n) for n in range(int(attrs["vec"][1:]))) + "}"
    text = register(type_, k)
    return f"{text}|%pred_{k}" if pair and o.pair else text


def table_forms(most: int) -> Iterator[tuple[Row, str]]:
    """Every form of the tables (of large rows `most` spellings): its row and its text."""
    for rows in table.rows().values():
        for row in rows:
            if row.opcode in ("call", "brx"):
                continue
            for words in spellings(row, most):
                for text in operand_lists(row, words):
                    yield row, f"{'.'.join((row.opcode, *words))} {text};"
