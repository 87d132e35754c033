"""Reads operands: registers, special registers, constants, addresses, vectors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fatload.ptx.declarations import float_bits, integer
from fatload.ptx.model import (
    SIZES,
    Addr,
    Element,
    FloatImm,
    Imm,
    Not,
    Operand,
    Pair,
    PtxError,
    Reg,
    Selected,
    Sink,
    Special,
    Sym,
    Vec,
)

if TYPE_CHECKING:
    from fatload.ptx.body import BodyReader

REGISTER_TYPES = frozenset(SIZES) - {"b8x4"}

SPECIALS = (
    frozenset(
        [
            "tid",
            "ntid",
            "laneid",
            "warpid",
            "nwarpid",
            "ctaid",
            "nctaid",
            "smid",
            "nsmid",
            "gridid",
            "is_explicit_cluster",
            "clusterid",
            "nclusterid",
            "cluster_ctaid",
            "cluster_nctaid",
            "cluster_ctarank",
            "cluster_nctarank",
            "lanemask_eq",
            "lanemask_le",
            "lanemask_lt",
            "lanemask_ge",
            "lanemask_gt",
            "clock",
            "clock_hi",
            "clock64",
            "globaltimer",
            "globaltimer_lo",
            "globaltimer_hi",
            "reserved_smem_offset_begin",
            "reserved_smem_offset_end",
            "reserved_smem_offset_cap",
            "total_smem_size",
            "aggr_smem_size",
            "dynamic_smem_size",
            "current_graph_exec",
        ]
    )
    | {f"envreg{k}" for k in range(32)}
    | {f"pm{k}" for k in range(8)}
    | {f"pm{k}_64" for k in range(8)}
    | {f"reserved_smem_offset_{k}" for k in range(2)}
)
"""Special registers, without %."""

_SIMPLE = re.compile(r"[A-Za-z_$%][\w$]*\Z")
_INTEGER = re.compile(r"-?\s*(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?\Z")
_FLOAT = re.compile(r"-?(?:0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)\Z")
_ADDRESS = re.compile(r"\[\s*([A-Za-z_$%][\w$]*)\s*(?:([+-])\s*(.+?))?\s*\]\Z", re.DOTALL)
_DOTTED = re.compile(r"([A-Za-z_$%][\w$]*)\.([a-z0-9]+)\Z")
_OFFSET = re.compile(r"([A-Za-z_$%][\w$]*)\s*([+-])\s*(\d\S*)\Z")
_PAIR = re.compile(r"([A-Za-z_$%][\w$]*)\s*\|\s*([A-Za-z_$%][\w$]*)\Z")
_SELECTOR = re.compile(r"[bh][0-9]{1,4}\Z")
_COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


def split(text: str) -> list[str]:
    """Operands at the commas outside brackets, stripped."""
    text = text.strip()
    if not text:
        return []
    if "{" not in text and "(" not in text and "[" not in text:
        return [x.strip() for x in text.split(",")]
    out: list[str] = []
    depth = start = 0
    for k, c in enumerate(text):
        if c in "({[":
            depth += 1
        elif c in ")}]":
            depth -= 1
        elif c == "," and not depth:
            out.append(text[start:k].strip())
            start = k + 1
    out.append(text[start:].strip())
    return out


def parse(r: BodyReader, text: str, offset: int) -> Operand:
    """One operand. Raises PtxError for names that are not declared."""
    if _SIMPLE.match(text):
        return name(r, text, offset)
    if _INTEGER.match(text):
        digits = text.replace(" ", "")
        return Imm(-integer(digits[1:]) if digits[0] == "-" else integer(digits))
    if _FLOAT.match(text):
        return float_immediate(text)
    first = text[:1]
    if first == "[":
        return address(r, text, offset)
    if first == "{":
        if not text.endswith("}"):
            raise r.error("missing }", offset, text)
        return Vec(tuple(parse(r, x, offset) for x in split(text[1:-1])))
    pair = _PAIR.match(text)
    if pair:
        return Pair(name(r, pair[1], offset), name(r, pair[2], offset))
    if first == "!":
        inner = parse(r, text[1:].strip(), offset)
        if isinstance(inner, Reg):
            return Not(inner)
        raise r.error(f"only a predicate can be negated: {text!r}", offset, text)
    dotted = _DOTTED.match(text)
    if dotted:
        return component(r, dotted[1], dotted[2], text, offset)
    plus = _OFFSET.match(text)
    if plus and plus[1] not in r.names:
        return Sym(plus[1], integer(plus[3]) * (1 if plus[2] == "+" else -1))
    from fatload.ptx.body import constant_expression

    try:
        return Imm(constant_expression(text, r.line))
    except PtxError:
        raise r.error(f"bad operand {text!r}", offset, text) from None


def name(r: BodyReader, text: str, offset: int) -> Operand:
    """A name: register, variable, special register, ``_``, or something of the module (checked later)."""
    unique = r.names.get(text)
    if unique is not None:
        return Reg(unique) if unique in r.registers else Sym(unique)
    if text == "_":
        return Sink()
    if text == "WARP_SZ":
        return Imm(32)
    if text[0] == "%":
        if text[1:] in SPECIALS:
            return Special(text[1:])
        raise r.error(f"{text} is not declared", offset, text)
    return Sym(text)


def component(r: BodyReader, base: str, part: str, text: str, offset: int) -> Operand:
    """``%tid.x``, ``%v.y``, ``%r1.h0``."""
    unique = r.names.get(base)
    if unique is None:
        if base[:1] == "%" and base[1:] in SPECIALS and part in _COMPONENTS:
            return Special(base[1:], part)
        raise r.error(f"{base} is not declared", offset, text)
    register = r.registers.get(unique)
    if register is None:
        raise r.error(f"bad operand {text!r}", offset, text)
    if register[1] > 1 and part in _COMPONENTS:
        return Element(unique, _COMPONENTS[part])
    if _SELECTOR.match(part):
        return Selected(Reg(unique), part)
    raise r.error(f"bad operand {text!r}", offset, text)


def float_immediate(text: str) -> FloatImm:
    """``0f3F800000``, ``0d…``, ``1.5``."""
    negative = text[0] == "-"
    if negative:
        text = text[1:]
    width = 32 if text[:2] in ("0f", "0F") else 64
    bits = float_bits(text, width)
    return FloatImm(bits ^ (1 << (width - 1)) if negative else bits, width)


def address(r: BodyReader, text: str, offset: int) -> Operand:
    """``[base]``, ``[base+offset]``, ``[immediate]``."""
    from fatload.ptx.body import constant_expression

    m = _ADDRESS.match(text)
    if m is None:
        if not text.endswith("]"):
            raise r.error("missing ]", offset, text)
        inner = text[1:-1].strip()
        if re.match(r"[0-9(+-]", inner):
            return Addr(None, constant_expression(inner, r.line))
        parts = split(inner)  # forms of families that are not lowered yet: [%rd1, {%r1, %r2}]
        if len(parts) > 1:
            return Addr(None, 0)
        raise r.error(f"bad address {text!r}", offset, text)
    base = name(r, m[1], offset)
    if not isinstance(base, Reg | Sym):
        raise r.error(f"bad address {text!r}", offset, text)
    shift = 0
    if m[2]:
        try:
            shift = constant_expression(m[3], r.line)
        except PtxError:
            raise r.error(f"bad address {text!r}", offset, text) from None
        if m[2] == "-":
            shift = -shift
    return Addr(base, shift)
