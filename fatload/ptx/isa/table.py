"""All rows, by opcode, and the look-up of an instruction's row by its name and operand count."""

from __future__ import annotations

import importlib
from functools import cache

from fatload.ptx.isa.later import LATER
from fatload.ptx.isa.row import Row

FAMILIES = (
    "integer", "bits", "video", "float", "half", "compare", "convert", "move", "memory", "atomic", "control", "barrier", "warp",
)  # fmt: skip

Match = tuple[Row, dict[str, str], tuple[str, ...]]
"""A row, the attributes of the modifiers, the types of the operands."""


@cache
def rows() -> dict[str, tuple[Row, ...]]:
    """Every row, by opcode."""
    table: dict[str, list[Row]] = {}
    for family in FAMILIES:
        for row in importlib.import_module(f"fatload.ptx.isa.{family}").ROWS:
            table.setdefault(row.opcode, []).append(row)
    return {opcode: tuple(found) for opcode, found in table.items()}


@cache
def candidates(opcode: str, modifiers: tuple[str, ...]) -> tuple[Match, ...]:
    """Rows whose modifiers fit, in the table's order; if none does as the table spells them, those that fit in another order."""
    known = rows().get(opcode, ())
    for match in (Row.match, Row.match_any_order):
        found = [(row, attrs) for row in known if (attrs := match(row, modifiers)) is not None]
        if found:
            return tuple((row, attrs, row.types(attrs)) for row, attrs in found)
    return ()


@cache
def find(opcode: str, modifiers: tuple[str, ...], operands: int) -> Match | None:
    """The row for an instruction with this many operands; None if there is none."""
    for row, attrs, types in candidates(opcode, modifiers):
        fewest, most = row.counts()
        if fewest <= operands <= most:
            return row, attrs, _pick(row, types, operands)
    for n in range(len(modifiers), -1, -1):
        later = LATER.get(".".join((opcode, *modifiers[:n])))
        if later is not None:
            return later, {}, ("any",) * operands
    return None


def _pick(row: Row, types: tuple[str, ...], operands: int) -> tuple[str, ...]:
    """Types of the operands that are there: optional ones are left out from the front of the optional ones' end."""
    missing = len(types) - operands
    if not missing:
        return types
    kept = []
    optional = [k for k, o in enumerate(row.operands) if o.optional]
    dropped = set(optional[len(optional) - missing :])
    for k, t in enumerate(types):
        if k not in dropped:
            kept.append(t)
    return tuple(kept)


def legal(opcode: str, modifiers: tuple[str, ...]) -> str:
    """What would have been legal, for an error message."""
    known = rows().get(opcode)
    if known is None:
        return ""
    if candidates(opcode, modifiers):
        return "; operands: " + " or ".join(
            sorted({" ".join(o.name for o in r.operands) for r, _, _ in candidates(opcode, modifiers)})
        )
    return "; forms: " + ", ".join(sorted({f"{r.opcode}{_modifiers(r)}" for r in known})[:6])


def _modifiers(row: Row) -> str:
    parts = []
    for g in row.groups:
        words = "|".join(g.words)
        parts.append(f"{{.{words}}}" if g.optional else f".{words}")
    return "".join(parts)
