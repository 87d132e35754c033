"""fatload env."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from pathlib import Path

import click

from fatload.cache.key import native_directory
from fatload.cli.common import SETTINGS, fail


def library_directory() -> Path:
    """A folder with libcuda.so.1 and libcuda.so. Raises FileNotFoundError."""
    native = native_directory()
    library = native / "libcuda.so.1"
    if not library.exists():
        raise FileNotFoundError(f"libcuda.so.1 is not in {native}")
    link = native / "libcuda.so"
    if not link.exists():
        # Wheels hold no links. Where the installation cannot be written to, programs that ask for libcuda.so.1 work all the same.
        with contextlib.suppress(OSError):
            link.symlink_to("libcuda.so.1")
    return native


@click.command(context_settings=SETTINGS)
@click.option(
    "--format",
    "form",
    type=click.Choice(["sh", "fish", "docker", "slurm"]),
    default="sh",
    show_default=True,
    help="Whom the lines are for.",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu"]),
    default="auto",
    show_default=True,
    help="The device that programs get.",
)
def env(form: str, device: str) -> None:
    """Print what a shell, Dockerfile or job script needs so that any program runs under plain preloading.

    Afterwards CUDA programs need no `fatload run`: the dynamic loader gives them fatload's libcuda.so.1.

    \b
    eval "$(fatload env)" && ./cuda_app
    fatload env --format docker >> Dockerfile
    """
    try:
        native = str(library_directory())
    except FileNotFoundError as e:
        fail(f"{e}; is the package installed?")
    variables = {"FATLOAD_DEVICE": device}
    if os.environ.get("FATLOAD_CACHE_DIR"):
        variables["FATLOAD_CACHE_DIR"] = str(Path(os.environ["FATLOAD_CACHE_DIR"]).absolute())
    # The loader splits LD_PRELOAD at blanks, too; then the folder on the search path has to do.
    library = "libcuda.so.1" if re.search(r"\s", native) else f"{native}/libcuda.so.1"
    paths = {"LD_LIBRARY_PATH": native, "LD_PRELOAD": library}
    if form == "docker":
        for name, value in {**variables, **paths}.items():
            click.echo(f"ENV {name}={_docker(value)}")
        return
    if form == "fish":
        for name, value in variables.items():
            click.echo(f"set -gx {name} {_fish(value)}")
        for name, value in paths.items():
            click.echo(f"set -gx {name} {_fish(value)}(string replace -r -- '^(.)' ':$1' \"${name}\")")
        return
    if form == "slurm":
        click.echo("# for a job script; nodes without AVX2 cannot run the CPU device")
    for name, value in variables.items():
        click.echo(f"export {name}={shlex.quote(value)}")
    for name, value in paths.items():
        click.echo(f'export {name}={shlex.quote(value)}"${{{name}:+:${name}}}"')


def _fish(value: str) -> str:
    """A value quoted for fish, whose single quotes know two escapes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _docker(value: str) -> str:
    """A value for ENV, which expands variables in double quotes."""
    return value if re.fullmatch(r"[\w./:@%+,-]+", value) else '"' + re.sub(r'([\\"$])', r"\\\1", value) + '"'
