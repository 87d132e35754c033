"""Finds what a PTX module declares without reading bodies: directives, variables, functions with the extent of their bodies."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from fatload.ptx.model import PtxError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRUCTURE = re.compile(r'[{}]|"[^"\n]*"')
_HEAD_END = re.compile(r'[;{]|"[^"\n]*"')
_NAME = re.compile(r"\.(entry|func)\b\s*(?:\.noreturn\s*)?(?:\([^()]*\)\s*)?([A-Za-z_$%][\w$]*)")
_DIRECTIVE_LINE = re.compile(r"\.(version|target|address_size|file|loc)\b[^\n]*")
_SECTION = re.compile(r"\.section\b[^{]*\{[^}]*\}")
_SPACE = re.compile(r"\s*")


@dataclass(slots=True, frozen=True)
class Item:
    """A declaration: kind ``entry``, ``func``, ``variable``, ``alias``, ``directive`` …; head text and, for a function, its body's text."""

    kind: str
    name: str
    start: int
    head: str
    body: str | None = None
    body_start: int = 0


@dataclass(slots=True)
class Scan:
    """A module's declarations. ``text`` has comments blanked out (line numbers and offsets unchanged)."""

    text: str
    version: tuple[int, int] = (0, 0)
    target: tuple[str, ...] = ()
    address_size: int = 64
    items: list[Item] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)

    def line(self, offset: int) -> int:
        """Line number (from 1) of an offset."""
        if not self._lines:
            self._lines = [0, *(m.end() for m in re.finditer("\n", self.text))]
        return bisect_right(self._lines, offset)

    def column(self, offset: int) -> int:
        """Column (from 1) of an offset."""
        return offset - self.text.rfind("\n", 0, offset)

    def functions(self) -> dict[str, Item]:
        """Functions by name; a definition wins over declarations. Raises PtxError for a second one."""
        found: dict[str, Item] = {}
        for i in self.items:
            if i.kind in ("entry", "func") and (i.name not in found or i.body is not None):
                if i.name in found and found[i.name].body is not None:
                    line, column = self.line(i.start), self.column(i.start)
                    raise PtxError(f"{i.name} is defined twice", line, column, i.name)
                found[i.name] = i
        return found


def blank_comments(text: str) -> str:
    """`text` with comments replaced by blanks, newlines kept."""
    if "//" not in text and "/*" not in text:
        return text
    return _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def scan(text: str | bytes) -> Scan:
    """Scans a module. Raises PtxError for what is no PTX."""
    if isinstance(text, bytes):
        text = text.rstrip(b"\0").decode("utf-8", "replace")
    if "\0" in text:
        text = text[: text.index("\0")]
    clean = blank_comments(text)
    s = Scan(clean)
    at = 0
    n = len(clean)
    while True:
        at = _SPACE.match(clean, at).end()  # type: ignore[union-attr]
        if at >= n:
            break
        m = _DIRECTIVE_LINE.match(clean, at)
        if m:
            _directive(s, m[0], at)
            at = m.end()
            continue
        m = _SECTION.match(clean, at)
        if m:
            at = m.end()
            continue
        if clean[at] != ".":
            word = re.match(r"\S+", clean[at : at + 60])
            shown = word[0] if word else clean[at]
            raise PtxError(f"unexpected {shown!r} at module level", s.line(at), s.column(at), shown)
        at = _declaration(s, at)
    if s.version == (0, 0):
        raise PtxError("missing .version directive", 1, 1)
    return s


def _directive(s: Scan, line: str, at: int) -> None:
    words = line.replace(",", " ").split()
    if words[0] == ".version":
        m = re.fullmatch(r"(\d+)\.(\d+)", words[1]) if len(words) > 1 else None
        if not m:
            raise PtxError(f"bad .version directive: {line.strip()}", s.line(at), s.column(at), line.strip())
        s.version = (int(m[1]), int(m[2]))
    elif words[0] == ".target":
        s.target = tuple(words[1:])
        if not s.target:
            raise PtxError("empty .target directive", s.line(at), s.column(at), line.strip())
    elif words[0] == ".address_size":
        if len(words) < 2 or words[1] not in ("32", "64"):
            raise PtxError(f"bad .address_size directive: {line.strip()}", s.line(at), s.column(at), line.strip())
        s.address_size = int(words[1])


def _declaration(s: Scan, at: int) -> int:
    text = s.text
    start = at
    end = _HEAD_END.search(text, at)
    while end and end[0][0] == '"':
        end = _HEAD_END.search(text, end.end())
    if end is None:
        raise PtxError(
            "unexpected end of the text in a declaration",
            s.line(start),
            s.column(start),
            text[start : start + 40].strip(),
        )
    head = text[start : end.start()]
    m = _NAME.search(head)
    if m is None:
        if end[0] == "{":  # an initialiser
            close = text.find(";", end.end())
            if close < 0:
                raise PtxError("missing ; behind a declaration", s.line(start), s.column(start), head.strip()[:60])
            head = text[start:close]
            s.items.append(Item("variable", "", start, head))
            return close + 1
        kind = "alias" if head.startswith(".alias") else "pragma" if head.startswith(".pragma") else "variable"
        s.items.append(Item(kind, "", start, head))
        return end.end()
    if end[0] == ";":
        s.items.append(Item(m[1], m[2], start, head))
        return end.end()
    depth = 1
    for b in _STRUCTURE.finditer(text, end.end()):
        c = b[0]
        if c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
            if not depth:
                s.items.append(Item(m[1], m[2], start, head, text[end.end() : b.start()], end.end()))
                return b.end()
    raise PtxError(f"missing }} at the end of {m[2]}", s.line(start), s.column(start), m[2])
