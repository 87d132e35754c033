"""Builds models from the grammar in ``grammar.lark``: slow, and written to be read. Tests hold the fast reader against it.

It shares the model, the tables of instructions and the spelling of literals with the reader, and nothing else: what is
a name, a scope, an operand or a declaration is decided here by the grammar's rules alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from math import prod

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from fatload.ptx.declarations import float_bits, integer
from fatload.ptx.isa import table
from fatload.ptx.model import (
    SIZES,
    Addr,
    Address,
    Body,
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
    Prototype,
    PtxError,
    Reg,
    Selected,
    Sink,
    Special,
    Sym,
    Variable,
    Vec,
)

Node = Tree[Token]
_COMPONENTS = dict(zip("xyzwrgba", (0, 1, 2, 3) * 2, strict=True))


@cache
def parser() -> Lark:
    """The parser of whole modules."""
    grammar = files("fatload.ptx").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="module", parser="lalr", propagate_positions=True, maybe_placeholders=False)


def read(text: str) -> Module:
    """Reads a whole module. Raises PtxError with line and column for what the grammar does not allow."""
    try:
        tree = parser().parse(text)
    except UnexpectedInput as e:
        raise PtxError(f"unexpected {text[e.pos_in_stream or 0 :][:20]!r}", e.line, e.column) from None
    module = Module((0, 0), (), 64, {}, {})
    for item in _trees(tree):
        match item.data:
            case "version":
                major, minor = _token(item, "VERSION").split(".")
                module.version = (int(major), int(minor))
            case "target":
                module.target = tuple(str(t) for t in item.children)
            case "address_size":
                module.address_size = int(_token(item, "INT"))
            case "alias":
                module.aliases[str(item.children[0])] = str(item.children[1])
            case "variable":
                for v in _variables(item):
                    if v.name not in module.variables or v.linkage != "extern":
                        module.variables[v.name] = v
            case "entry" | "func":
                f = _function(item)
                if f.name not in module.functions or f.body is not None:
                    module.functions[f.name] = f
    return module


def _trees(node: Node, *names: str) -> Iterator[Node]:
    """Children that are rules, of these names if any are given."""
    for c in node.children:
        if isinstance(c, Tree) and (not names or c.data in names):
            yield c


def _tokens(node: Node, *kinds: str) -> list[Token]:
    return [c for c in node.children if isinstance(c, Token) and c.type in kinds]


def _token(node: Node, kind: str) -> str:
    """The first word of this kind, '' if there is none."""
    found = _tokens(node, kind)
    return str(found[0]) if found else ""


# -- constant expressions -------------------------------------------------------------------------------------------------


def value(node: Node | Token) -> int:
    """A constant expression's value."""
    assert isinstance(node, Tree)
    c = node.children
    match node.data:
        case "integer":
            return integer(str(c[0]))
        case "warp_size":
            return 32
        case "cast":
            return value(c[1])
        case "choice":
            return value(c[1]) if value(c[0]) else value(c[2])
        case "unary":
            x = value(c[1])
            return {"-": -x, "+": x, "~": ~x, "!": int(not x)}[str(c[0])]
        case _:
            return _binary(str(c[1]), value(c[0]), value(c[2]))


def _binary(operator: str, a: int, b: int) -> int:
    match operator:
        case "/" | "%":
            if not b:
                raise PtxError("division by zero")
            quotient = abs(a) // abs(b)
            quotient = quotient if (a < 0) == (b < 0) else -quotient
            return quotient if operator == "/" else a - quotient * b
        case "<<" | ">>":
            if not 0 <= b < 64:
                raise PtxError("shift by more than the width")
            return (a << b) % (1 << 64) if operator == "<<" else a >> b
        case _:
            results = {
                "+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b, "&&": bool(a and b), "||": bool(a or b),
                "==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b,
            }  # fmt: skip
            return int(results[operator])


# -- variables --------------------------------------------------------------------------------------------------------------


def _words(node: Node) -> Variable:
    """What the words of a declaration say, as a variable without a name."""
    v = Variable("", "", "", node.meta.line)
    align = 0
    for word in _trees(node, "space", "in_register", "type", "vector", "align", "pointer", "attributes"):
        match word.data:
            case "space":
                name = _token(word, "SPACE")[1:]
                v.space = "const" if name.startswith("const") else name
            case "in_register":
                v.space = "reg"
            case "type":
                v.type = _token(word, "TYPE")[1:]
            case "vector":
                v.vector = int(_token(word, "VECTOR")[2:])
            case "align":
                align = integer(_token(word, "INT"))
            case "pointer":
                v.pointer = (_token(word, "SPACE")[1:], 0)
            case _:
                v.managed |= any(_token(a, "WORD") == ".managed" for a in _trees(word))
    if v.pointer:  # an alignment behind .ptr is that of what it points to
        v.pointer, align = (v.pointer[0], align), 0
    if v.type not in SIZES:
        raise PtxError(f".{v.type} variables are not supported", node.meta.line)
    v.align = align or SIZES[v.type] * v.vector
    v.linkage = (_token(node, "LINKAGE") or ".")[1:]
    return v


