"""Asks NVIDIA's assembler what it says about instructions: thousands a call, one a line."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fatload.cli.nvcc import find_nvcc

REGISTERS = (
    "pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64",
    "f16", "f16x2", "f32", "f64",
)  # fmt: skip
"""Types that the preamble declares registers of: ``%T_0`` … ``%T_15``."""

DECLARATIONS = """\
.global .align 16 .b32 gvar[64];
.const .align 16 .b32 cvar[64] = {1};
.shared .align 16 .b32 svar[64];
.func (.param .b32 fr) fn(.param .b32 fa) { ret; }
"""
"""Module scope of every question: what forms may name."""

LOCALS = "  .local .align 16 .b32 lvar[64];\nLB:\n"

_MESSAGE = re.compile(r"^ptxas \S+, line (\d+); (error|fatal)\s*: (.*)$", re.MULTILINE)
_BATCH = 1000


@cache
def find_ptxas() -> str:
    """The assembler that belongs to the compiler fatload would use."""
    nvcc = find_nvcc()
    assert nvcc is not None, "nvcc was not found: install the dev extra"
    beside = Path(nvcc[0]).with_name("ptxas")
    found = str(beside) if beside.exists() else shutil.which("ptxas")
    assert found, "no ptxas beside nvcc"
    return found


def run(text: str, arch: str, *options: str) -> str:
    """Assembles a module; what ptxas says."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "q.ptx"
        source.write_text(text)
        command = [find_ptxas(), "-arch", arch, *options, str(source), "-o", str(Path(folder) / "q.o")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def module(version: str, target: str, body: str) -> str:
    """A module with one kernel around `body`."""
    registers = "".join(f"  .reg .{t} %{t}_<16>;\n" for t in REGISTERS)
    return (
        f".version {version}\n.target {target}\n.address_size 64\n{DECLARATIONS}"
        f".visible .entry k(.param .align 16 .b8 pvar[256])\n{{\n{registers}{LOCALS}{body}}}\n"
    )


def ask(forms: Sequence[str], version: str, target: str) -> list[tuple[str, ...]]:
    """What ptxas objects to in each form (one instruction with its semicolon, on one line); nothing: it is accepted.

    Every question holds one wrong instruction, so that ptxas never goes on to generate code.
    """
    found: list[tuple[str, ...]] = []
    for start in range(0, len(forms), _BATCH):
        found += _ask(forms[start : start + _BATCH], version, target)
    return found


def _ask(forms: Sequence[str], version: str, target: str) -> list[tuple[str, ...]]:
    said: list[list[str]] = [[] for _ in forms]
    stopped: set[int] = set()  # forms that do not even parse: ptxas stops at the first
    while True:
        body = "".join(f"{'' if k in stopped else form}\n" for k, form in enumerate(forms)) + "  wrong.s32 %s32_0;\n"
        text = module(version, target, body)
        first = text[: text.index(LOCALS) + len(LOCALS)].count("\n") + 1
        messages = [(int(line) - first, kind, message) for line, kind, message in _MESSAGE.findall(run(text, "sm_90"))]
        fatal = [(at, message) for at, kind, message in messages if kind == "fatal"]
        if not fatal:
            break
        at, message = fatal[0]
        if not 0 <= at < len(forms) or at in stopped:
            raise RuntimeError(f"ptxas: line {at + first}: {message}")
        stopped.add(at)
        said[at].append(message)
    assert any(at == len(forms) for at, _, _ in messages), "ptxas did not read all forms"
    for at, _, message in messages:
        if 0 <= at < len(forms):
            said[at].append(message)
    return [tuple(s) for s in said]
