"""Parts of tests that need a process of their own: before cuInit, after a fault, to see what is printed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROLOGUE = """\
import ctypes, sys, threading
from tests.driver.api import *
from tests.driver.kernels import *
cuda = Driver(sys.argv[1])
"""


@dataclass(frozen=True)
class Child:
    """Python processes with the library as `cuda`."""

    libcuda: Path
    environment: dict[str, str]

    def run(self, code: str, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs code behind PROLOGUE; `arguments` are sys.argv[2:]. It must end by itself, with status 0."""
        command = [sys.executable, "-c", PROLOGUE + textwrap.dedent(code), str(self.libcuda), *arguments]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env=self.environment,
            cwd=ROOT,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done
