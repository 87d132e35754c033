"""Links amdgcn relocatable objects into code objects (ET_DYN), as HIP loads them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

NAMES = (
    "ld.lld",
    "ld.lld-22",
    "ld.lld-21",
    "ld.lld-20",
    "ld.lld-19",
    "ld.lld-18",
    "ld.lld-17",
    "ld.lld-16",
    "ld.lld-15",
    "ld.lld-14",
)
ROCM = ("/opt/rocm/llvm/bin/ld.lld", "/opt/rocm/lib/llvm/bin/ld.lld")


class LinkError(Exception):
    """No linker, or what the linker said."""


@cache
def linker() -> tuple[str, ...]:
    """The command of an ELF linker that knows amdgcn: FATLOAD_LLD, ``ld.lld`` of the PATH or of ROCm, the ziglang wheel's.

    Raises LinkError.
    """
    named = os.environ.get("FATLOAD_LLD")
    if named:
        return (named,)
    for name in (*NAMES, *ROCM):
        found = shutil.which(name)
        if found:
            return (found,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "ld.lld")
    raise LinkError("no linker for amdgcn: install LLVM's lld (Debian: lld-19), ROCm, or pip install 'fatload[amd]'")


def link(relocatable: bytes) -> bytes:
    """A relocatable object as a code object. Raises LinkError."""
    with tempfile.TemporaryDirectory(prefix="fatload-link-") as folder:
        source, target = Path(folder, "in.o"), Path(folder, "out.hsaco")
        source.write_bytes(relocatable)
        command = [*linker(), "-shared", "--no-undefined", str(source), "-o", str(target)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise LinkError(f"{command[0]}: {e}") from None
        if done.returncode or not target.exists():
            raise LinkError(f"{' '.join(linker())}: {(done.stderr or done.stdout).strip()[:2000]}")
        return target.read_bytes()
