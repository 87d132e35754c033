"""Reads a function's body: statements by regular expressions, names resolved to registers, variables and labels."""

from __future__ import annotations

import re

from fatload.ptx import operands
from fatload.ptx.declarations import Tokens, constant, variables
from fatload.ptx.isa import table
from fatload.ptx.model import (
    Body,
    CallArgs,
    Function,
    Instruction,
    Label,
    Operand,
    Prototype,
    PtxError,
    Reg,
    Sym,
    Variable,
)
from fatload.ptx.scan import Scan

_STATEMENT = re.compile(
    r"\s*(?:(?P<open>\{)|(?P<close>\})|(?P<label>[A-Za-z_$%][\w$]*)\s*:(?!:)|(?P<line>\.(?:loc|file)\b[^\n]*)"
    r"|(?P<directive>\.[a-z][^;]*);"
    r"|(?:@(?P<guard>!?\s*[A-Za-z_$%][\w$]*)\s+)?(?P<opcode>[a-z][a-z0-9_]*)(?P<modifiers>(?:\.[A-Za-z0-9_:]+)*)(?P<operands>[^;{}]*(?:\{[^;{}]*\}[^;{}]*)*);)"
)
_REG = re.compile(r"\.reg\s+(?:\.(v2|v4)\s+)?\.(\w+)\s+(.*)", re.DOTALL)
_NAMES = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*(?:<\s*(\d+)\s*>)?\s*(?:,|$)")
_LIST = re.compile(r"\.(branchtargets|calltargets)\s+(.*)", re.DOTALL)


