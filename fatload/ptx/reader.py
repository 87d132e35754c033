"""Reads PTX text into a model: whole modules, or one kernel and what it reaches."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fatload.ptx.body import BodyReader, parameters
from fatload.ptx.check import check_function
from fatload.ptx.declarations import variables
from fatload.ptx.model import (
    Addr,
    Address,
    CallArgs,
    Function,
    Instruction,
    Module,
    Operand,
    Pair,
    PtxError,
    Sym,
    Variable,
    Vec,
)
from fatload.ptx.scan import Item, Scan, scan

NEWEST = (9, 9)
"""Newest PTX ISA version whose modules are read; later ones are CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)."""

_HEAD = re.compile(
    r"(?P<before>(?:\.\w+(?:\([^()]*\))?\s+)*?)\.(?P<kind>entry|func)\b\s*(?P<noreturn>\.noreturn\s*)?(?:\((?P<returns>[^()]*)\)\s*)?"
    r"(?P<name>[A-Za-z_$%][\w$]*)\s*(?:\((?P<params>[^()]*)\))?(?P<rest>.*)",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"\.(\w+)\s*([^.]*)")
_NUMBERED = frozenset(
    {"maxntid", "reqntid", "minnctapersm", "maxnctapersm", "maxnreg", "reqnctapercluster", "maxclusterrank"}
)
_BARE = frozenset(
    {"explicitcluster", "noreturn", "abi_preserve", "abi_preserve_control", "blocksareclusters", "unique", "pragma"}
)


def read(text: str | bytes, lazy: bool = False) -> Module:
    """Reads a whole module. With `lazy`, a body that cannot be read leaves its error in ``Function.error`` instead of raising.

    Raises PtxError with line and column (code 218; 222 for a later PTX version).
    """
    s = scan(text)
    module = _empty(s)
    _declarations(s, module)
    module.address_taken = _address_taken(s, module)
    for item in s.functions().values():
        _add(s, module, item, lazy)
    return module


def read_kernel(text: str | bytes, name: str) -> Module:
    """Reads module-scope variables, the kernel `name` and the functions it reaches.

    Raises PtxError: 500 if there is no such kernel, 218 for what is wrong in what was read.
    """
    s = scan(text)
    found = s.functions()
    if name not in found or found[name].kind != "entry" or found[name].body is None:
        raise PtxError(f"no kernel {name}", code=500)
    module = _empty(s)
    _declarations(s, module)
    module.address_taken = _address_taken(s, module)
    work = [name]
    for v in module.variables.values():
        work += [x.name for x in v.init or () if isinstance(x, Address)]
    while work:
        n = module.aliases.get(work[-1], work[-1])
        work.pop()
        if n in module.functions or n not in found:
            continue
        f = _add(s, module, found[n], False)
        if f.body is None:
            continue
        for i in f.body.statements:
            if isinstance(i, Instruction):
                for o in i.operands:
                    work += [x for x in _symbols(o) if x in found or x in module.aliases]
                if i.opcode == "call" and not any(
                    isinstance(o, Sym) and t == "function" for o, t in zip(i.operands, i.types, strict=True)
                ):
                    work += module.address_taken
        for targets in f.body.targets.values():
            work += targets
    order = {n: k for k, n in enumerate(found)}
    module.functions = dict(sorted(module.functions.items(), key=lambda x: order[x[0]]))
    return module


_MOVED = re.compile(r"\bmov\.[bu](?:64|32)\s+[^,;]+,\s*([A-Za-z_$%][\w$]*)\s*;")


def _address_taken(s: Scan, module: Module) -> tuple[str, ...]:
    """Device functions that a `mov`, an initialiser or a list of call targets names, without reading bodies."""
    found = s.functions()
    names = {x.name for v in module.variables.values() for x in v.init or () if isinstance(x, Address)}
    names |= {m[1] for m in _MOVED.finditer(s.text)}
    for m in re.finditer(r"\.calltargets\s+([^;]*);", s.text):
        names |= {x.strip() for x in m[1].split(",")}
    return tuple(n for n, item in found.items() if item.kind == "func" and item.body is not None and n in names)


def _symbols(o: Operand) -> Iterable[str]:
    match o:
        case Sym(n, _) | Addr(Sym(n, _), _):
            return (n,)
        case Vec(items) | CallArgs(items):
            return [n for x in items for n in _symbols(x)]
        case Pair(a, b):
            return [*_symbols(a), *_symbols(b)]
        case _:
            return ()


def _empty(s: Scan) -> Module:
    if s.version > NEWEST:
        raise PtxError(
            f"PTX version {s.version[0]}.{s.version[1]} is later than {NEWEST[0]}.{NEWEST[1]}", 1, 0, "", 222
        )
    if not s.target:
        raise PtxError("missing .target directive", 1)
    return Module(s.version, s.target, s.address_size, {}, {})


def module_variables(s: Scan) -> dict[str, Variable]:
    """Module-scope variables; a definition replaces an `.extern` declaration of the same name."""
    found: dict[str, Variable] = {}
    for item in s.items:
        if item.kind != "variable":
            continue
        line = s.line(item.start)
        for v in variables(item.head, line):
            old = found.get(v.name)
            if old is not None and old.linkage != "extern" and v.linkage not in ("extern", "weak", "common"):
                raise PtxError(f"{v.name} is declared twice", line, 0, v.name)
            if old is None or v.linkage != "extern":
                found[v.name] = v
    return found


def _declarations(s: Scan, module: Module) -> None:
    module.variables.update(module_variables(s))
    for item in s.items:
        if item.kind == "alias":
            names = item.head.removeprefix(".alias").replace(",", " ").split()
            if len(names) != 2:
                raise PtxError("bad .alias", s.line(item.start), 0, item.head)
            module.aliases[names[0]] = names[1]


def function_head(s: Scan, item: Item) -> Function:
    """A function's declaration, without its body."""
    line = s.line(item.start)
    m = _HEAD.fullmatch(item.head.strip())
    if m is None:
        raise PtxError(f"bad declaration of {item.name}", line, 0, " ".join(item.head.split())[:80])
    f = Function(
        m["name"], m["kind"] == "entry", parameters(m["params"] or "", line), parameters(m["returns"] or "", line), line
    )
    for word in m["before"].split():
        if word[1:] in ("visible", "extern", "weak", "common"):
            f.linkage = word[1:]
    f.noreturn = bool(m["noreturn"]) or ".noreturn" in m["rest"]
    for d in _DIRECTIVE.finditer(re.sub(r'"[^"]*"', "", m["rest"])):
        word, value = d[1], d[2].strip()
        if word in _NUMBERED:
            numbers = [x.strip() for x in value.split(",") if x.strip()]
            if not numbers or not all(x.isdigit() for x in numbers):
                raise PtxError(f"bad .{word} of {f.name}", line, 0, d[0].strip())
            f.directives[word] = tuple(int(x) for x in numbers)
        elif word in _BARE:
            f.directives[word] = ()
        else:
            raise PtxError(f"unknown directive .{word} of {f.name}", line, 0, d[0].strip())
    return f


def _add(s: Scan, module: Module, item: Item, lazy: bool) -> Function:
    f = function_head(s, item)
    module.functions[f.name] = f
    if item.body is None:
        return f
    try:
        if any(v.space == "reg" for v in (*f.params, *f.returns)):
            raise PtxError(f"{f.name}: parameters in registers are not supported", f.line, 0, f.name, 801)
        reader = BodyReader(s, f, item.body, item.body_start)
        for v in (*f.params, *f.returns):
            if v.name != "_":
                reader.names[v.name] = v.name
        f.body = reader.read()
        check_function(s, module, f)
    except PtxError as e:
        if not lazy:
            raise
        f.error, f.body = e, None
    return f
