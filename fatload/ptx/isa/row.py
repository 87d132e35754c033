"""Instruction rows: the notation of the tables, and matching of an instruction's modifiers against them.

A line of a table is ``opcode modifiers | operands | lowering function | first PTX version, first SM`` (the last two may be missing)::

    add.[rnd:rn,rz,rm,rp].[ftz].[sat].(type:f32) | d:$type a:$type b:$type | float.add

``(name:a,b)`` is a group of which one word is required, ``[name:a,b]`` an optional one; ``[ftz]`` is short for ``[ftz:ftz]`` and
``(cc)`` for ``(cc:cc)``; a bare word is required and gives no attribute. ``word=value`` inside a group names the attribute's value.
An operand is ``name:type``: names that begin with ``d`` are written. A type is fundamental, ``$group``, ``$group*2`` (twice as wide),
``addr``, ``label``, ``function``, ``args``, or ``any``. ``?`` behind an operand: it may be missing; ``|p`` behind a name: ``d|p`` is
allowed; ``{}`` behind a type: a vector is allowed. ``-`` as the lowering function: known, not lowered yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fatload.ptx.model import SIZES


@dataclass(slots=True, frozen=True)
class Group:
    """A modifier group: words by spelling → attribute value; an empty name gives no attribute."""

    name: str
    words: Mapping[str, str]
    optional: bool


@dataclass(slots=True, frozen=True)
class OperandSpec:
    """One operand of a row."""

    name: str
    type: str
    optional: bool = False
    pair: bool = False
    vector: bool = False


@dataclass(slots=True, frozen=True, eq=False)
class Row:
    """One line of a table."""

    opcode: str
    groups: tuple[Group, ...]
    operands: tuple[OperandSpec, ...]
    lower: str | None
    version: tuple[int, int] = (1, 0)
    sm: int = 10
    text: str = field(default="", compare=False)

    @property
    def outputs(self) -> int:
        """How many leading operands are written."""
        return sum(o.name.startswith("d") for o in self.operands)

    def match(self, modifiers: tuple[str, ...]) -> dict[str, str] | None:
        """Attributes that `modifiers` give if they fit in the table's order, else None."""
        return _match(self.groups, 0, modifiers, 0)

    def match_any_order(self, modifiers: tuple[str, ...]) -> dict[str, str] | None:
        """Attributes that `modifiers` give if they fit in some order, else None.

        ptxas takes most modifiers in any order (``atom.add.release.gpu.u32``), but types among themselves in the table's, and
        the words that say which half of a product is meant first.
        """
        if _FIRST.intersection(modifiers[1:]):
            return None
        return _match_any_order(self.groups, 0, modifiers)

    def types(self, attrs: Mapping[str, str]) -> tuple[str, ...]:
        """The operands' types under these attributes."""
        return tuple(_resolve(o.type, attrs) for o in self.operands)

    def counts(self) -> tuple[int, int]:
        """Fewest and most operands."""
        return sum(not o.optional for o in self.operands), len(self.operands)

    def spellings(self) -> Iterator[tuple[str, ...]]:
        """Every list of modifiers that the row allows."""
        yield from _spell(self.groups, 0, ())


def _match(groups: tuple[Group, ...], g: int, words: tuple[str, ...], w: int) -> dict[str, str] | None:
    if g == len(groups):
        return {} if w == len(words) else None
    group = groups[g]
    if w < len(words):
        value = group.words.get(words[w])
        if value is not None:
            rest = _match(groups, g + 1, words, w + 1)
            if rest is not None:
                if group.name:
                    rest[group.name] = value
                return rest
    return _match(groups, g + 1, words, w) if group.optional else None


_FIRST = frozenset(["lo", "hi", "wide"])


def _match_any_order(groups: tuple[Group, ...], g: int, words: tuple[str, ...]) -> dict[str, str] | None:
    if g == len(groups):
        return None if words else {}
    group = groups[g]
    for w, word in enumerate(words):
        value = group.words.get(word)
        if value is not None:
            rest = _match_any_order(groups, g + 1, words[:w] + words[w + 1 :])
            if rest is not None and group.name:
                rest[group.name] = value
            if rest is not None or not group.optional:
                return rest  # the first that fits: words of like groups keep their order
            break
    return _match_any_order(groups, g + 1, words) if group.optional else None


def _spell(groups: tuple[Group, ...], g: int, done: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if g == len(groups):
        yield done
        return
    if groups[g].optional:
        yield from _spell(groups, g + 1, done)
    for word in groups[g].words:
        yield from _spell(groups, g + 1, (*done, word))


def _resolve(type_: str, attrs: Mapping[str, str]) -> str:
    if type_[:1] != "$":
        return type_
    name, _, factor = type_[1:].partition("*")
    value = attrs[name]
    return f"{value[0]}{int(value[1:]) * 2}" if factor else value


_PART = re.compile(r"\.?(?:\(([^)]*)\)|\[([^\]]*)\]|([\w:]+))")


def parse_row(line: str) -> Row:
    """One line of a table."""
    cells = [c.strip() for c in line.split("|")]
    head = cells[0]
    # `d|p` also uses the bar: join operand cells up to the one that names the function.
    while len(cells) > 2 and not re.fullmatch(r"[a-z_]+\.\w+|-", cells[2].split()[0] if cells[2] else ""):
        cells[1:3] = [cells[1] + "|" + cells[2]]
    opcode, _, modifiers = head.partition(".")
    groups = []
    for required, optional, word in _PART.findall("." + modifiers if modifiers else ""):
        if word:
            groups.append(Group("", {word: word}, False))
            continue
        name, _, words = (required or optional).partition(":")
        spelled = {}
        for w in (words or name).split(","):
            spelling, _, value = w.partition("=")
            spelled[spelling] = value or spelling
        groups.append(Group(name, spelled, not required))
    operands = []
    for o in cells[1].split() if len(cells) > 1 else ():
        name, _, type_ = o.partition(":")
        bare = type_.rstrip("?").removesuffix("{}")
        operands.append(OperandSpec(name.partition("|")[0], bare, type_.endswith("?"), "|" in name, "{}" in type_))
    lower = cells[2] if len(cells) > 2 else "-"
    version, sm = (1, 0), 10
    if len(cells) > 3:
        v, s = cells[3].split()
        version, sm = (int(v.split(".")[0]), int(v.split(".")[1])), int(s)
    return Row(opcode, tuple(groups), tuple(operands), None if lower == "-" else lower, version, sm, line)


def parse_rows(text: str) -> tuple[Row, ...]:
    """All lines of a table; ``#`` starts a comment, a line that ends in a backslash goes on."""
    rows = []
    for line in text.replace("\\\n", " ").splitlines():
        line = line.partition("#")[0].strip()
        if line:
            rows.append(parse_row(line))
    return tuple(rows)


def is_fundamental(type_: str) -> bool:
    """Whether `type_` is a fundamental type of PTX."""
    return type_ in SIZES
