"""What ptxas refuses: undefined names, labels, registers of the wrong size or kind."""

from __future__ import annotations

from fatload.ptx.model import (
    SIZES,
    Addr,
    FloatImm,
    Function,
    Imm,
    Instruction,
    Label,
    Module,
    Not,
    Operand,
    Pair,
    PtxError,
    Reg,
    Sink,
    Special,
    Sym,
    Vec,
)
from fatload.ptx.scan import Scan

EXTERNALS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Functions without a body that the runtime provides."""

_RELAXED = frozenset({"ld", "st", "ldu", "cvt", "cvta"})  # operands wider than the type are allowed
_FLOATS = frozenset({"f16", "bf16", "f32", "f64", "f16x2", "bf16x2"})


def check_function(s: Scan, module: Module, f: Function) -> None:
    """Checks a function's body against the module. Raises PtxError with the line."""
    body = f.body
    assert body is not None
    labels = {x.name for x in body.statements if isinstance(x, Label)}
    functions = s.functions()
    own = {v.name for v in (*f.params, *f.returns)}

    def known(name: str) -> bool:
        return (
            name in body.variables
            or name in own
            or name in module.variables
            or name in functions
            or name in module.aliases
        )

    for i in body.statements:
        if not isinstance(i, Instruction):
            continue
        row = i.row
        if i.opcode in ("bra", "brx"):
            _branch(i, labels, body.targets)
            continue
        if i.opcode == "call":
            _call(i, module, functions, body.prototypes, body.targets)
            continue
        if row is None or row.lower is None:
            continue
        for n, (o, t) in enumerate(zip(i.operands, i.types, strict=True)):
            for x in o.items if isinstance(o, Vec) else (o,):
                if isinstance(x, Sym) and not known(x.name):
                    raise PtxError(f"{x.name} is not defined", i.line, 0, x.name)
                if isinstance(x, Addr) and isinstance(x.base, Sym) and not known(x.base.name):
                    raise PtxError(f"{x.base.name} is not defined", i.line, 0, x.base.name)
            _operand(i, n, o, t, body.registers)
    for targets in body.targets.values():
        for name in targets:
            if name not in labels and name not in functions:
                raise PtxError(f"{name} is not defined", f.line, 0, name)


def _branch(i: Instruction, labels: set[str], targets: dict[str, tuple[str, ...]]) -> None:
    o = i.operands[-1]
    if not isinstance(o, Sym):
        raise PtxError(f"{i.name} needs a label", i.line, 0, i.name)
    if i.opcode == "bra" and o.name not in labels:
        raise PtxError(f"label {o.name} is not defined", i.line, 0, o.name)
    if i.opcode == "brx" and o.name not in targets:
        raise PtxError(f"the list of targets {o.name} is not defined", i.line, 0, o.name)


def _call(i: Instruction, module: Module, functions: object, prototypes: object, targets: object) -> None:
    assert isinstance(functions, dict) and isinstance(prototypes, dict) and isinstance(targets, dict)
    for o, t in zip(i.operands, i.types, strict=True):
        if isinstance(o, Sym):
            if t == "function":
                name = module.aliases.get(o.name, o.name)
                item = functions.get(name)
                if item is None:
                    raise PtxError(f"the function {o.name} is not declared", i.line, 0, o.name)
                if item.body is None and name not in EXTERNALS:
                    raise PtxError(f"the external function {o.name} is not defined", i.line, 0, o.name)
            elif o.name not in prototypes and o.name not in targets:
                raise PtxError(f"the prototype {o.name} is not defined", i.line, 0, o.name)


def _operand(i: Instruction, n: int, o: Operand, type_: str, registers: dict[str, tuple[str, int]]) -> None:
    row = i.row
    assert row is not None
    if isinstance(o, Vec):
        if not (n < len(row.operands) and row.operands[n].vector):
            raise PtxError(f"{i.name}: a vector is not allowed as operand {n + 1}", i.line, 0, i.name)
        if i.opcode != "mov":
            want = int(i.attrs["vec"][1:]) if "vec" in i.attrs else 1
            if len(o.items) != want:
                raise PtxError(f"{i.name}: {len(o.items)} elements where {want} are needed", i.line, 0, i.name)
            for x in o.items:
                _operand_scalar(i, x, type_, registers)
        return
    if (
        "vec" in i.attrs
        and n < len(row.operands)
        and row.operands[n].vector
        and not (isinstance(o, Reg) and registers[o.name][1] > 1)
    ):
        raise PtxError(f"{i.name}: operand {n + 1} must be a vector", i.line, 0, i.name)
    if isinstance(o, Pair):
        if not row.operands[n].pair:
            raise PtxError(f"{i.name}: a second destination is not allowed", i.line, 0, i.name)
        return
    if type_ == "addr":
        if not isinstance(o, Addr):
            raise PtxError(f"{i.name}: operand {n + 1} must be an address in brackets", i.line, 0, i.name)
        return
    if isinstance(o, Addr) and type_ != "any":
        raise PtxError(f"{i.name}: operand {n + 1} must not be an address", i.line, 0, i.name)
    if n < row.outputs and not isinstance(o, Reg | Sink) and type(o).__name__ not in ("Element", "Selected"):
        raise PtxError(f"{i.name}: the destination must be a register", i.line, 0, i.name)
    _operand_scalar(i, o, type_, registers)


def _operand_scalar(i: Instruction, o: Operand, type_: str, registers: dict[str, tuple[str, int]]) -> None:
    if isinstance(o, Not) and type_ != "pred":
        raise PtxError(f"{i.name}: only predicates can be negated", i.line, 0, i.name)
    reg = o.reg if isinstance(o, Not) else o
    if not isinstance(reg, Reg) or type_ not in SIZES:
        if type_ == "pred" and isinstance(o, Imm | FloatImm | Special) and i.opcode != "mov":
            raise PtxError(f"{i.name}: a predicate is needed", i.line, 0, i.name)
        if isinstance(o, FloatImm) and type_ in SIZES and type_[0] in "us" and i.opcode != "mov":
            raise PtxError(f"{i.name}: a floating-point constant where an integer is needed", i.line, 0, i.name)
        return
    have = registers[reg.name][0]
    if (have == "pred") != (type_ == "pred"):
        raise PtxError(f"{i.name}: {reg.name} is of type .{have}, .{type_} is needed", i.line, 0, reg.name)
    if have == "pred":
        return
    size, want = SIZES[have], SIZES[type_]
    wide_enough = size >= want if i.opcode in _RELAXED or want == 1 else size == want
    if not wide_enough:
        raise PtxError(f"{i.name}: {reg.name} is of type .{have}, .{type_} is needed", i.line, 0, reg.name)
    if (have in _FLOATS and type_[0] in "us") or (have[0] in "us" and type_ in _FLOATS):
        if i.opcode in ("ld", "st", "ldu", "mov", "selp", "slct", "shfl") and size >= want:
            return
        raise PtxError(f"{i.name}: {reg.name} is of type .{have}, .{type_} is needed", i.line, 0, reg.name)
