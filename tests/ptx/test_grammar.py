"""The fast reader and the grammar say the same of every text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fatload.ptx import oracle, reader
from fatload.ptx.model import Body, Function, Instruction, Label, PtxError, Variable
from tests.compiler import EXAMPLES, Compiler
from tests.golden.forms import forms

TESTS = Path(__file__).resolve().parents[1]

HEAD = ".version 8.5\n.target sm_90, debug\n.address_size 64\n"

UNUSUAL = {
    "numbers": ".global .b32 a[8] = {0x10, 0b101, 017, 9U, -1, 1 + 2 * 3, (5 > 3) ? 7 : 8, ~0 & 0xFF | 0x100};\n"
    ".const .f32 f[4] = {0f3F800000, -1.5, 2e3, 3};\n.global .f64 d = 0d3FF0000000000000;\n"
    ".global .b64 s = 1 << 40 >> 2;\n.global .u32 w[WARP_SZ];\n",
    "arrays": ".global .align 16 .v2 .f32 v[2] = {{1.0, 2.0}, {3.0, 4.0}};\n.global .s8 m[2][3] = {{1}, {2, 3}};\n"
    ".global .b8 unsized[] = {1, 2, 3};\n.extern .shared .align 8 .b8 dynamic[];\n.global .b32 p<3>, q;\n",
    "addresses": ".global .b32 x[4];\n.global .u64 a[4] = {x, x + 4, generic(x), generic(x) + 8};\n"
    ".global .u8 b[2] = {0xFF(x), 0xFF00(x)};\n.func f() { ret; }\n.const .u64 table = f;\n",
    "linkage": ".extern .global .b32 e;\n.visible .global .b32 e = 3;\n.weak .const .b32 w = 4;\n.common .global .b32 c;\n"
    ".global .attribute(.managed) .b32 m;\n.alias g, f;\n.func f() { ret; }\n",
    "heads": ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24])\n"
    ".maxntid 128, 2, 1\n.minnctapersm 2\n.maxnreg 64\n{ ret; }\n"
    ".extern .func (.param .b32 r) e(.param .b64 a, .param .b32 b);\n.weak .func .noreturn stop() { trap; }\n"
    ".extern .func (.reg .u32 %o) small(.reg .u32 %i);\n",
    "scopes": ".entry k() {\n .reg .b32 %r<4>, %q; .reg .pred %p;\n{ .reg .b32 %r1; .shared .b32 v[4]; mov.u32 %r1, 5;\n"
    "{ .reg .f32 %r1; mov.f32 %r1, 0f00000000; } st.shared.u32 [v+4], %r1; }\n mov.u32 %r1, %r2;\n ret; }\n",
    "operands": ".global .b32 x[8];\n.entry k(.param .u64 a) { .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>; .reg .v4 .f32 %v;\n"
    "// a comment; with { braces\nld.param.u64 %d1, [a]; /* another\n one */ ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1+-16];\n"
    "ld.global.u32 %r1, [x+4]; ld.global.u32 %r1, [x]; ld.global.u32 %r1, [%d1 + 0x10];\n mov.u32 %r1, %tid.x; mov.u32 %r2, WARP_SZ;\n"
    "mov.b64 %d2, {%r1, %r2}; mov.b64 {%r1, _}, %d2; mov.u64 %d3, x; mov.u64 %d3, x+8; mov.f32 %v.x, 0f3F800000;\n"
    "setp.lt.and.s32 %p1|%p2, %r1, -5, !%p3; @!%p1 add.s32 %r1, %r1, 3 | 4; @%p2\n  add.s32 %r1,\n %r1, (2 + 3) * 4;\n"
    "shfl.sync.idx.b32 %r1|%p1, %r2, 3, 0x1f, 0xffffffff; vadd.s32.s32.s32 %r1, %r2.h0, %r3.b2;\n ret; }\n",
    "targets": ".func (.param .b32 r) f(.param .b32 a) { ret; }\n.entry k() { .reg .b32 %r<3>; .reg .b64 %d; .param .b32 a0, r0;\n"
    ".pragma \"nounroll\";\nT: .branchtargets L1, L2;\nP: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "brx.idx %r1, T;\nL1: st.param.b32 [a0], %r1; call.uni (r0), f, (a0);\nmov.u64 %d, f; call (r0), %d, (a0), P;\n"
    "L2:\n.loc 1 2 3\n ret;\n}\n.section .debug_str { .b8 1, 2 }\n",
}  # fmt: skip


def parameters(of: list[Variable]) -> list[Variable]:
    """Without their lines: the reader gives those of the function."""
    return [replace(v, line=0) for v in of]


def head(f: Function) -> object:
    names = (f.name, f.entry, f.line, f.linkage, f.noreturn, f.directives)
    return (*names, parameters(f.params), parameters(f.returns), f.body is None)


def statement(s: Instruction | Label) -> object:
    """What the text says; rows and types follow from the tables."""
    if isinstance(s, Label):
        return s
    return s.opcode, s.modifiers, s.operands, s.line, s.guard, s.guard_negated


def declared(b: Body) -> object:
    prototypes = {n: (parameters(p.params), parameters(p.returns), p.noreturn) for n, p in b.prototypes.items()}
    return b.registers, b.variables, b.targets, prototypes


def compare(text: str) -> None:
    fast, slow = reader.read(text), oracle.read(text)
    assert (fast.version, fast.target, fast.address_size) == (slow.version, slow.target, slow.address_size)
    assert (fast.variables, fast.aliases) == (slow.variables, slow.aliases)
    assert [head(f) for f in fast.functions.values()] == [head(f) for f in slow.functions.values()]
    for f in fast.functions.values():
        other = slow.functions[f.name].body
        if f.body is not None and other is not None:
            assert declared(f.body) == declared(other)
            for a, b in zip(f.body.statements, other.statements, strict=True):
                assert statement(a) == statement(b)


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_texts(name: str) -> None:
    compare(HEAD + UNUSUAL[name])


@pytest.mark.parametrize("source", sorted(EXAMPLES.glob("*.cu")), ids=lambda s: s.stem)
def test_programs(source: Path, compiler: Compiler) -> None:
    compare(compiler.compile(source, "-ptx", "-arch=sm_75", suffix=".ptx").read_text())


def test_debug_information(compiler: Compiler) -> None:
    source = EXAMPLES / "reduction.cu"
    compare(compiler.compile(source, "-ptx", "-arch=sm_75", "-G", suffix=".ptx").read_text())


def test_recorded_forms() -> None:
    for form in forms().values():
        compare(form.ptx)


@pytest.mark.parametrize("bad", ["{", ".entry k() { add.s32 ; ", ".global .b32 = 3;", ".global .b32 a[2;", "@%p ret;"])
def test_both_refuse(bad: str) -> None:
    for read in (reader.read, oracle.read):
        with pytest.raises(PtxError) as e:
            read(HEAD + bad)
        assert e.value.line
