"""``fatload run`` is the program: its status, arguments, streams and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support import Installation, clean_environment

from .conftest import Fatload, Samples, one_line


def test_missing(fatload: Fatload, tmp_path: Path) -> None:
    one_line(fatload("run", tmp_path / "none"), 127, "none: not found")
    one_line(fatload("run", "no-such-program-anywhere"), 127, "no-such-program-anywhere: not found")
    one_line(fatload("run", ""), 127, "not found")


def test_no_program(fatload: Fatload, samples: Samples, tmp_path: Path) -> None:
    """A folder, a file without permission, objects and PTX, and binary files that someone made executable."""
    one_line(fatload("run", tmp_path), 126, "cannot be executed")
    one_line(fatload("run", samples.ptx), 126, "cannot be executed")
    for sample in (samples.cubin, samples.fatbin, samples.hsaco, samples.archive):
        copy = tmp_path / sample.name
        copy.write_bytes(sample.read_bytes())
        copy.chmod(0o755)
        one_line(fatload("run", copy), 126, "Exec format error")


@pytest.mark.parametrize("status", [0, 1, 3, 126, 127, 255])
def test_status_is_the_programs(status: int, fatload: Fatload) -> None:
    done = fatload("run", "sh", "-c", f"exit {status}")
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


def test_arguments_pass_through(fatload: Fatload) -> None:
    """Empty ones, blanks, quotes, line ends, what looks like options of ours, bytes that are no UTF-8."""
    words = ["", "a b", "'\"$HOME`id`", "line\nend", "--device", "hip", "--", "-h", "--help", "\udcff\udc80", "ä"]
    for before in ([], ["--"], ["--device", "cpu"], ["--device=auto", "--"]):
        done = fatload("run", *before, "printf", "%s\\0", *words)
        assert done.returncode == 0, done.stderr
        assert (
            os.fsencode(done.stdout)
            == os.fsencode("".join(f"{w}\0" for w in words)).decode("utf-8", "replace").encode()
        )


def test_streams_pass_through(installation: Installation, settings: dict[str, str]) -> None:
    """Standard input arrives byte by byte, output and errors stay apart, and further descriptors are inherited."""
    given = os.urandom(100_000)
    inside, outside = os.pipe()
    script = "cat; echo error >&2; echo third >&" + str(outside)
    done = subprocess.run(
        [installation.launcher, "run", "bash", "-c", script],
        input=given,
        capture_output=True,
        env=clean_environment() | settings,
        pass_fds=[outside],
        check=False,
    )
    os.close(outside)
    with os.fdopen(inside, "rb") as third:
        assert third.read() == b"third\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, given, b"error\n")


def test_name_and_folder_are_the_programs(fatload: Fatload, tmp_path: Path) -> None:
    """The program sees itself called as it was named, and its folder is where the command was given."""
    script = tmp_path / "own"
    script.write_text('#!/bin/sh\necho "$0 $PWD"\n')
    script.chmod(0o755)
    done = fatload("run", "./own", cwd=tmp_path)
    assert done.stdout == f"./own {tmp_path}\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_killed_by_a_signal(number: signal.Signals, fatload: Fatload) -> None:
    """The caller sees the signal itself, as it would without us."""
    if number == signal.SIGINT:  # ignored in whatever a script starts in the background, and that is inherited
        signal.signal(number, signal.default_int_handler)
    assert fatload("run", "sh", "-c", f"kill -{int(number)} $$").returncode == -number


def test_signals_reach_the_program(installation: Installation, settings: dict[str, str], tmp_path: Path) -> None:
    """There is no process between: what the command's number gets, the program gets."""
    ready = tmp_path / "ready"
    script = f"trap 'echo caught; exit 5' USR1; : > '{ready}'; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        [installation.launcher, "run", "sh", "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment() | settings,
    )
    deadline = time.monotonic() + 20
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGUSR1)
    output, _ = process.communicate(timeout=20)
    assert (process.returncode, output) == (5, "caught\n")


def test_a_cuda_program(fatload: Fatload, vecadd: Path) -> None:
    """Its own arguments, output and status; the examples answer 2 to wrong arguments."""
    done = fatload("run", vecadd, "1000")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "vecadd: ok" in done.stdout
    piped = fatload("run", "sh", "-c", f"'{vecadd}' 1000 | cat; exit 9")
    assert (piped.returncode, piped.stdout) == (9, done.stdout)


def test_device_by_variable(fatload: Fatload) -> None:
    """The option wins over the variable; a device that does not exist is named."""
    show = ("run", "sh", "-c", "echo $FATLOAD_DEVICE")
    assert fatload(*show, environment={"FATLOAD_DEVICE": "cpu"}).stdout == "cpu\n"
    done = fatload("run", "--device", "auto", *show[1:], environment={"FATLOAD_DEVICE": "cpu"})
    assert done.stdout == "auto\n"
    one_line(fatload(*show, environment={"FATLOAD_DEVICE": "tpu"}), 2, "unknown device 'tpu'")
