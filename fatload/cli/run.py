"""fatload run: the native program's job; this hands over to it when it was called through Python."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from fatload.cli.common import fail


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(arguments: tuple[str, ...]) -> None:
    """Run a program with CUDA on this machine's CPU: fatload run [--device auto|cpu] [--] APP [ARGUMENT…]."""
    own = Path(sys.executable).parent / "fatload"
    program = str(own) if own.exists() else shutil.which("fatload")
    if not program:
        fail("the native fatload program is not on the PATH")
    os.execv(program, [program, "run", *arguments])
