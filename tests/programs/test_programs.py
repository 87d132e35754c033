"""Every program checks itself: with the static and the shared runtime, by ``fatload run`` and by preloading, cold and warm."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.compiler import EXAMPLES, Compiler, Program

from .conftest import Runner, programs

Built = dict[tuple[str, str], Path]


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


def test_printing(built: Built, runner: Runner) -> None:
    """Lines of printf in kernels, against Python's own formatting."""
    lines = []
    for n in range(3):
        word = "odd" if n % 2 else "even"
        unsigned = -n % 2**32
        lines += [
            f"{n} {n:5d}|{n:<5d}|{n:05d}|{n:+d} {unsigned} {255 + n:x} {255 + n:X} {8 + n:o} {chr(97 + n)} %",
            f"{word} {word:>10}|{word:<6}|{word[:2]}",
            f"{n / 3:f} {n / 3:.3f} {n * 1000.0:10.2f}|{n + 0.25:<10.1f}|{n * 12345.678:e} {n / 7:g} {n * 1e20:G}",
            f"{n * 10**10} {2 ** (60 + n)} {2**40:x} -1 {(70000 + n) % 65536}",
            f"{n:6d}|{n:<4d}|{n / 3:.2f}",
            "no arguments",
        ]
    done = runner.run(built["printing", "static"], "run", cold=True)
    check(done, "printing")
    printed = done.stdout.splitlines()
    assert printed[: len(lines)] == lines
    threads = [int(line.removeprefix("thread ")) for line in printed[len(lines) : -1]]
    assert sorted(threads) == list(range(80))
    for cta in (range(40), range(40, 80)):
        assert [t for t in threads if t in cta] == list(cta), "the threads of a CTA print in order"


@pytest.mark.parametrize("image", ["ptx", "fatbin"])
def test_driver_api(image: str, compiler: Compiler, runner: Runner) -> None:
    """The driver API from C, with PTX text and with a fatbin as files."""
    source = EXAMPLES / "vecadd_kernel.cu"
    module = compiler.compile(source, f"-{image}", suffix=f".{image}")
    program = compiler.compile(EXAMPLES / "driver_vecadd.c", "-c")
    executable = compiler.link_objects(
        "driver_vecadd", [program], "-cudart=none", "-lcuda", f"-L{runner.installation.native}"
    )
    check(runner.run(executable, "run", str(module), cold=True), "driver_vecadd")
    check(runner.run(executable, "preload", str(module)), "driver_vecadd")