def _variables(node: Node) -> list[Variable]:
    common = _words(node)
    found = []
    for item in _trees(node, "initialised"):
        declarator, *init = _trees(item)
        for v in _declared(common, declarator):
            if init:
                v.init = tuple(_flat(init[0], v, v.dims + ((v.vector,) if v.vector > 1 else ())))
                if v.dims and not v.dims[0]:
                    each = v.vector * prod(v.dims[1:])
                    v.dims = (-(-len(v.init) // each), *v.dims[1:])
            found.append(v)
    return found


def _declared(common: Variable, declarator: Node) -> list[Variable]:
    dims = tuple(value(d.children[0]) if d.children else 0 for d in _trees(declarator, "dimension"))
    return [replace(common, name=n, dims=dims) for n in _names(declarator)]


def _names(node: Node) -> list[str]:
    """The names that ``NAME`` or ``NAME<INT>`` stands for."""
    name, count = _token(node, "NAME"), _token(node, "INT")
    return [f"{name}{k}" for k in range(int(count))] if count else [name]


def _parameters(node: Node, rule: str) -> list[Variable]:
    found: list[Variable] = []
    for group in _trees(node, rule):
        for p in _trees(group, "parameter"):
            found += _declared(_words(p), next(_trees(p, "declarator")))
    return found


def _flat(node: Node, v: Variable, dims: tuple[int, ...]) -> list[int | Address]:
    """The elements of an initialiser in memory's order; an inner brace that is short is filled up with zeros."""
    bits = 8 * SIZES[v.type]
    match node.data:
        case "values":
            elements: list[int | Address] = []
            for part in _trees(node):
                inner = _flat(part, v, dims[1:])
                if part.data == "values" and dims[1:]:
                    inner += [0] * (prod(dims[1:]) - len(inner))
                elements += inner
            return elements
        case "integer_value":
            x = value(node.children[0])
            return [float_bits(str(float(x)), bits) if v.type[0] == "f" else x % (1 << bits)]
        case "float_value":
            literal = float_bits(_token(node, "FLOAT"), bits)
            return [literal ^ (1 << bits - 1) if _tokens(node, "MINUS") else literal]
        case "byte_of_address":
            return [replace(_address(next(_trees(node))), mask=integer(_token(node, "INT")))]
        case _:
            return [_address(node)]


def _address(node: Node) -> Address:
    offset = sum(value(o.children[1]) * (-1 if o.children[0] == "-" else 1) for o in _trees(node, "offset"))
    return Address(_token(node, "NAME"), offset, node.data == "generic_address")


# -- functions --------------------------------------------------------------------------------------------------------------


def _function(node: Node) -> Function:
    f = Function(
        _token(node, "NAME"),
        node.data == "entry",
        _parameters(node, "parameters"),
        _parameters(node, "returns"),
        node.meta.line,
        (_token(node, "LINKAGE") or ".")[1:],
        noreturn=bool(_tokens(node, "NORETURN")),
    )
    for d in _trees(node, "function_directive"):
        name = _token(d, "FUNCTION_DIRECTIVE")[1:]
        if _tokens(d, "NORETURN"):
            f.noreturn, name = True, "noreturn"
        f.directives[name or "pragma"] = tuple(integer(str(n)) for n in _tokens(d, "INT"))
    for body in _trees(node, "body"):
        f.body = _Body(f).read(body)
    return f


class _Body:
    """Resolves the names of one body. `scopes` maps names to unique names, innermost last."""

    def __init__(self, f: Function) -> None:
        self.body = Body({}, {}, [], {}, {})
        self.scopes: list[dict[str, str]] = [{v.name: v.name for v in (*f.params, *f.returns)}, {}]
        self.count: dict[str, int] = {}

    def read(self, node: Node) -> Body:
        for s in _trees(node):
            self.statement(s)
        return self.body

    def statement(self, s: Node) -> None:
        body = self.body
        match s.data:
            case "scope":
                self.scopes.append({})
                for inner in _trees(next(_trees(s))):
                    self.statement(inner)
                self.scopes.pop()
            case "label":
                body.statements.append(Label(_token(s, "NAME"), s.meta.line))
            case "registers":
                kind, width = _token(s, "TYPE")[1:], int(_token(s, "VECTOR")[2:] or 1)
                for r in _trees(s):
                    for n in _names(r):
                        body.registers[self.declare(n)] = (kind, width)
            case "variable":
                for v in _variables(s):
                    v.name = self.declare(v.name)
                    body.variables[v.name] = v
            case "targets":
                label, *names = (str(t) for t in _tokens(s, "NAME"))
                body.targets[label] = tuple(names)
            case "prototype":
                returns, parameters = _parameters(s, "returns"), _parameters(s, "parameters")
                body.prototypes[_token(s, "NAME")] = Prototype(parameters, returns, bool(_tokens(s, "NORETURN")))
            case "instruction" | "call":
                body.statements.append(self.instruction(s))

    def declare(self, name: str) -> str:
        n = self.count.get(name, 0)
        self.count[name] = n + 1
        if name in self.scopes[-1]:
            raise PtxError(f"{name} is declared twice")
        self.scopes[-1][name] = f"{name}@{n}" if n else name
        return self.scopes[-1][name]

    def name(self, name: str) -> Operand:
        for scope in reversed(self.scopes):
            if name in scope:
                unique = scope[name]
                return Reg(unique) if unique in self.body.registers else Sym(unique)
        if name == "_":
            return Sink()
        if name == "WARP_SZ":
            return Imm(32)
        return Special(name[1:]) if name[0] == "%" else Sym(name)

    def instruction(self, s: Node) -> Instruction:
        call = s.data == "call"
        guard, negated = None, False
        for g in _trees(s, "guard"):
            register = self.name(_token(g, "NAME"))
            assert isinstance(register, Reg)
            guard, negated = register, bool(_tokens(g, "NOT"))
        opcode = "call" if call else _token(s, "NAME")
        modifiers = tuple(m for w in _tokens(s, "WORD") for m in str(w)[1:].split("."))
        operands = tuple(self.operand(o) for o in _trees(s) if o.data != "guard")
        found = table.find(opcode, modifiers, 0 if call else len(operands))
        if found is None:
            raise PtxError(f"unknown instruction {opcode}", s.meta.line)
        row, attrs, types = found
        line = next((t.line for t in _tokens(s, "NAME")), s.meta.line)  # behind a guard: where the opcode stands
        return Instruction(opcode, modifiers, operands, line or 0, guard, negated, row, attrs, types)

    def operand(self, o: Node) -> Operand:
        c = o.children
        match o.data:
            case "name":
                return self.name(str(c[0]))
            case "component":
                return self.component(str(c[0]), str(c[1])[1:])
            case "displaced":
                base, offset = self.name(str(c[0])), value(c[2]) * (-1 if c[1] == "-" else 1)
                return Sym(base.name, offset) if isinstance(base, Sym) else Addr(base, offset)  # type: ignore[arg-type]
            case "negated":
                register = self.name(str(c[1]))
                assert isinstance(register, Reg)
                return Not(register)
            case "float_operand":
                text = _token(o, "FLOAT")
                width = 32 if text[:2] in ("0f", "0F") else 64
                return FloatImm(float_bits(text, width) ^ (len(c) - 1 << width - 1), width)
            case "pair":
                return Pair(self.name(str(c[0])), self.name(str(c[2])))
            case "vector_operand":
                return Vec(tuple(self.operand(x) for x in _trees(o)))
            case "arguments":
                return CallArgs(tuple(self.operand(x) for x in _trees(o)))
            case "memory":
                return self.memory([self.operand(x) for x in _trees(o)])
            case _:
                return Imm(value(c[0]))

    def memory(self, parts: list[Operand]) -> Operand:
        """``[…]``. The coordinates of tensors are not in the model: what takes them is not lowered yet."""
        match parts:
            case [Imm(offset)]:
                return Addr(None, offset)
            case [Sym(name, offset)]:
                return Addr(Sym(name), offset)
            case [Reg() as base]:
                return Addr(base)
            case [Addr() as whole]:
                return whole
            case _:
                return Addr(None, 0)

    def component(self, name: str, part: str) -> Operand:
        base = self.name(name)
        if isinstance(base, Special):
            return Special(base.name, part)
        assert isinstance(base, Reg)
        if self.body.registers[base.name][1] > 1 and part in _COMPONENTS:
            return Element(base.name, _COMPONENTS[part])
        return Selected(base, part)
