"""fatload cache."""

from __future__ import annotations

import datetime
import sys
from typing import Any

import click

from fatload.cache.store import Store, parse_size
from fatload.cli.common import SETTINGS, console, fail, print_json, printable, size


@click.group(context_settings=SETTINGS)
def cache() -> None:
    """Look after the cache of translated code.

    The cache lies in FATLOAD_CACHE_DIR, else in fatload's folder of the user's caches. Its files are named by what they are made from,
    so that removing them costs time and nothing else.
    """


@cache.command(context_settings=SETTINGS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def info(as_json: bool) -> None:
    """Show where the cache is, how large, and what it holds."""
    store = Store()
    counts: dict[str, list[int]] = {"manifest": [0, 0], "object": [0, 0], "images": [0, 0]}
    for e in store.entries():
        counts[e.kind][0] += 1
        counts[e.kind][1] += e.bytes
    total = sum(b for _, b in counts.values())
    if as_json:
        print_json(
            {
                "directory": str(store.directory),
                "bytes": total,
                "kinds": {k: {"files": n, "bytes": b} for k, (n, b) in counts.items()},
            }
        )
        return
    click.echo(f"directory  {store.directory}")
    click.echo(f"size       {size(total)}")
    for kind, (n, b) in counts.items():
        click.echo(f"{kind:<10} {n} files, {size(b)}")


@cache.command(name="list", context_settings=SETTINGS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def list_(as_json: bool) -> None:
    """List the kernels in the cache with their targets."""
    store = Store()
    rows: list[dict[str, Any]] = []
    for e in store.entries():
        if e.kind != "object":
            continue
        found = store.read(e.id, "object")
        if found is None:
            continue
        lines = {line.split("\t")[0]: line.split("\t")[1:] for line in found[0].splitlines()}
        rows.append(
            {
                "kernel": lines["kernel"][0],
                "target": lines["object"][0],
                "shape": lines["object"][1],
                "bytes": e.bytes,
                "used": e.used,
                "id": e.id,
            }
        )
    if as_json:
        print_json(rows)
        return
    from rich.table import Table

    table = Table("kernel", "target", "shape", "size", "last used")
    for r in rows:
        used = datetime.datetime.fromtimestamp(r["used"]).strftime("%Y-%m-%d %H:%M")
        table.add_row(printable(r["kernel"]), r["target"], r["shape"], size(r["bytes"]), used)
    console().print(table)


@cache.command(context_settings=SETTINGS)
def clear() -> None:
    """Remove everything from the cache."""
    click.echo(f"removed {Store().clear()} files")


@cache.command(context_settings=SETTINGS)
@click.option("--remove", is_flag=True, help="Remove damaged files.")
def verify(remove: bool) -> None:
    """Check every file's digest. Exit status 1 if one is damaged."""
    good, bad = Store().verify(remove)
    for e in bad:
        click.echo(f"damaged: {e.path}{' (removed)' if remove else ''}", err=True)
    click.echo(f"{good} files are sound, {len(bad)} damaged")
    sys.exit(1 if bad else 0)


@cache.command(context_settings=SETTINGS)
@click.option(
    "--size",
    "limit",
    metavar="SIZE",
    envvar="FATLOAD_CACHE_SIZE",
    required=True,
    help="Keep at most this much, e.g. 500M or 2G.",
)
def prune(limit: str) -> None:
    """Remove the files used longest ago until the cache is small enough."""
    try:
        files, freed = Store().prune(parse_size(limit))
    except ValueError as e:
        fail(str(e), 2)
    click.echo(f"removed {files} files, {size(freed)}")
