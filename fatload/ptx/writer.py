"""Writes a model as PTX text: what the reader understood, for people to look at."""

from __future__ import annotations

from fatload.ptx.model import (
    Addr,
    CallArgs,
    Element,
    FloatImm,
    Function,
    Imm,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    Reg,
    Selected,
    Sink,
    Special,
    Sym,
    Variable,
    Vec,
)


def write(module: Module) -> str:
    """A module's text; initialisers are left out."""
    lines = [
        f".version {module.version[0]}.{module.version[1]}",
        f".target {', '.join(module.target)}",
        f".address_size {module.address_size}",
        "",
    ]
    lines += [f"{variable(v)};" for v in module.variables.values()]
    for f in module.functions.values():
        lines += ["", *function(f)]
    return "\n".join(lines) + "\n"


def variable(v: Variable) -> str:
    """A declaration without its initialiser."""
    linkage = f".{v.linkage} " if v.linkage else ""
    vector = f".v{v.vector} " if v.vector > 1 else ""
    dims = "".join(f"[{d or ''}]" for d in v.dims)
    return f"{linkage}.{v.space} .align {v.align} {vector}.{v.type} {v.name}{dims}"


def function(f: Function) -> list[str]:
    """A function's lines."""
    returns = f"({', '.join(variable(v) for v in f.returns)}) " if f.returns else ""
    head = f"{f'.{f.linkage} ' if f.linkage else ''}.{'entry' if f.entry else 'func'} {returns}{f.name}"
    head += f"({', '.join(variable(v) for v in f.params)})"
    for name, numbers in f.directives.items():
        head += f" .{name} {', '.join(map(str, numbers))}"
    if f.body is None:
        return [head + ";"]
    lines = [head, "{"]
    lines += [f"  .reg .{t}{f' .v{n}' if n > 1 else ''} {name};" for name, (t, n) in f.body.registers.items()]
    lines += [f"  {variable(v)};" for v in f.body.variables.values()]
    for s in f.body.statements:
        lines.append(f"{s.name}:" if isinstance(s, Label) else f"  {instruction(s)}")
    return [*lines, "}"]


def instruction(i: Instruction) -> str:
    """One instruction."""
    guard = f"@{'!' if i.guard_negated else ''}{i.guard.name} " if i.guard else ""
    return f"{guard}{i.name} {', '.join(operand(o) for o in i.operands)}".rstrip() + ";"


def operand(o: Operand) -> str:
    """One operand."""
    match o:
        case Reg(name):
            return name
        case Special(name, component):
            return f"%{name}{f'.{component}' if component else ''}"
        case Imm(value):
            return str(value)
        case FloatImm(bits, width):
            return f"0f{bits:08X}" if width == 32 else f"0d{bits:016X}"
        case Sym(name, offset):
            return name + (f"+{offset}" if offset else "")
        case Addr(base, offset):
            text = operand(base) if base is not None else ""
            return f"[{text}{f'+{offset}' if text and offset else '' if text else offset}]"
        case Vec(items):
            return "{" + ", ".join(operand(x) for x in items) + "}"
        case CallArgs(items):
            return "(" + ", ".join(operand(x) for x in items) + ")"
        case Pair(a, b):
            return f"{operand(a)}|{operand(b)}"
        case Not(reg):
            return f"!{reg.name}"
        case Element(name, index):
            return f"{name}.{'xyzw'[index]}"
        case Selected(inner, selector):
            return f"{operand(inner)}.{selector}"
        case Sink():
            return "_"
