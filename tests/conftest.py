"""Fixtures of all tests."""

from __future__ import annotations

import pytest

from tests.compiler import Compiler
from tests.support import Installation, build_folder, find_installation


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    """NVIDIA's compiler."""
    return Compiler(build_folder() / "programs")


@pytest.fixture(scope="session")
def installation() -> Installation:
    """The fatload of this interpreter's environment, else of the PATH."""
    return find_installation()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files anew instead of comparing with them"
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written."""
    return bool(request.config.getoption("--update-golden"))
