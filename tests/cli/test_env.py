"""``fatload env``: lines that shells and Docker take, whatever the folders are called."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import Installation, clean_environment

from .conftest import Fatload

AWKWARD = "/tmp/a b'c\"d$HOME`id`\\e"


def evaluated(shell: str, lines: str, before: dict[str, str]) -> dict[str, str]:
    """The variables that a shell has after the lines. LD_PRELOAD is renamed, so that it does not apply to the shell."""
    lines = lines.replace("LD_PRELOAD", "X_PRELOAD").replace("LD_LIBRARY_PATH", "X_LIBRARY_PATH")
    command = {"fish": [shell, "--no-config", "-c"]}.get(Path(shell).name, [shell, "-euc"])
    environment = clean_environment() | {k.replace("LD_", "X_"): v for k, v in before.items()}
    done = subprocess.run([*command, f"{lines}\nenv -0"], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    pairs = dict(v.split("=", 1) for v in done.stdout.split("\0") if "=" in v)
    return {k.replace("X_", "LD_"): v for k, v in pairs.items()}


SHELLS = [(s, f) for s, f in (("sh", "sh"), ("bash", "sh"), ("zsh", "sh"), ("fish", "fish")) if shutil.which(s)]


@pytest.mark.parametrize(("shell", "form"), [*SHELLS, ("bash", "slurm")])
@pytest.mark.parametrize("cache", ["/tmp/plain", AWKWARD])
def test_shells(shell: str, form: str, cache: str, fatload: Fatload, installation: Installation) -> None:
    """In a shell that stops at unset variables; what was preloaded before stays behind ours."""
    native = installation.native
    lines = fatload("env", "--format", form, environment={"FATLOAD_CACHE_DIR": cache}).stdout
    got = evaluated(shell, lines, {})
    assert got["FATLOAD_DEVICE"] == "auto"
    assert got["FATLOAD_CACHE_DIR"] == cache
    assert (got["LD_LIBRARY_PATH"], got["LD_PRELOAD"]) == (str(native), f"{native}/libcuda.so.1")
    got = evaluated(shell, lines, {"LD_PRELOAD": "/x/liba.so:/x/libb.so", "LD_LIBRARY_PATH": "/x y:/z"})
    assert got["LD_PRELOAD"] == f"{native}/libcuda.so.1:/x/liba.so:/x/libb.so"
    assert got["LD_LIBRARY_PATH"] == f"{native}:/x y:/z"


def docker_words(line: str) -> tuple[str, str]:
    """NAME=VALUE of an ENV line by Docker's rules: quotes, backslashes; variables must not occur unescaped."""
    instruction, _, rest = line.partition(" ")
    name, _, value = rest.partition("=")
    assert instruction == "ENV" and re.fullmatch(r"[A-Z_]+", name)
    out, at, quoted = "", 0, False
    while at < len(value):
        c = value[at]
        if c == '"':
            quoted = not quoted
        elif c == "\\":
            at += 1
            assert not quoted or value[at] in '"\\$', "another escape stays as it is in double quotes"
            out += value[at]
        else:
            assert c != "$", "a variable would be put in"
            assert quoted or c not in " '", "an unquoted blank ends the value"
            out += c
        at += 1
    assert not quoted
    return name, out


@pytest.mark.parametrize("cache", ["/tmp/plain", AWKWARD])
def test_docker(cache: str, fatload: Fatload, installation: Installation) -> None:
    done = fatload("env", "--format", "docker", "--device", "cpu", environment={"FATLOAD_CACHE_DIR": cache})
    native = str(installation.native)
    assert dict(docker_words(line) for line in done.stdout.splitlines()) == {
        "FATLOAD_DEVICE": "cpu",
        "FATLOAD_CACHE_DIR": cache,
        "LD_LIBRARY_PATH": native,
        "LD_PRELOAD": f"{native}/libcuda.so.1",
    }


def test_fish_lines(fatload: Fatload, installation: Installation) -> None:
    """By fish's quoting rules: in single quotes a backslash escapes a backslash and a quote."""
    done = fatload("env", "--format", "fish", environment={"FATLOAD_CACHE_DIR": AWKWARD})
    values = {}
    for line in done.stdout.splitlines():
        m = re.fullmatch(r"set -gx ([A-Z_]+) '((?:[^'\\]|\\.)*)'(\(string replace -r -- .*\))?", line)
        assert m is not None, line
        values[m[1]] = re.sub(r"\\([\\'])", r"\1", m[2])
    assert values["FATLOAD_CACHE_DIR"] == AWKWARD
    assert values["LD_PRELOAD"] == f"{installation.native}/libcuda.so.1"


def test_a_program_runs_by_these_lines(
    fatload: Fatload, vecadd: Path, settings: dict[str, str], installation: Installation
) -> None:
    """What a user types: eval "$(fatload env)" && ./program."""
    script = f'eval "$("{installation.launcher}" env)" && exec "{vecadd}" 500'
    done = subprocess.run(
        ["sh", "-euc", script], capture_output=True, text=True, env=clean_environment() | settings, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "vecadd: ok" in done.stdout


def test_relative_cache_is_made_absolute(fatload: Fatload, tmp_path: Path) -> None:
    done = fatload("env", cwd=tmp_path, environment={"FATLOAD_CACHE_DIR": "some/where"})
    assert f"export FATLOAD_CACHE_DIR={tmp_path}/some/where\n" in done.stdout


def test_without_a_library(fatload: Fatload, tmp_path: Path) -> None:
    done = fatload("env", environment={"FATLOAD_HOME": str(tmp_path), "FATLOAD_PYTHON": ""})
    assert done.returncode == 1
    assert done.stderr.startswith("fatload: libcuda.so.1 is not in ") and done.stderr.count("\n") == 1
