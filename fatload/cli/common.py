"""What commands share: errors, output."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from rich.console import Console

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def fail(message: str, code: int = 1) -> NoReturn:
    """Ends the command with one line on stderr."""
    click.echo(f"fatload: {printable(message)}", err=True)
    sys.exit(code)


def printable(text: str) -> str:
    """Text whose control characters are shown as escapes: names in files may be anything."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def console() -> Console:
    """Where tables go. Brackets in names are no markup; what is not a terminal has room for whole names."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 10_000
    return Console(markup=False, emoji=False, highlight=False, width=width)


def print_json(value: Any) -> None:
    """Writes a value for machines."""
    click.echo(json.dumps(value, indent=2))


def size(count: int) -> str:
    """Bytes for people."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError
