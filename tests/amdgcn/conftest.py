"""The examples as PTX by nvcc and as code objects by ``fatload translate``."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compiler import EXAMPLES, Compiler
from tests.support import Installation

from .code_object import FLAGS, unbundle
from .kernels import PROGRAMS


@dataclass(frozen=True)
class Translated:
    """A program's PTX, its kernels (demangled name → symbol), and the bundle for all chips."""

    ptx: Path
    symbols: dict[str, str]
    bundle: list[tuple[str, bytes]]

    def code(self, chip: str) -> bytes:
        """The code object for a chip."""
        return dict(self.bundle)[f"hipv4-amdgcn-amd-amdhsa--{chip}"]


@pytest.fixture(scope="session")
def ptx(compiler: Compiler) -> dict[str, Path]:
    """PTX by program."""

    def one(name: str) -> Path:
        return compiler.compile(EXAMPLES / f"{name}.cu", "-ptx", "-arch=sm_75", suffix=".ptx")

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(PROGRAMS, pool.map(one, PROGRAMS), strict=True))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings for a cache of these tests' own."""
    return {"FATLOAD_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="session")
def translated(
    ptx: dict[str, Path], installation: Installation, cache: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Translated]:
    """All programs for all chips: one command a program, two workers each."""
    folder = tmp_path_factory.mktemp("bundles")
    found = {}
    for name, path in ptx.items():
        target = folder / f"{name}.bundle"
        arches = ",".join(FLAGS)
        done = installation.call("translate", path, "--arch", arches, "-o", target, "-j2", environment=cache)
        assert done.returncode == 0, done.stderr
        found[name] = Translated(path, demangled(path), unbundle(target.read_bytes()))
    return found


def demangled(path: Path) -> dict[str, str]:
    """Symbols of the kernels in a PTX file by their names in C++."""
    lines = [s for s in path.read_text().splitlines() if ".entry" in s]
    symbols = [s.split(".entry", 1)[1].split("(")[0].strip() for s in lines]
    done = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True)
    return dict(zip(done.stdout.splitlines(), symbols, strict=True))