class BodyReader:
    """One body. `scopes` maps a name as written to its unique name, innermost last."""

    def __init__(self, scan: Scan, function: Function, text: str, start: int) -> None:
        self.scan, self.function, self.text, self.start = scan, function, text, start
        self.body = Body({}, {}, [], {}, {})
        self.names: dict[str, str] = {}  # what a name means here
        self.shadowed: list[dict[str, str | None]] = [{}]  # to restore at the end of each scope
        self.counts: dict[str, int] = {}
        self.cache: dict[str, Operand] = {}
        self.pending_label: str | None = None
        self.registers = self.body.registers
        self.at = 0
        self._newlines = 0
        self._counted = 0
        self._first_line = scan.line(start)

    def line_at(self, offset: int) -> int:
        """Line number of an offset in the body; offsets must not decrease."""
        self._newlines += self.text.count("\n", self._counted, offset)
        self._counted = offset
        return self._first_line + self._newlines

    def error(self, message: str, offset: int, text: str = "") -> PtxError:
        """An error at an offset in the body."""
        whole = self.start + offset
        return PtxError(message, self.scan.line(whole), self.scan.column(whole), text)

    def read(self) -> Body:
        """Reads the whole body."""
        text, match = self.text, _STATEMENT.match
        statements = self.body.statements
        end = len(text.rstrip())
        at = 0
        while at < end:
            m = match(text, at)
            if m is None:
                skip = re.match(r"\s*", text[at:])
                where = at + (skip.end() if skip else 0)
                shown = text[where : where + 60].partition("\n")[0]
                raise self.error(f"cannot read {shown!r}", where, shown)
            kind = m.lastgroup
            if kind == "operands":
                self.line = self.line_at(m.start("opcode"))
                statements.append(self.instruction(m))
            elif kind == "label":
                self.label(m)
            elif kind == "directive":
                self.line = self.line_at(m.start("directive"))
                self.directive(m)
            elif kind == "open":
                self.shadowed.append({})
            elif kind == "close":
                if len(self.shadowed) == 1:
                    raise self.error("unexpected }", m.start("close"), "}")
                for name, old in self.shadowed.pop().items():
                    if old is None:
                        self.names.pop(name, None)
                    else:
                        self.names[name] = old
                self.cache.clear()
            at = m.end()
        self.finish()
        return self.body

    # -- names ------------------------------------------------------------------------------------------------------

    def declare(self, name: str, offset: int) -> str:
        """Makes `name` known in this scope; its unique name."""
        scope = self.shadowed[-1]
        if name in scope:
            raise self.error(f"{name} is declared twice", offset, name)
        scope[name] = self.names.get(name)
        n = self.counts.get(name, 0)
        self.counts[name] = n + 1
        unique = f"{name}@{n}" if n else name
        self.names[name] = unique
        self.cache.pop(name, None)
        if scope[name] is not None:
            self.cache.clear()
        return unique

    def label(self, m: re.Match[str]) -> None:
        """A label; it may name a list of targets or a prototype."""
        name = m["label"]
        rest = re.match(r"\s*\.(branchtargets|calltargets|callprototype)\b", self.text[m.end() : m.end() + 200])
        if rest:
            self.pending_label = name
            return
        self.body.statements.append(Label(name, self.line_at(m.start("label"))))

    def finish(self) -> None:
        """Checks labels and that all scopes are closed."""
        if len(self.shadowed) != 1:
            raise self.error("a scope is not closed", len(self.text.rstrip()))
        seen: set[str] = set()
        for s in self.body.statements:
            if isinstance(s, Label):
                if s.name in seen:
                    raise PtxError(f"label {s.name} is defined twice", s.line, 0, s.name)
                seen.add(s.name)

    # -- directives -------------------------------------------------------------------------------------------------

    def directive(self, m: re.Match[str]) -> None:
        """A directive inside a body."""
        text = m["directive"]
        offset = m.start("directive")
        reg = _REG.match(text)
        if reg:
            vector, type_, names = reg[1], reg[2], reg[3].strip()
            if type_ not in operands.REGISTER_TYPES:
                raise self.error(f"registers of type .{type_}", offset, text)
            at = 0
            while at < len(names):
                n = _NAMES.match(names, at)
                if n is None:
                    raise self.error(f"bad register name in {text!r}", offset, text)
                width = int(vector[1]) if vector else 1
                if n[2] is None:
                    self.registers[self.declare(n[1], offset)] = (type_, width)
                else:
                    if int(n[2]) > 1 << 20:
                        raise self.error("too many registers", offset, text)
                    for k in range(int(n[2])):
                        self.registers[self.declare(f"{n[1]}{k}", offset)] = (type_, width)
                at = n.end()
            return
        word = re.match(r"\.(\w+)", text)
        name = word[1] if word else ""
        if name in ("branchtargets", "calltargets"):
            found = _LIST.match(text)
            label, self.pending_label = self.pending_label, None
            if found is None or label is None:
                raise self.error(f".{name} needs a label", offset, text)
            self.body.targets[label] = tuple(x.strip() for x in found[2].split(","))
        elif name == "callprototype":
            label, self.pending_label = self.pending_label, None
            if label is None:
                raise self.error(".callprototype needs a label", offset, text)
            self.body.prototypes[label] = prototype(text, self.line)
        elif name in ("pragma", "loc", "file"):
            pass
        else:
            for v in variables(text, self.line):
                if v.space not in ("shared", "local", "param", "global", "const"):
                    raise self.error(f"a variable in .{v.space}", offset, text)
                v.name = self.declare(v.name, offset)
                self.body.variables[v.name] = v

    # -- instructions -----------------------------------------------------------------------------------------------

    def instruction(self, m: re.Match[str]) -> Instruction:
        """One instruction with its row."""
        opcode = m["opcode"]
        modifiers = tuple(m["modifiers"][1:].split(".")) if m["modifiers"] else ()
        guard: Reg | None = None
        negated = False
        if m["guard"] is not None:
            word = m["guard"]
            negated = word[0] == "!"
            guard = self.predicate(word.lstrip("! \t"), m.start("guard"))
        if opcode == "call":
            return self.call(m, modifiers, guard, negated)
        cache = self.cache
        items: list[Operand] = []
        for text in operands.split(m["operands"]):
            known = cache.get(text)
            if known is None:
                known = cache[text] = operands.parse(self, text, m.start("operands"))
            items.append(known)
        found = table.find(opcode, modifiers, len(items))
        if found is None:
            name = ".".join((opcode, *modifiers))
            raise self.error(f"unknown instruction {name}{table.legal(opcode, modifiers)}", m.start("opcode"), name)
        row, attrs, types = found
        if types[:1] == ("any",) or row.lower is None:
            pass
        return Instruction(opcode, modifiers, tuple(items), self.line, guard, negated, row, attrs, types)

    def predicate(self, name: str, offset: int) -> Reg:
        """A guard's register."""
        unique = self.names.get(name)
        if unique is None or unique not in self.registers:
            raise self.error(f"{name} is not declared", offset, name)
        if self.registers[unique][0] != "pred":
            raise self.error(f"{name} is no predicate", offset, name)
        return Reg(unique)

    def call(self, m: re.Match[str], modifiers: tuple[str, ...], guard: Reg | None, negated: bool) -> Instruction:
        """``call{.uni} {(ret),} f{, (args)}{, prototype};``."""
        items: list[Operand] = []
        types: list[str] = []
        offset = m.start("operands")
        for text in operands.split(m["operands"]):
            if text.startswith("("):
                if not text.endswith(")"):
                    raise self.error("missing )", offset, text)
                inner = tuple(operands.parse(self, x, offset) for x in operands.split(text[1:-1]))
                items.append(CallArgs(inner))
                types.append("args")
            else:
                unique = self.names.get(text, text)
                items.append(Reg(unique) if unique in self.registers else Sym(text))
                types.append("function")
        found = table.find("call", modifiers, 0)
        if found is None or not items:
            raise self.error("unknown form of call", m.start("opcode"), m[0].strip())
        if types.count("function") > 1:
            types[len(types) - 1] = "label"
        row, attrs, _ = found
        return Instruction("call", modifiers, tuple(items), self.line, guard, negated, row, attrs, tuple(types))


_PROTOTYPE = re.compile(
    r"\.callprototype\s*(?:\((?P<returns>[^()]*)\))?\s*(?P<name>[A-Za-z_$%][\w$]*)\s*(?:\((?P<params>[^()]*)\))?\s*(?P<rest>.*)",
    re.DOTALL,
)


def prototype(text: str, line: int) -> Prototype:
    """A `.callprototype` directive."""
    m = _PROTOTYPE.match(text)
    if m is None:
        raise PtxError(f"bad prototype {text!r}", line, 0, text)
    return Prototype(
        parameters(m["params"] or "", line), parameters(m["returns"] or "", line), ".noreturn" in (m["rest"] or "")
    )


def parameters(text: str, line: int) -> list[Variable]:
    """A list of parameter declarations."""
    found: list[Variable] = []
    for part in text.split(","):
        if part.strip():
            found += variables(part.strip(), line)
    return found


def constant_expression(text: str, line: int) -> int:
    """Value of a constant integer expression."""
    t = Tokens(text, line)
    value = constant(t)
    if t.peek():
        raise t.error(f"unexpected {t.peek()!r}")
    return value
