"""fatload serve."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--jobs", "-j", type=click.IntRange(1), envvar="FATLOAD_JOBS", help="Worker processes. [default: CPUs]")
@click.option(
    "--idle",
    type=click.FloatRange(0),
    default=600.0,
    envvar="FATLOAD_SERVE_IDLE",
    show_default=True,
    help="Leave after so many idle seconds.",
)
@click.option("--stop", is_flag=True, help="Stop the service that is running for this cache.")
def serve(jobs: int | None, idle: float, stop: bool) -> None:
    """Run the translation service in the foreground.

    Programs start it themselves when they need code that is not in the cache; there is one for each user and cache directory.
    Run it by hand to see what it does, or to keep it warm.
    """
    from fatload.cache.store import default_directory
    from fatload.service.server import ServeError
    from fatload.service.server import serve as run

    cache: Path = default_directory()
    if stop:
        _stop(cache)
        return
    try:
        if not run(cache, jobs or len(os.sched_getaffinity(0)), idle):
            click.echo("fatload: the service is already running for this cache", err=True)
    except (ServeError, OSError) as e:
        click.echo(f"fatload: {e}", err=True)
        sys.exit(1)


def _stop(cache: Path) -> None:
    import socket

    from fatload.service import protocol

    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(protocol.socket_path(cache)))
            protocol.request(s, protocol.STOP, [])
    except (OSError, EOFError):
        click.echo("fatload: no service is running for this cache", err=True)
        sys.exit(1)
