"""The native `fatload`: what `run` sets and says, how it finds its installation, what it hands over to Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT, compiler

ENVIRONMENT = ("LD_PRELOAD", "LD_LIBRARY_PATH", "FATLOAD_DEVICE")
PRINT = 'echo "$LD_PRELOAD|$LD_LIBRARY_PATH|$FATLOAD_DEVICE"'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The launcher, and a library to preload that tells nothing."""
    folder = tmp_path_factory.mktemp("built")
    sources = [*(ROOT / "interpose/launcher").glob("*.cpp"), ROOT / "interpose/client/python.cpp"]
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'interpose'}"]
    subprocess.run([compiler(), *flags, *sources, "-o", folder / "fatload", "-ldl"], check=True)
    (folder / "empty.c").write_text("int fatload_empty;\n")
    library = folder / "libcuda.so.1"
    subprocess.run([compiler(), "-x", "c", "-shared", "-fPIC", folder / "empty.c", "-o", library], check=True)
    return folder


def install(built: Path, prefix: Path, packages: str = "lib/python3.11/site-packages") -> Path:
    native = prefix / packages / "fatload/native"
    native.mkdir(parents=True)
    shutil.copy(built / "libcuda.so.1", native)
    (prefix / "bin").mkdir(exist_ok=True)
    shutil.copy(built / "fatload", prefix / "bin")
    return native


@pytest.fixture
def prefix(built: Path, tmp_path: Path) -> Path:
    install(built, tmp_path / "venv")
    return tmp_path / "venv"


def run(
    *command: str | Path, environment: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("FATLOAD_", "LD_"))}
    return subprocess.run(
        command, check=False, capture_output=True, text=True, env=clean | (environment or {}), cwd=cwd, timeout=30
    )


def test_run_sets_the_environment(prefix: Path) -> None:
    native = prefix / "lib/python3.11/site-packages/fatload/native"
    result = run(prefix / "bin/fatload", "run", "sh", "-c", PRINT)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"{native}/libcuda.so.1|{native}|auto\n"
    present = {"LD_PRELOAD": "", "LD_LIBRARY_PATH": f"/a:{native}:/b"}
    result = run(prefix / "bin/fatload", "run", "--device=cpu", "--", "sh", "-c", PRINT, environment=present)
    assert result.stdout == f"{native}/libcuda.so.1|{native}:/a:/b|cpu\n"


def test_other_preloads_stay(prefix: Path, built: Path) -> None:
    other = prefix / "libother.so"
    shutil.copy(built / "libcuda.so.1", other)
    result = run(prefix / "bin/fatload", "run", "sh", "-c", PRINT, environment={"LD_PRELOAD": str(other)})
    assert result.stdout.split("|")[0].endswith(f"/fatload/native/libcuda.so.1:{other}")


def test_arguments_and_status_are_the_programs(prefix: Path) -> None:
    result = run(
        prefix / "bin/fatload", "run", "--", "sh", "-c", 'printf "%s," "$@"; exit 42', "sh", "--device", "a b", ""
    )
    assert (result.returncode, result.stdout) == (42, "--device,a b,,")


def test_bad_programs_are_told_as_by_a_shell(prefix: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("hello\n")
    for program, status, says in (
        ("./none", 127, "./none: not found"),
        ("no-such-command-at-all", 127, "no-such-command-at-all: not found"),
        (str(plain), 126, f"{plain}: cannot be executed"),
        (str(tmp_path), 126, f"{tmp_path}: cannot be executed"),
    ):
        result = run(prefix / "bin/fatload", "run", program)
        assert (result.returncode, result.stderr) == (status, f"fatload: {says}\n")
    garbage = tmp_path / "garbage"
    for content in (b"\x7fELF" + bytes(100), b"echo \x01\x02\xff\n"):
        garbage.write_bytes(content)
        garbage.chmod(0o755)
        result = run(prefix / "bin/fatload", "run", str(garbage))
        assert (result.returncode, result.stderr) == (126, f"fatload: {garbage}: Exec format error\n")


def test_a_script_without_interpreter_line(prefix: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo $1\nexit 3\n")
    script.chmod(0o755)
    result = run(prefix / "bin/fatload", "run", str(script), "word")
    assert (result.returncode, result.stdout) == (3, "word\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--device", "hip", "true"], "'hip' (AMD GPUs) does not exist yet"),
        (["--device", "hip:1", "true"], "'hip' (AMD GPUs) does not exist yet"),
        (["--device", "cuda", "true"], "unknown device 'cuda'"),
        (["--device"], "--device needs a value"),
        (["--colour", "true"], "unknown option --colour"),
        ([], "no program given"),
        (["--"], "no program given"),
    ],
)
def test_bad_use(prefix: Path, arguments: list[str], says: str) -> None:
    result = run(prefix / "bin/fatload", "run", *arguments)
    assert result.returncode == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_help(prefix: Path) -> None:
    result = run(prefix / "bin/fatload", "run", "--help")
    assert result.returncode == 0
    assert "--device" in result.stdout and "FATLOAD_CACHE_DIR" in result.stdout


