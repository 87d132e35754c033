"""fatload nvcc."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

import click

from fatload.cli.common import SETTINGS, fail


def find_nvcc() -> tuple[str, list[str]] | None:
    """NVIDIA's compiler and the arguments it needs: that of the PATH or of CUDA_HOME, else of the wheels (nvidia-cuda-nvcc …)."""
    for found in (shutil.which("nvcc"), _in(os.environ.get("CUDA_HOME")), _in("/usr/local/cuda")):
        if found:
            return found, []
    for packages in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *sys.path)):
        for root in sorted(Path(packages).glob("nvidia/cu1[3-9]"), reverse=True) if packages else []:
            compiler = root / "bin" / "nvcc"
            if compiler.exists():
                return str(compiler), [f"-L{_libraries(root)}", f"-L{root / 'lib'}"]
    return None


def _in(home: str | None) -> str | None:
    path = Path(home) / "bin" / "nvcc" if home else None
    return str(path) if path is not None and os.access(path, os.X_OK) else None


def _libraries(root: Path) -> Path:
    """A folder with the libcudart.so that the wheels lack."""
    import platformdirs

    folder = Path(platformdirs.user_cache_dir("fatload", appauthor=False)) / "nvcc-lib"
    folder.mkdir(parents=True, exist_ok=True)
    for library in (root / "lib").glob("libcudart.so.*"):
        link = folder / "libcudart.so"
        if not link.is_symlink() or os.readlink(link) != str(library):
            link.unlink(missing_ok=True)
            link.symlink_to(library)
    return folder


@click.command(context_settings={**SETTINGS, "ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def nvcc(arguments: tuple[str, ...]) -> None:
    """Compile CUDA source with NVIDIA's compiler; ARGUMENTS go to nvcc as they are.

    The compiler is that of the PATH, of CUDA_HOME, of /usr/local/cuda, or of NVIDIA's wheels, which the `dev` extra installs. A host
    C++ compiler is needed. nvcc puts PTX into programs unless it is told not to; fatload needs it.

    \b
    fatload nvcc vecadd.cu -o vecadd && fatload run ./vecadd
    """
    found = find_nvcc()
    if found is None:
        fail(
            "nvcc was not found: install CUDA, or pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime",
            127,
        )
    program, extra = found
    try:
        os.execv(program, [program, *extra, *arguments])
    except OSError as e:
        fail(f"{program}: {e.strerror}", 126)
