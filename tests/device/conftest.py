"""Builds the harness around the client and the CPU device, and offers kernels written in LLVM IR."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .support import Harness, Kernels

ROOT = Path(__file__).resolve().parents[2]


def compiler() -> str:
    """The C++ compiler, which building fatload needs, too."""
    program = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if program is None:
        pytest.fail("no C++ compiler was found")
    return program


def _sources() -> list[Path]:
    return sorted((ROOT / "interpose" / "client").glob("*.cpp")) + sorted(
        (ROOT / "interpose" / "device" / "cpu").glob("*.cpp")
    )


def _build(folder: Path) -> Path:
    """Compiles what changed; the objects stay in the user's temporary folder between runs."""
    program = compiler()
    folder.mkdir(parents=True, exist_ok=True)
    headers = [p.read_bytes() for p in sorted((ROOT / "interpose").rglob("*.h"))]
    base = hashlib.blake2b(b"".join(headers), digest_size=8).hexdigest()
    flags = ["-std=c++20", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", "-pthread"]
    flags += [f"-I{ROOT / 'interpose'}", *os.environ.get("FATLOAD_TEST_CXXFLAGS", "").split()]
    running: list[tuple[subprocess.Popen[bytes], Path]] = []
    objects: list[Path] = []
    for source in [*_sources(), Path(__file__).with_name("harness.cpp")]:
        text = source.read_bytes() + " ".join([program, *flags]).encode() + base.encode()
        target = folder / f"{source.stem}-{hashlib.blake2b(text, digest_size=8).hexdigest()}.o"
        objects.append(target)
        if target.exists():
            continue
        if len(running) >= 2:
            _finish(*running.pop(0))
        partial = target.with_suffix(f".{os.getpid()}")
        command = [program, *flags, "-c", str(source), "-o", str(partial)]
        running.append((subprocess.Popen(command), target))
    while running:
        _finish(*running.pop(0))
    names = hashlib.blake2b("".join(map(str, objects)).encode(), digest_size=8).hexdigest()
    library = folder / f"harness-{names}.so"
    if not library.exists():
        partial = folder / f"harness-{names}.{os.getpid()}"
        extra = os.environ.get("FATLOAD_TEST_CXXFLAGS", "").split()
        subprocess.run([program, *extra, "-shared", "-pthread", "-o", partial, *objects, "-ldl"], check=True)
        partial.rename(library)
    return library


def _finish(process: subprocess.Popen[bytes], target: Path) -> None:
    assert process.wait() == 0, f"compiling {target.stem} failed"
    target.with_suffix(f".{os.getpid()}").rename(target)


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    folder = Path(os.environ.get("FATLOAD_TEST_BUILD", f"/tmp/fatload-tests-{os.getuid()}"))
    return ctypes.CDLL(str(_build(folder)))


@pytest.fixture
def harness(library: ctypes.CDLL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """A device of its own with an empty cache and no Python to start."""
    monkeypatch.setenv("FATLOAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("FATLOAD_PYTHON", "/bin/false")
    monkeypatch.setenv("FATLOAD_CODEGEN_VERSION", "test")
    return Harness(library, tmp_path / "cache")


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    return Kernels()