@pytest.mark.parametrize("packages", ["lib/python3.9/site-packages", "lib64/python3.12/site-packages",
                                      "local/lib/python3.11/dist-packages", "lib/python3/dist-packages"])  # fmt: skip
def test_layouts(built: Path, tmp_path: Path, packages: str) -> None:
    native = install(built, tmp_path / "prefix", packages)
    result = run(tmp_path / "prefix/bin/fatload", "run", "sh", "-c", PRINT)
    assert result.stdout.startswith(f"{native}/libcuda.so.1|")


def test_links_the_path_and_a_relative_name(built: Path, prefix: Path, tmp_path: Path) -> None:
    native = prefix / "lib/python3.11/site-packages/fatload/native"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "fatload").symlink_to(prefix / "bin/fatload")
    results = [
        run(elsewhere / "fatload", "run", "sh", "-c", PRINT),
        run("bin/fatload", "run", "sh", "-c", PRINT, cwd=prefix),
        run("fatload", "run", "sh", "-c", PRINT, environment={"PATH": f"{prefix}/bin:{os.environ['PATH']}"}),
        run(built / "fatload", "run", "sh", "-c", PRINT, environment={"FATLOAD_HOME": str(native)}),
        run(built / "fatload", "run", "sh", "-c", PRINT, environment={"FATLOAD_HOME": str(prefix)}),
    ]
    for result in results:
        assert result.stdout.startswith(f"{native}/libcuda.so.1|"), result.stderr


def test_a_virtual_environment_whose_command_is_a_link(built: Path, prefix: Path, tmp_path: Path) -> None:
    """The environment's own packages win over those of the installation that the link leads to."""
    native = install(built, tmp_path / "other")
    command = tmp_path / "other/bin/fatload"
    command.unlink()
    command.symlink_to(prefix / "bin/fatload")
    result = run(command, "run", "sh", "-c", PRINT)
    assert result.stdout.startswith(f"{native}/libcuda.so.1|")


def test_a_folder_with_a_blank(built: Path, tmp_path: Path) -> None:
    native = install(built, tmp_path / "my programs")
    result = run(tmp_path / "my programs/bin/fatload", "run", "sh", "-c", PRINT)
    assert (result.stdout, result.stderr) == (f"libcuda.so.1|{native}|auto\n", "")


def test_without_the_library(built: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    shutil.copy(built / "fatload", tmp_path / "bin")
    result = run(tmp_path / "bin/fatload", "run", "true")
    assert result.returncode == 1
    assert "FATLOAD_HOME" in result.stderr


def test_everything_else_is_python(prefix: Path) -> None:
    python = prefix / "bin/python3"
    python.write_text('#!/bin/sh\necho "$0 $*"; exit 7\n')
    python.chmod(0o755)
    for arguments in ([], ["inspect", "a b"], ["--version"], ["env"]):
        result = run(prefix / "bin/fatload", *arguments)
        assert result.returncode == 7
        assert result.stdout == " ".join([str(python), "-m", "fatload", *arguments]) + "\n"
    result = run(prefix / "bin/fatload", "inspect", environment={"FATLOAD_PYTHON": "/no/python"})
    assert result.returncode == 127
    assert "cannot run /no/python" in result.stderr
