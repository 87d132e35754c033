"""What tests of several folders need: the installed fatload, and environments of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest


def clean_environment() -> dict[str, str]:
    """The environment without settings of fatload and of the dynamic loader.

    FATLOAD_HOME and FATLOAD_PYTHON stay: they say which installation is tested.
    """
    kept = ("FATLOAD_HOME", "FATLOAD_PYTHON")
    return {k: v for k, v in os.environ.items() if k in kept or not k.startswith(("FATLOAD_", "LD_"))}


def private_environment(folder: Path) -> dict[str, str]:
    """An environment with a cache and a translation service in `folder`, which the caller stops (``fatload serve --stop``)."""
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    settings = {"FATLOAD_CACHE_DIR": str(folder / "cache"), "XDG_RUNTIME_DIR": str(runtime), "FATLOAD_SERVE_IDLE": "60"}
    return clean_environment() | settings


def build_folder() -> Path:
    """Where tests keep what they compile, by content: $FATLOAD_TEST_BUILD, else a folder of the user's under /tmp."""
    return Path(os.environ.get("FATLOAD_TEST_BUILD", f"/tmp/fatload-tests-{os.getuid()}"))


@dataclass(frozen=True)
class Installation:
    """The installed fatload: its launcher, and its folder with libcuda.so.1."""

    launcher: Path
    native: Path

    def lines(self) -> dict[str, str]:
        """The variables that ``fatload env`` prints."""
        clean = clean_environment()
        printed = subprocess.run([self.launcher, "env"], check=True, capture_output=True, text=True, env=clean).stdout
        shell = ["sh", "-c", f"{printed}\nenv -0"]
        after = subprocess.run(shell, check=True, capture_output=True, text=True, env=clean).stdout
        pairs = dict(v.split("=", 1) for v in after.split("\0") if "=" in v)
        return {k: v for k, v in pairs.items() if clean.get(k) != v and k not in ("_", "PWD", "SHLVL")}

    def call(
        self,
        *arguments: str | Path,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        given: str = "",
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Runs the launcher with these arguments, in the clean environment plus `environment`; `given` is its standard input."""
        return subprocess.run(
            [str(self.launcher), *map(str, arguments)],
            capture_output=True,
            text=True,
            errors="replace",
            input=given,
            timeout=timeout,
            env=clean_environment() | dict(environment or {}),
            cwd=cwd,
            check=False,
        )


def find_installation() -> Installation:
    """The fatload of this interpreter's environment, else of the PATH."""
    beside = Path(sys.executable).parent / "fatload"
    found = str(beside) if beside.exists() else shutil.which("fatload")
    if found is None:
        pytest.fail("fatload is not installed: pip install '.[dev]'")
    # What it puts in front of the loader's path is where its library lies.
    command = [found, "run", "printenv", "LD_LIBRARY_PATH"]
    done = subprocess.run(command, capture_output=True, text=True, env=clean_environment(), check=False)
    assert done.returncode == 0, done.stderr
    return Installation(Path(found), Path(done.stdout.strip().split(":")[0]))
