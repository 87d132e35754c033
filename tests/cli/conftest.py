"""Files of every kind that the commands take, made by NVIDIA's compiler, and the command itself with a cache of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compiler import EXAMPLES, Compiler, Program
from tests.support import Installation, private_environment

SCAN, VECADD = EXAMPLES / "scan.cu", EXAMPLES / "vecadd.cu"
GENCODE = ("-gencode=arch=compute_75,code=[sm_75,compute_75]", "-gencode=arch=compute_90,code=compute_90")


@dataclass(frozen=True)
class Samples:
    """The example `scan` (kernels scan_blocks and add_offsets) in all its forms; the archive and the library hold
    `vecadd`, too. All are for sm_75, the fatbin has PTX for compute_90 besides."""

    executable: Path
    object: Path
    library: Path
    archive: Path
    fatbin: Path
    cubin: Path
    ptx: Path
    bundle: Path
    hsaco: Path


Fatload = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def settings(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Variables for a cache and a service of these tests; the service ends with them."""
    folder = tmp_path_factory.mktemp("cli")
    environment = private_environment(folder)
    chosen = {k: environment[k] for k in ("FATLOAD_CACHE_DIR", "XDG_RUNTIME_DIR", "FATLOAD_SERVE_IDLE")}
    yield chosen
    installation.call("serve", "--stop", environment=chosen)


@pytest.fixture
def fatload(installation: Installation, settings: dict[str, str]) -> Fatload:
    """Runs the command: fatload("inspect", path, environment=…, cwd=…, given=…)."""

    def call(
        *arguments: str | Path, environment: dict[str, str] | None = None, **options: object
    ) -> subprocess.CompletedProcess[str]:
        return installation.call(*arguments, environment=settings | (environment or {}), **options)

    return call


@pytest.fixture(scope="session")
def samples(
    compiler: Compiler,
    installation: Installation,
    settings: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Samples:
    """All forms; what nvcc makes is kept between runs."""
    arch = "-arch=sm_75"
    scan = compiler.compile(SCAN, "-c", arch, "-Xcompiler=-fPIC")
    vecadd = compiler.compile(VECADD, "-c", arch, "-Xcompiler=-fPIC", "-Dmain=another_main")
    ptx = compiler.compile(SCAN, "-ptx", arch, suffix=".ptx")
    folder = tmp_path_factory.mktemp("amd")
    for name, arches in (("scan.bundle", "gfx90a,gfx1100"), ("scan.hsaco", "gfx1100")):
        done = installation.call("translate", ptx, "--arch", arches, "-o", folder / name, environment=settings)
        assert done.returncode == 0, done.stderr
    return Samples(
        executable=compiler.link_objects("scan-cli", [scan], arch),
        object=scan,
        library=compiler.link_objects("libscan", [scan, vecadd], "-shared", arch, suffix=".so"),
        archive=compiler.link_objects("scan-archive", [scan, vecadd], "-lib", suffix=".a"),
        fatbin=compiler.compile(SCAN, "-fatbin", *GENCODE, suffix=".fatbin"),
        cubin=compiler.compile(SCAN, "-cubin", arch, suffix=".cubin"),
        ptx=ptx,
        bundle=folder / "scan.bundle",
        hsaco=folder / "scan.hsaco",
    )


@pytest.fixture(scope="session")
def vecadd(compiler: Compiler) -> Path:
    """The example `vecadd`, ready to run."""
    return compiler.link(Program("vecadd", (VECADD,)), "static")


def one_line(done: subprocess.CompletedProcess[str], code: int, says: str) -> None:
    """The command failed with this status, one line on stderr, and nothing else."""
    assert (done.returncode, done.stdout) == (code, ""), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.stderr.startswith("fatload: ") and done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr


def misused(done: subprocess.CompletedProcess[str], says: str) -> None:
    """The command was called wrongly: status 2 and a reason, no traceback."""
    assert done.returncode == 2, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    assert says in done.stderr and "Traceback" not in done.stderr, done.stderr
