"""Compiles the CUDA programs of examples/ and of this folder, and runs them on the CPU device.

Programs are compiled once, by content, into $FATLOAD_TEST_BUILD (default /tmp/fatload-tests-UID) /programs.
"""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.compiler import EXAMPLES, Compiler, Program
from tests.support import Installation, clean_environment

HERE = Path(__file__).resolve().parent


OWN_FLAGS = {"per_thread_stream": ("-default-stream=per-thread",), "divergence": ("-arch=sm_80",)}


def programs() -> list[Program]:
    """All programs: one a source, but `units_*.cu`, which make one."""
    found = [Program(s.stem, (s,)) for s in sorted(EXAMPLES.glob("*.cu")) if not s.stem.endswith("_kernel")]
    own = sorted(HERE.glob("*.cu"))
    for s in own:
        if s.stem.startswith("units_"):
            continue
        found.append(Program(s.stem, (s,), OWN_FLAGS.get(s.stem, ())))
    found.append(Program("units", tuple(s for s in own if s.stem.startswith("units_"))))
    return found


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
