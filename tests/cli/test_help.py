"""Every command explains itself, and wrong calls are told from failures."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support import Installation, clean_environment

from .conftest import Fatload, misused

OPTIONS = {
    "run": ("--device", "FATLOAD_CACHE_DIR", "FATLOAD_CPU_THREADS", "126", "127"),
    "translate": ("--arch", "--output", "-o", "--dump", "--kernel", "-k", "--jobs", "-j", "Exit status"),
    "inspect": ("--json", "Exit status"),
    "env": ("--format", "--device", "fish", "docker", "slurm"),
    "cache": ("info", "list", "clear", "verify", "prune"),
    "cache info": ("--json",),
    "cache list": ("--json",),
    "cache clear": (),
    "cache verify": ("--remove", "Exit status"),
    "cache prune": ("--size",),
    "serve": ("--jobs", "--idle", "--stop"),
    "nvcc": ("ARGUMENTS", "CUDA_HOME"),
}


@pytest.mark.parametrize("command", OPTIONS)
def test_help(command: str, fatload: Fatload) -> None:
    done = fatload(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: fatload {command} ")
    for option in OPTIONS[command]:
        assert option in done.stdout, option
    assert fatload(*command.split(), "-h").stdout == done.stdout


def test_overview(fatload: Fatload) -> None:
    done = fatload("--help")
    assert done.returncode == 0
    for command in OPTIONS:
        if " " not in command:
            assert f"\n  {command} " in done.stdout, command


def test_version(fatload: Fatload) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    done = fatload("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"fatload, version {project['version']}\n"


def test_python_module_hands_over(installation: Installation) -> None:
    """``python -m fatload run`` becomes the native program."""
    python = os.environ.get("FATLOAD_PYTHON", sys.executable)
    environment = clean_environment()
    environment["PATH"] = f"{installation.launcher.parent}:{environment['PATH']}"
    command = [python, "-m", "fatload", "run", "sh", "-c", 'echo "$LD_PRELOAD"; exit 3']
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == f"{installation.native}/libcuda.so.1\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("bogus", "No such command 'bogus'"),
        ("--bogus", "No such option"),
        ("inspect", "Missing argument 'FILE'"),
        ("inspect a b", "unexpected extra argument"),
        ("inspect --xml a", "No such option"),
        ("translate a.ptx", "Missing option '--arch'"),
        ("translate --arch cpu", "Missing argument 'FILE"),
        ("translate a.ptx --arch cpu --jobs 0", "0 is not in the range"),
        ("translate a.ptx --arch gfx1100", "needs --output"),
        ("translate a.ptx --arch gfx1", "gfx1"),
        ("translate a.ptx --arch gfx90a:wave32 -o x", "64-lane waves only"),
        ("translate a.ptx --arch sm_90 -o x", "'sm_90' is no target"),
        ("translate a.ptx b.ptx --arch gfx1100 -o x", "--output takes one FILE"),
        ("translate a.ptx --arch gfx1100,gfx1100:wave64 -o x", "gfx1100 and gfx1100:wave64"),
        ("env --format csh", "'csh' is not one of"),
        ("env --device hip", "'hip' is not one of"),
        ("cache", "Usage: fatload cache"),
        ("cache bogus", "No such command"),
        ("cache prune", "Missing option '--size'"),
        ("cache prune --size huge", "'huge' is not a size"),
        ("cache prune --size -1", "'-1' is not a size"),
        ("serve --jobs none", "'none' is not a valid integer"),
        ("serve --idle -1", "-1.0 is not in the range"),
        ("run", "no program given"),
        ("run --device hip true", "does not exist yet"),
        ("run --colour true", "unknown option --colour"),
    ],
)
def test_wrong_calls(arguments: str, says: str, fatload: Fatload) -> None:
    misused(fatload(*arguments.split()), says)
