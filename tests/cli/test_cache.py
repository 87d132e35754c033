"""``fatload cache``: what it says agrees with the folder; what it removes is gone, and only that."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.support import Installation

from .conftest import Fatload, Samples, one_line

ADD_OFFSETS = "_Z11add_offsetsPiPKii"
Caches = tuple[Path, dict[str, str]]


@pytest.fixture(scope="module")
def template(installation: Installation, samples: Samples, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with one manifest, one file of images and two objects."""
    folder = tmp_path_factory.mktemp("template")
    command = ("translate", samples.ptx, "--arch", "x86-64-v3", "-k", ADD_OFFSETS)
    done = installation.call(*command, environment={"FATLOAD_CACHE_DIR": str(folder)})
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def filled(template: Path, tmp_path: Path) -> Caches:
    """A copy of the template, and the variables that lead there."""
    shutil.copytree(template, tmp_path / "cache")
    return tmp_path / "cache", {"FATLOAD_CACHE_DIR": str(tmp_path / "cache")}


def files(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_size for p in folder.rglob("*") if p.is_file()}


def test_info(fatload: Fatload, filled: Caches) -> None:
    folder, environment = filled
    there = files(folder)
    kinds = {k: [n for name, n in there.items() if name.endswith(k)] for k in ("manifest", "object", "images")}
    assert {k: len(v) for k, v in kinds.items()} == {"manifest": 1, "object": 2, "images": 1}
    report = json.loads(fatload("cache", "info", "--json", environment=environment).stdout)
    assert report == {
        "directory": str(folder),
        "bytes": sum(there.values()),
        "kinds": {k: {"files": len(v), "bytes": sum(v)} for k, v in kinds.items()},
    }
    done = fatload("cache", "info", environment=environment)
    assert done.returncode == 0
    assert f"directory  {folder}\n" in done.stdout
    assert re.search(r"^object +2 files, \d", done.stdout, re.MULTILINE)


def test_an_empty_cache(fatload: Fatload, tmp_path: Path) -> None:
    """No folder is no error, and none is made."""
    environment = {"FATLOAD_CACHE_DIR": str(tmp_path / "none")}
    for command in (["info"], ["list"], ["clear"], ["verify"], ["prune", "--size", "0"]):
        done = fatload("cache", *command, environment=environment)
        assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(fatload("cache", "list", "--json", environment=environment).stdout) == []
    assert not (tmp_path / "none").exists()


def test_list(fatload: Fatload, filled: Caches) -> None:
    _, environment = filled
    rows = json.loads(fatload("cache", "list", "--json", environment=environment).stdout)
    assert {(r["kernel"], r["target"], r["shape"]) for r in rows} == {
        (ADD_OFFSETS, "x86-64-v3", "row"),
        (ADD_OFFSETS, "x86-64-v3", "any"),
    }
    table = fatload("cache", "list", environment=environment).stdout
    assert table.count(f"│ {ADD_OFFSETS} ") == 2


def test_verify(fatload: Fatload, filled: Caches) -> None:
    folder, environment = filled
    done = fatload("cache", "verify", environment=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4 files are sound, 0 damaged\n", "")
    victim = next(folder.rglob("*.object"))
    data = bytearray(victim.read_bytes())
    data[-1] ^= 1
    victim.write_bytes(data)
    done = fatload("cache", "verify", environment=environment)
    assert (done.returncode, done.stdout) == (1, "3 files are sound, 1 damaged\n")
    assert done.stderr == f"damaged: {victim}\n"
    assert victim.exists()
    done = fatload("cache", "verify", "--remove", environment=environment)
    assert (done.returncode, done.stderr) == (1, f"damaged: {victim} (removed)\n")
    assert not victim.exists()
    assert fatload("cache", "verify", environment=environment).stdout == "3 files are sound, 0 damaged\n"


def test_prune(fatload: Fatload, filled: Caches) -> None:
    """What was used longest ago goes first, until the size is right; the variable is the option's default."""
    folder, environment = filled
    paths = sorted((p for p in folder.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    for age, path in enumerate(reversed(paths)):  # the smallest were used longest ago
        os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    sizes = [p.stat().st_size for p in paths]
    assert (
        fatload("cache", "prune", "--size", str(sum(sizes)), environment=environment).stdout == "removed 0 files, 0 B\n"
    )
    done = fatload("cache", "prune", "--size", str(sum(sizes) - 1), environment=environment)
    assert done.stdout.startswith("removed 1 files, ")
    assert files(folder).keys() == {p.name for p in paths[1:]}
    done = fatload("cache", "prune", environment=environment | {"FATLOAD_CACHE_SIZE": f"{sizes[-1]}B"})
    assert done.stdout.startswith("removed 2 files, ")
    assert files(folder).keys() == {paths[-1].name}
    done = fatload("cache", "prune", environment=environment | {"FATLOAD_CACHE_SIZE": "lots"})
    one_line(done, 2, "'lots' is not a size such as 500M or 2G")


def test_clear(fatload: Fatload, filled: Caches) -> None:
    """Everything of ours goes; what others put there stays."""
    folder, environment = filled
    stranger = folder / "v1" / "notes.txt"
    stranger.write_text("mine\n")
    done = fatload("cache", "clear", environment=environment)
    assert (done.returncode, done.stdout) == (0, "removed 4 files\n")
    assert files(folder).keys() == {"notes.txt"}
