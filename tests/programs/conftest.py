"""Compiles the CUDA programs of examples/ and of this folder, and runs them on the CPU device.

Programs are compiled once, by content, into $FATLOAD_TEST_BUILD (default /tmp/fatload-tests-UID) /programs.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from fatload.cli.nvcc import find_nvcc
from tests.support import Installation, build_folder, clean_environment

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
FLAGS = ["-O2", "-std=c++17", f"-I{EXAMPLES}"]


@dataclass(frozen=True)
class Program:
    """A program of one or more sources; `flags` are its own compiler options."""

    name: str
    sources: tuple[Path, ...]
    flags: tuple[str, ...] = ()


class Compiler:
    """nvcc with a cache of what it made."""

    def __init__(self, folder: Path) -> None:
        found = find_nvcc()
        if found is None:
            pytest.fail("nvcc was not found: pip install .[dev], or put it into the PATH")
        self.nvcc, self.link_flags = found
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        headers = b"".join(p.read_bytes() for p in sorted([*EXAMPLES.glob("*.h"), *HERE.glob("*.h")]))
        self.base = headers + self.nvcc.encode()

    def _path(self, name: str, suffix: str, *parts: bytes) -> Path:
        key = hashlib.blake2b(b"\0".join([self.base, name.encode(), *parts]), digest_size=10).hexdigest()
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
        target = self._path(source.stem, suffix, source.read_bytes(), shlex.join(flags).encode())
        return self._make(target, [self.nvcc, *FLAGS, *flags, str(source)])

    def link(self, program: Program, cudart: str) -> Path:
        """A program with the ``static`` or ``shared`` CUDA runtime. The two differ in nothing else."""
        objects = [self.compile(s, "-c", *program.flags) for s in program.sources]
        target = self._path(f"{program.name}-{cudart}", "", *(o.name.encode() for o in objects))
        flags = [f"-cudart={cudart}", *self.link_flags, *program.flags]
        return self._make(target, [self.nvcc, *flags, *map(str, objects)])


def programs() -> list[Program]:
    """All programs: one a source, but `units_*.cu`, which make one."""
    found = [Program(s.stem, (s,)) for s in sorted(EXAMPLES.glob("*.cu")) if not s.stem.endswith("_kernel")]
    own = sorted(HERE.glob("*.cu"))
    for s in own:
        if s.stem.startswith("units_"):
            continue
        flags = ("-default-stream=per-thread",) if s.stem == "per_thread_stream" else ()
        found.append(Program(s.stem, (s,), flags))
    found.append(Program("units", tuple(s for s in own if s.stem.startswith("units_"))))
    return found


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    return Compiler(build_folder() / "programs")


@pytest.fixture(scope="session")
def built(compiler: Compiler, request: pytest.FixtureRequest) -> dict[tuple[str, str], Path]:
    """Executables by program and runtime (static, shared) of all programs that the selected tests use."""
    used = {
        i.callspec.params["program"] for i in request.session.items if "program" in getattr(i, "callspec", _None).params
    }
    wanted = [(p, r) for p in programs() if p in used or p.name == "vecadd" for r in ("static", "shared")]
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(
                lambda p: [compiler.compile(s, "-c", *p.flags) for s in p.sources], dict.fromkeys(p for p, _ in wanted)
            )
        )
        paths = pool.map(lambda w: compiler.link(*w), wanted)
        return {(p.name, r): path for (p, r), path in zip(wanted, paths, strict=True)}


class _None:
    params: dict[str, object] = {}


class Runner:
    """Runs programs with caches of its own."""

    def __init__(self, installation: Installation, folder: Path) -> None:
        self.installation = installation
        self.folder = folder
        self.cache = folder / "cache"
        (folder / "empty").mkdir(mode=0o700)
        (folder / "runtime").mkdir(mode=0o700)

    def environment(self, *, cold: bool, cache: Path | None = None) -> dict[str, str]:
        """Cold: with a translation service. Warm: no service is running, and none can be started."""
        settings = {"FATLOAD_CACHE_DIR": str(cache or self.cache), "FATLOAD_SERVE_IDLE": "60"}
        if cold:
            settings |= {"XDG_RUNTIME_DIR": str(self.folder / "runtime")}
        else:
            settings |= {"XDG_RUNTIME_DIR": str(self.folder / "empty"), "FATLOAD_PYTHON": "/bin/false"}
        return clean_environment() | settings

    def run(
        self, executable: Path, how: str, *arguments: str, cold: bool = False, cache: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """`how`: through ``fatload run`` (run), or plainly after the lines of ``fatload env`` (preload)."""
        environment = self.environment(cold=cold, cache=cache)
        command = [str(executable), *arguments]
        if how == "run":
            command = [str(self.installation.launcher), "run", *command]
        else:
            environment = environment | {k: v for k, v in self.installation.lines().items() if k not in environment}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, env=environment, check=False, errors="replace"
        )

    def stop(self) -> None:
        """Stops the services that were started for the caches of this session."""
        for cache in [self.cache, *self.folder.glob("cold-*")]:
            environment = self.environment(cold=True, cache=cache)
            stop = [str(self.installation.launcher), "serve", "--stop"]
            subprocess.run(stop, env=environment, capture_output=True, check=False, timeout=60)


@pytest.fixture(scope="session")
def runner(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> object:
    runner = Runner(installation, tmp_path_factory.mktemp("programs"))
    yield runner
    runner.stop()
