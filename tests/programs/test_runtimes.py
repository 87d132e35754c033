"""Old and new versions of NVIDIA's runtime library, from PyPI: each asks the driver for other things in another order."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.compiler import EXAMPLES, Compiler
from tests.support import build_folder

from .conftest import HERE, Runner
from .test_programs import check

RUNTIMES = {
    "11.8": "nvidia-cuda-runtime-cu11==11.8.*",
    "12.1": "nvidia-cuda-runtime-cu12==12.1.*",
    "12.9": "nvidia-cuda-runtime-cu12==12.9.*",
    "13": "nvidia-cuda-runtime>=13.0,<14",
}
"""The package by version."""


def runtime_library(requirement: str) -> Path:
    """libcudart.so.N of a package of PyPI, downloaded once."""
    folder = build_folder() / "runtimes" / "".join(c if c.isalnum() else "_" for c in requirement)
    if not list(folder.glob("libcudart.so.*")):
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as content:
            (name,) = (n for n in content.namelist() if "/libcudart.so." in n)
            (folder / Path(name).name).write_bytes(content.read(name))
    (library,) = folder.glob("libcudart.so.*")
    return library


@pytest.mark.parametrize("version", RUNTIMES)
def test_runtime(version: str, compiler: Compiler, runner: Runner) -> None:
    """Vector add and a reduction, by `fatload run` and by preloading."""
    library = runtime_library(RUNTIMES[version])
    legacy = [compiler.compile(HERE / "legacy_launch.cpp")] if version == "11.8" else []
    for name in ("vecadd", "reduction"):
        built = compiler.compile(EXAMPLES / f"{name}.cu")
        where = ["-cudart=none", f"-L{library.parent}", f"-l:{library.name}", "-Xlinker", f"-rpath={library.parent}"]
        executable = compiler.link_objects(f"{name}-{version}", [built, *legacy], *where)
        check(runner.run(executable, "run", cold=True), name)
        check(runner.run(executable, "preload"), name)
