"""Fixtures of all tests."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support import Installation


@pytest.fixture(scope="session")
def installation() -> Installation:
    """The fatload of this interpreter's environment, else of the PATH."""
    from fatload.cli.env import library_directory

    beside = Path(sys.executable).parent / "fatload"
    found = str(beside) if beside.exists() else shutil.which("fatload")
    if found is None:
        pytest.fail("fatload is not installed: pip install '.[dev]'")
    return Installation(Path(found), library_directory())
