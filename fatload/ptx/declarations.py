"""Variable and parameter declarations, initialisers, constant expressions."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from math import prod

from fatload.ptx.model import SIZES, Address, PtxError, Variable

_TOKEN = re.compile(
    r"\s*(?:(0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16})|(\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|(0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+U?)"
    r"|([A-Za-z_$%.][\w$.]*)|(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!()\[\]{}<>=?:,]))"
)
_SPACES = ("global", "const", "shared", "local", "param", "reg", "sreg", "tex")
_LINKAGE = ("extern", "visible", "weak", "common")
_OPAQUE = ("texref", "samplerref", "surfref")


class Tokens:
    """The tokens of a declaration; errors carry its line."""

    def __init__(self, text: str, line: int) -> None:
        self.text, self.line, self.items, self.at = text, line, list(_tokens(text, line)), 0

    def peek(self) -> str:
        """The next token, '' at the end."""
        return self.items[self.at] if self.at < len(self.items) else ""

    def next(self) -> str:
        """Takes the next token."""
        token = self.peek()
        self.at += 1
        return token

    def take(self, token: str) -> bool:
        """Takes `token` if it is next."""
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Takes `token` or raises."""
        found = self.next()
        if found != token:
            raise self.error(f"expected {token!r}, found {found or 'the end'!r}")

    def error(self, message: str) -> PtxError:
        """An error about this declaration."""
        shown = " ".join(self.text.split())[:80]
        return PtxError(f"{message} in: {shown}", self.line, 0, shown)


def _tokens(text: str, line: int) -> Iterator[str]:
    at = 0
    end = len(text.rstrip())
    while at < end:
        m = _TOKEN.match(text, at)
        if m is None:
            raise PtxError(f"unexpected {text[at:].strip()[:20]!r}", line, 0, text[at : at + 20])
        yield m[m.lastindex or 0]
        at = m.end()


def integer(text: str) -> int:
    """An integer literal (octal with a leading 0)."""
    text = text.rstrip("U")
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    if text[:2] in ("0b", "0B"):
        return int(text, 2)
    return (
        int(text, 8)
        if len(text) > 1 and text[0] == "0" and text.isdigit() and "8" not in text and "9" not in text
        else int(text)
    )


def float_bits(text: str, width: int) -> int:
    """Bits of a floating-point literal in a type of this width."""
    if text[:2] in ("0f", "0F"):
        bits = int(text[2:], 16)
        if width == 32:
            return bits
        value = struct.unpack("<f", struct.pack("<I", bits))[0]
    elif text[:2] in ("0d", "0D"):
        bits = int(text[2:], 16)
        if width == 64:
            return bits
        value = struct.unpack("<d", struct.pack("<Q", bits))[0]
    else:
        value = float(text)
    if width == 64:
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    if width == 16:
        return int(struct.unpack("<H", struct.pack("<e", value))[0])
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


_BINARY = [
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
]


def constant(t: Tokens, level: int = 0) -> int:
    """A constant integer expression."""
    if level == 0:
        value = constant(t, 1)
        if t.take("?"):
            yes = constant(t)
            t.expect(":")
            no = constant(t)
            return yes if value else no
        return value
    if level > len(_BINARY):
        return _unary(t)
    value = constant(t, level + 1)
    while t.peek() in _BINARY[level - 1]:
        op = t.next()
        value = _apply(t, op, value, constant(t, level + 1))
    return value


def _apply(t: Tokens, op: str, a: int, b: int) -> int:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/" | "%":
            if b == 0:
                raise t.error("division by zero")
            q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return q if op == "/" else a - q * b
        case "<<" | ">>":
            if not 0 <= b < 64:
                raise t.error("shift by more than the width")
            return (a << b) & 0xFFFFFFFFFFFFFFFF if op == "<<" else a >> b
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case "&&":
            return int(bool(a) and bool(b))
        case "||":
            return int(bool(a) or bool(b))
        case "==":
            return int(a == b)
        case "!=":
            return int(a != b)
        case "<":
            return int(a < b)
        case "<=":
            return int(a <= b)
        case ">":
            return int(a > b)
        case _:
            return int(a >= b)


def _unary(t: Tokens) -> int:
    signs = []
    while t.peek() in ("-", "+", "~", "!"):
        signs.append(t.next())
        if len(signs) > 64:
            raise t.error("too many signs")
    if t.take("("):
        depth_guard = t.at
        if t.peek() in (".s64", ".u64"):
            t.next()
            t.expect(")")
            value = _unary(t)
        else:
            if sum(x == "(" for x in t.items[max(0, depth_guard - 100) : depth_guard]) > 60:
                raise t.error("too many parentheses")
            value = constant(t)
            t.expect(")")
    else:
        token = t.next()
        if token == "WARP_SZ":
            value = 32
        elif token[:1].isdigit():
            value = integer(token)
        else:
            raise t.error(f"expected a constant, found {token or 'the end'!r}")
    for s in reversed(signs):
        value = {"-": -value, "+": value, "~": ~value, "!": int(not value)}[s]
    return value


