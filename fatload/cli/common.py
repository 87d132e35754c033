"""What commands share: errors, output."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

import click

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def fail(message: str, code: int = 1) -> NoReturn:
    """Ends the command with one line on stderr."""
    click.echo(f"fatload: {message}", err=True)
    sys.exit(code)


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
