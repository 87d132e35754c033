"""NVIDIA's compiler with a cache of what it made: $FATLOAD_TEST_BUILD (default /tmp/fatload-tests-UID) /programs."""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from fatload.cli.nvcc import find_nvcc

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
FLAGS = ("-O2", "-std=c++17", f"-I{EXAMPLES}")


@dataclass(frozen=True)
class Program:
    """A program of one or more sources; `flags` are its own compiler options."""

    name: str
    sources: tuple[Path, ...]
    flags: tuple[str, ...] = ()


class Compiler:
    """Compiles what has changed since the last time: sources, headers beside them, options, the compiler."""

    def __init__(self, folder: Path) -> None:
        found = find_nvcc()
        if found is None:
            pytest.fail("nvcc was not found: pip install .[dev], or put it into the PATH")
        self.nvcc, self.link_flags = found
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, name: str, suffix: str, *parts: bytes) -> Path:
        key = hashlib.blake2b(b"\0".join([self.nvcc.encode(), name.encode(), *parts]), digest_size=10).hexdigest()
        return self.folder / f"{name}-{key}{suffix}"

    def _make(self, target: Path, command: list[str]) -> Path:
        if not target.exists():
            partial = target.with_name(f"{target.stem}.{os.getpid()}{target.suffix}")
            done = subprocess.run([*command, "-o", str(partial)], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
            partial.rename(target)
        return target

    def compile(self, source: Path, *flags: str, suffix: str = ".o") -> Path:
        """One source, compiled with `flags` (``-c`` by default)."""
        flags = flags or ("-c",)
        headers = [p.read_bytes() for folder in {EXAMPLES, source.parent} for p in sorted(folder.glob("*.h"))]
        options = shlex.join([*FLAGS, *flags]).encode()
        target = self._path(source.stem, suffix, *sorted(headers), source.read_bytes(), options)
        return self._make(target, [self.nvcc, *FLAGS, *flags, str(source)])

    def link(self, program: Program, cudart: str) -> Path:
        """A program with the ``static`` or ``shared`` CUDA runtime. The two differ in nothing else."""
        objects = [self.compile(s, "-c", *program.flags) for s in program.sources]
        return self.link_objects(f"{program.name}-{cudart}", objects, f"-cudart={cudart}", *program.flags)

    def link_objects(self, name: str, objects: list[Path], *flags: str, suffix: str = "") -> Path:
        """Linked objects: an executable, or what `flags` ask for."""
        target = self._path(name, suffix, *(o.name.encode() for o in objects), shlex.join(flags).encode())
        return self._make(target, [self.nvcc, *flags, *self.link_flags, *map(str, objects)])
