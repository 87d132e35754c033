"""One libcuda.so.1 for all tests of this folder, loaded into pytest's own process; a context for each test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import Installation, private_environment

from .api import INVALID_CONTEXT, Driver, Out
from .child import Child


@pytest.fixture(scope="package")
def libcuda(installation: Installation) -> Path:
    """The library under test."""
    return Path(os.environ.get("FATLOAD_TEST_LIBCUDA", installation.native / "libcuda.so.1"))


@pytest.fixture(scope="package")
def environment(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A cache and a service of this folder's own, in this process's environment too, from which the library takes them."""
    private = private_environment(tmp_path_factory.mktemp("driver"))
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(private)
    try:
        yield private
    finally:
        os.environ.clear()
        os.environ.update(before)
        subprocess.run([installation.launcher, "serve", "--stop"], env=private, check=False, timeout=60)


@pytest.fixture(scope="package")
def driver(libcuda: Path, environment: dict[str, str]) -> Driver:
    """The library, initialised; no context is current."""
    driver = Driver(str(libcuda))
    driver.ok("cuInit", 0)
    return driver


@pytest.fixture
def bare(driver: Driver) -> Iterator[Driver]:
    """The library without a current context, before the test and after it."""
    yield driver
    out = Out()
    while driver.call("cuCtxPopCurrent_v2", out) != INVALID_CONTEXT:
        pass


@pytest.fixture
def cuda(bare: Driver) -> Iterator[Driver]:
    """The library with a fresh context."""
    context = bare.get("cuCtxCreate_v2", 0, 0)
    yield bare
    bare.ok("cuCtxDestroy_v2", context)


@pytest.fixture(scope="package")
def child(libcuda: Path, environment: dict[str, str]) -> Child:
    """Runs code in a process of its own, where the library is not initialised yet."""
    return Child(libcuda, environment)
