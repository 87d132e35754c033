"""Whatever a file holds: an answer or this package's own error, in bounded time and memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fatload.cli.inspect import describe
from fatload.elf import FatbinError, choose, cubin, modules
from fatload.elf.files import of_bytes
from fatload.link import bundle
from fatload.link.linker import LinkError
from fatload.link.metadata import kernels, symbols
from fatload.link.msgpack import MsgpackError, unpack
from tests.amdgcn.code_object import CodeObject
from tests.support import Installation

from .conftest import FIXED, Forms
from .hostile import costly, mutants

ROOT = Path(__file__).parents[2]
COUNTS = {
    "fatbin": 600,
    "cubin": 600,
    "object": 300,
    "relocatable": 300,
    "archive": 300,
    "relocated": 40,
    "library": 40,
}


def exercise(data: bytes) -> bool:
    """Everything that is read of a file; whether it was sound all through. Only FatbinError counts as an answer."""
    try:
        found = list(of_bytes(data))
    except FatbinError:
        return False
    sound = True
    for image in (i for c in found for i in c.images):
        try:
            raw = b"" if image.kind == "lto" else image.raw()
            if image.kind == "sass":
                cubin.read(raw)
        except FatbinError:
            sound = False
    modules(found, 89)
    choose([i for c in found for i in c.images], 89)
    return sound


@pytest.mark.parametrize("form", COUNTS)
def test_damaged_files(form: str, forms: Forms) -> None:
    """Of the copies some are told to be damaged, and some are not (damage in code does not matter to a reader)."""
    data = getattr(forms, form).read_bytes()
    assert exercise(data)
    sound = sum(exercise(m) for m in mutants(data, zlib.crc32(form.encode()), COUNTS[form]))
    assert 0 < sound < COUNTS[form]


@pytest.mark.parametrize("form", ["fatbin", "cubin", "object", "ptx"])
def test_inspect_of_damaged_files(form: str, forms: Forms) -> None:
    """The command's report, PTX included, or ValueError, which it shows in one line."""
    for m in mutants(getattr(forms, form).read_bytes(), 1, 100):
        try:
            report = describe(m)
        except ValueError as e:
            assert str(e)
            continue
        assert isinstance(report["images"], list)


@pytest.mark.parametrize("form", ["fatbin", "cubin", "object", "archive"])
def test_every_cut(form: str, forms: Forms) -> None:
    """A file that ends anywhere is not sound, but where nothing is missing: behind a member of an archive, or in the
    program headers that end a cubin."""
    data = getattr(forms, form).read_bytes()
    whole = {8} if form == "archive" else set()
    while form == "archive" and max(whole) < len(data):
        size = int(data[max(whole) + 48 : max(whole) + 58])
        whole.add(max(whole) + 60 + size + size % 2)
        whole.add(max(whole) - size % 2)
    last = len(data) - 8
    if form == "cubin":
        last = int.from_bytes(data[40:48], "little") + 64 * int.from_bytes(data[60:62], "little")
    for end in [*range(min(len(data), 700)), *range(700, last, 97), *whole]:
        assert exercise(data[:end]) == (end in whole), end


MAGICS = [b"\x50\xed\x55\xba\x01\x00\x10\x00", b"\x7fELF\x02\x01\x01", b"!<arch>\n", b".version 8.3\n", b""]


@FIXED
@given(st.sampled_from(MAGICS), st.binary(max_size=400))
def test_anything_behind_a_magic_number(magic: bytes, rest: bytes) -> None:
    exercise(magic + rest)


@FIXED
@given(st.binary(max_size=200))
def test_message_pack(data: bytes) -> None:
    """The reader of AMD metadata: a value, or its own error."""
    try:
        unpack(data)
    except MsgpackError as e:
        assert str(e)


@pytest.mark.parametrize(
    "data", [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff\x01", b"\x91" * 100000, b"\x81\x90\x01"]
)
def test_message_pack_that_claims_much(data: bytes) -> None:
    with pytest.raises(MsgpackError):
        unpack(data)


@pytest.fixture(scope="module")
def code(forms: Forms, installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A code object, and a bundle of two."""
    folder = tmp_path_factory.mktemp("code")
    for name, arch in (("object", "gfx1100"), ("bundle", "gfx90a,gfx1100")):
        done = installation.call("translate", forms.ptx, "--arch", arch, "-o", folder / name)
        assert done.returncode == 0, done.stderr
    return {name: (folder / name).read_bytes() for name in ("object", "bundle")}


def test_damaged_code_objects(code: dict[str, bytes]) -> None:
    names = set(CodeObject(code["object"]).symbols)
    assert symbols(code["object"]) == names and kernels(code["object"])
    sound = 0
    for m in mutants(code["object"], 2, 500):
        try:
            assert all(isinstance(k.kernarg_bytes, int) for k in kernels(m).values())
            sound += symbols(m) == names
        except LinkError as e:
            assert str(e)
    assert 0 < sound < 500


def test_damaged_bundles(code: dict[str, bytes]) -> None:
    assert len(bundle.read(code["bundle"])) == 2
    for m in mutants(code["bundle"], 3, 500):
        try:
            bundle.read(m)
        except LinkError as e:
            assert str(e)
        try:
            describe(m)
        except ValueError as e:
            assert str(e)


COSTLY = costly()
LIMITED = """
    import resource, sys, time
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    from fatload.cli.inspect import describe
    data = sys.stdin.buffer.read()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        errors = [i["error"] for i in describe(data)["images"] if "error" in i]
        print("report", errors[:1])
    except ValueError as e:
        print("refused", e)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(int(used.ru_maxrss - before), used.ru_utime)
"""


@pytest.mark.parametrize("what", COSTLY)
def test_costly_files(what: str) -> None:
    """A few MiB of file may cost a few times their size and some seconds, not gigabytes or hours."""
    data = COSTLY[what]
    assert len(data) < 10 << 20
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIMITED)],
        input=data, capture_output=True, env={"PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.returncode}: {done.stderr.decode()[-1000:]}"
    answer, _, measured = done.stdout.decode().strip().rpartition("\n")
    kibibytes, seconds = measured.split()
    assert answer.startswith(("refused ", "report [")), answer
    assert int(kibibytes) < 150_000, f"{answer}: {kibibytes} KiB"
    assert float(seconds) < 8, f"{answer}: {seconds} s"
