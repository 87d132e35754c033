"""The manifest of a module: what its loader must know before any kernel is translated (docs/architecture.md)."""

from __future__ import annotations

import re

from fatload.ptx.declarations import variables
from fatload.ptx.layout import layout
from fatload.ptx.model import Function, PtxError, Variable
from fatload.ptx.reader import NEWEST, function_head, module_variables
from fatload.ptx.scan import Item, Scan, scan

_VARIABLE = re.compile(r"(?<![\w:\])])\.(?:shared|local)\s[^;]*;")


def manifest_text_and_payload(text: str | bytes) -> tuple[str, bytes]:
    """Lines and payload of a module's manifest. Raises PtxError (218, 222)."""
    s = scan(text)
    if s.version > NEWEST:
        raise PtxError(
            f"PTX version {s.version[0]}.{s.version[1]} is later than {NEWEST[0]}.{NEWEST[1]}", 1, 0, "", 222
        )
    where = layout(s)
    sm = "".join(c for c in s.target[0] if c.isdigit()) if s.target else "0"
    lines = [f"module\t{s.version[0] * 10 + s.version[1]}\t{sm}\t{where.size}\t{where.align}"]
    module_shared = [v for v in module_variables(s).values() if v.space == "shared" and v.size]
    for item in s.functions().values():
        if item.kind == "entry" and item.body is not None:
            lines.append(_kernel(s, item, module_shared))
    for name, v in where.variables.items():
        kind = "managed" if v.managed else v.space
        lines.append(f"variable\t{name}\t{kind}\t{where.offsets[name]}\t{v.size}\t{v.align}")
    lines += [f"relocation\t{r.offset}\t{r.bytes}\t{r.kind}\t{r.addend}" for r in where.relocations]
    lines += [f"function\t{name}\t{number}" for name, number in where.functions.items()]
    return "\n".join(lines) + "\n", where.image


def _kernel(s: Scan, item: Item, module_shared: list[Variable]) -> str:
    f = function_head(s, item)
    offsets, total = parameters(f)
    shared, local = _memory(s, item, module_shared)
    threads = 1
    for n in f.directives.get("maxntid", f.directives.get("reqntid", ())):
        threads *= n
    if "maxntid" not in f.directives and "reqntid" not in f.directives:
        threads = 0
    required = [*f.directives.get("reqntid", ()), 1, 1, 1][:3] if "reqntid" in f.directives else [0, 0, 0]
    return "\t".join(
        [
            "kernel",
            f.name,
            str(total),
            ",".join(f"{o}:{n}" for o, n in offsets) or "-",
            str(shared),
            str(local),
            str(threads),
            ",".join(map(str, required)),
        ]
    )


def parameters(f: Function) -> tuple[list[tuple[int, int]], int]:
    """(offset, size) of each parameter of a kernel, and the bytes of all."""
    offsets, at = [], 0
    for v in f.params:
        align = max(1, v.align)
        at = -(-at // align) * align
        offsets.append((at, v.size))
        at += v.size
    return offsets, at


def _memory(s: Scan, item: Item, module_shared: list[Variable]) -> tuple[int, int]:
    """Static shared bytes a CTA and local bytes a lane that the kernel's own text asks for."""
    body = item.body or ""
    found = [v for v in module_shared if v.name in body]
    local = 0
    for m in _VARIABLE.finditer(body):
        for v in variables(m[0][:-1], s.line(item.body_start + m.start())):
            if v.space == "shared":
                found.append(v)
            else:
                local = -(-local // max(1, v.align)) * max(1, v.align) + v.size
    shared = 0
    for v in found:
        shared = -(-shared // max(1, v.align)) * max(1, v.align) + v.size
    return shared, local
