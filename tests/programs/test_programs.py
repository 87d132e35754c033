"""Every program checks itself: with the static and the shared runtime, by ``fatload run`` and by preloading, cold and warm."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.compiler import Program

from .conftest import Runner, programs

Built = dict[tuple[str, str], Path]
EXITS = {"assertion": 0}


def check(done: subprocess.CompletedProcess[str], name: str) -> None:
    said = f"exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    assert done.returncode == 0, said
    assert f"{name}: ok" in done.stdout, said


@pytest.mark.parametrize("program", programs(), ids=lambda p: p.name)
def test_program(program: Program, built: Built, runner: Runner) -> None:
    """The first run translates; the others must do without Python."""
    check(runner.run(built[program.name, "static"], "run", cold=True), program.name)
    for runtime, how in (("static", "preload"), ("shared", "run"), ("shared", "preload")):
        done = runner.run(built[program.name, runtime], how)
        check(done, program.name)


@pytest.mark.parametrize("how", ["run", "preload"])
@pytest.mark.parametrize("runtime", ["static", "shared"])
def test_cold(runtime: str, how: str, built: Built, runner: Runner) -> None:
    """An empty cache and no service at first, then the same run warm."""
    cache = runner.folder / f"cold-{runtime}-{how}"
    executable = built["vecadd", runtime]
    without = runner.run(executable, how, cache=cache)
    assert without.returncode != 0, "an empty cache and no Python, but the kernel ran"
    check(runner.run(executable, how, cold=True, cache=cache), "vecadd")
    check(runner.run(executable, how, cache=cache), "vecadd")
