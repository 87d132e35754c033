"""What tests of several folders need: the installed fatload, and environments of their own."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


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
