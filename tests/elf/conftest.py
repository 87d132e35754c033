"""Settings of generated tests, and the example `scan` in the forms that nvcc makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.compiler import EXAMPLES, Compiler

SCAN, VECADD = EXAMPLES / "scan.cu", EXAMPLES / "vecadd.cu"
BOTH = "-gencode=arch=compute_75,code=[sm_75,compute_75]"
FIXED = settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Generated tests are the same in every run."""


@dataclass(frozen=True)
class Forms:
    """`scan` as …; the archive and the library hold `vecadd`, too; the relocatable ones are compiled with -rdc=true,
    and linked from both."""

    object: Path
    executable: Path
    library: Path
    archive: Path
    fatbin: Path
    cubin: Path
    ptx: Path
    relocatable: Path
    relocated: Path


@pytest.fixture(scope="session")
def forms(compiler: Compiler) -> Forms:
    """All forms, kept between runs."""
    flags = ("-c", BOTH, "-Xcompiler=-fPIC")
    scan = compiler.compile(SCAN, *flags)
    vecadd = compiler.compile(VECADD, *flags, "-Dmain=another_main")
    apart = [compiler.compile(SCAN, *flags, "-rdc=true"), compiler.compile(VECADD, *flags, "-rdc=true", "-Dmain=other")]
    return Forms(
        object=scan,
        executable=compiler.link_objects("scan-both", [scan], BOTH),
        library=compiler.link_objects("libscan", [scan, vecadd], "-shared", BOTH, suffix=".so"),
        archive=compiler.link_objects("scan-archive", [scan, vecadd], "-lib", suffix=".a"),
        fatbin=compiler.compile(SCAN, "-fatbin", BOTH, suffix=".fatbin"),
        cubin=compiler.compile(SCAN, "-cubin", "-arch=sm_75", suffix=".cubin"),
        ptx=compiler.compile(SCAN, "-ptx", "-arch=sm_75", suffix=".ptx"),
        relocatable=apart[0],
        relocated=compiler.link_objects("scan-relocated", apart, BOTH),
    )