def variables(head: str, line: int) -> list[Variable]:
    """Variables of one declaration: ``.visible .global .align 8 .b8 a[16] = {1, 2}``; several names may share it."""
    t = Tokens(head, line)
    linkage = space = type_ = ""
    align, vector, managed = 0, 1, False
    pointer: tuple[str, int] | None = None
    while t.peek()[:1] == ".":
        word = t.next()[1:]
        if word in _LINKAGE:
            linkage = word
        elif word in _SPACES or re.fullmatch(r"const\d*", word):
            space = "const" if word.startswith("const") else word
            if t.take("["):  # .const[2]
                constant(t)
                t.expect("]")
        elif word == "align":
            align = constant(t)
        elif word == "ptr":
            where = t.next()[1:] if t.peek() in (".global", ".shared", ".const", ".local") else ""
            size = 0
            if t.take(".align"):
                size = constant(t)
            pointer = (where, size)
        elif word == "attribute":
            t.expect("(")
            depth = 1
            while depth:
                token = t.next()
                if not token:
                    raise t.error("unterminated .attribute")
                depth += (token == "(") - (token == ")")
                managed |= token == ".managed"
        elif word in ("v2", "v4", "v8"):
            vector = int(word[1])
        elif word in SIZES or word in _OPAQUE:
            type_ = word
        elif word == "volatile":
            pass
        else:
            raise t.error(f"unknown directive .{word}")
    if not space:
        raise t.error("a state space is missing")
    if type_ in _OPAQUE:
        raise t.error(f".{type_} variables are not supported")
    if not type_:
        raise t.error("a type is missing")
    found = []
    while True:
        name = t.next()
        if t.peek() == "<":
            t.next()
            count = constant(Tokens(_until(t, ">"), line))
            found += [
                _variable(f"{name}{k}", space, type_, line, vector, align, linkage, managed) for k in range(count)
            ]
        else:
            v = _variable(name, space, type_, line, vector, align, linkage, managed)
            v.pointer = pointer
            if t.take(".ptr"):
                where = t.next()[1:] if t.peek() in (".global", ".shared", ".const", ".local") else ""
                v.pointer = (where, constant(t) if t.take(".align") else 0)
            while t.take("["):
                v.dims += (0,) if t.peek() == "]" else (constant(t),)
                t.expect("]")
            if t.take("="):
                v.init = tuple(_initialiser(t, v))
                if v.dims and v.dims[0] == 0:
                    v.dims = (-(-len(v.init) // max(1, prod(v.dims[1:]) * v.vector)), *v.dims[1:])
            if any(d < 0 for d in v.dims) or v.size > 1 << 40:
                raise t.error("bad array size")
            found.append(v)
        if not t.take(","):
            break
    if t.peek():
        raise t.error(f"unexpected {t.peek()!r}")
    return found


def _until(t: Tokens, end: str) -> str:
    words = []
    while t.peek() != end:
        if not t.peek():
            raise t.error(f"missing {end!r}")
        words.append(t.next())
    t.next()
    return " ".join(words)


def _variable(
    name: str, space: str, type_: str, line: int, vector: int, align: int, linkage: str, managed: bool
) -> Variable:
    if not re.fullmatch(r"[A-Za-z_$%][\w$]*", name):
        raise PtxError(f"bad name {name!r}", line, 0, name)
    return Variable(name, space, type_, line, (), vector, align or SIZES[type_] * vector, None, linkage, managed)


def _initialiser(t: Tokens, v: Variable) -> list[int | Address]:
    """Flattened elements; inner braces that are short are filled with zeros."""
    return _values(t, v, v.dims + ((v.vector,) if v.vector > 1 else ()))


def _values(t: Tokens, v: Variable, dims: tuple[int, ...]) -> list[int | Address]:
    if not t.take("{"):
        return [_element(t, v)]
    values: list[int | Address] = []
    inner = dims[1:]
    while not t.take("}"):
        part = _values(t, v, inner) if t.peek() == "{" else [_element(t, v)]
        if (inner and len(part) > 1) or (inner and t.items[t.at - 1] == "}"):
            part += [0] * (prod(inner) - len(part))
        values += part
        if not t.take(","):
            t.expect("}")
            break
    return values


def _element(t: Tokens, v: Variable) -> int | Address:
    token = t.peek()
    bits = SIZES[v.type] * 8
    negative = False
    if token == "-" and t.at + 1 < len(t.items) and re.match(r"0[fFdD][0-9a-fA-F]{8}|\d+\.|\d+[eE]", t.items[t.at + 1]):
        t.next()
        negative, token = True, t.peek()
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", token):
        t.next()
        return float_bits(token, bits) ^ (1 << (bits - 1) if negative else 0)
    mask: int | None = None
    if re.fullmatch(r"0[xX][fF]{2}0*", token) and t.at + 1 < len(t.items) and t.items[t.at + 1] == "(":
        mask = integer(t.next())
        t.expect("(")
        address = _address(t)
        t.expect(")")
        return Address(address.name, address.offset, address.generic, mask)
    if re.match(r"[A-Za-z_$%]", token) and token != "WARP_SZ":
        return _address(t)
    value = constant(t)
    if v.type[0] == "f":
        return float_bits(str(float(value)), bits)
    return value & ((1 << bits) - 1)


def _address(t: Tokens) -> Address:
    generic = t.take("generic")
    if generic:
        t.expect("(")
    name = t.next()
    offset = 0
    if generic:
        t.expect(")")
    while t.peek() in ("+", "-"):
        sign = 1 if t.next() == "+" else -1
        offset += sign * _unary(t)
    return Address(name, offset, generic)
