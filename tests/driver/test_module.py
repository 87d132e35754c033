"""Modules: what can be loaded, kernels and variables by name, the JIT log, unloading."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

from .api import (
    FILE_NOT_FOUND,
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_PTX,
    INVALID_VALUE,
    NOT_FOUND,
    UNSUPPORTED_PTX_VERSION,
    Driver,
    Out,
)
from .kernels import HEAD, KERNELS, OTHER, SYNTAX_ERROR

INFO_LOG, INFO_SIZE, ERROR_LOG, ERROR_SIZE = 3, 4, 5, 6


def load(cuda: Driver, ptx: str | bytes | None) -> int:
    """The code of loading this."""
    data = ptx.encode() if isinstance(ptx, str) else ptx
    return cuda.call("cuModuleLoadData", Out(), None if data is None else data + b"\0")


@pytest.mark.parametrize(
    ("what", "ptx", "code"),
    [
        ("null", None, INVALID_VALUE),
        ("empty", "", INVALID_IMAGE),
        ("nonsense", "this is no program", INVALID_IMAGE),
        ("blanks", "  \n\t ", INVALID_IMAGE),
        ("syntax error", SYNTAX_ERROR, INVALID_PTX),
        ("later version", HEAD.replace("7.5", "99.0") + ".visible .entry k() { ret; }", UNSUPPORTED_PTX_VERSION),
        ("unfinished kernel", HEAD + ".visible .entry k() { ret;", INVALID_PTX),
        ("undefined register", HEAD + ".visible .entry k() { add.u32 %r1, %r2, %r3; ret; }", INVALID_PTX),
        ("wrong type", HEAD + ".visible .entry k() { .reg .f32 %f; add.u32 %f, %f, 1; ret; }", INVALID_PTX),
        ("undefined label", HEAD + ".visible .entry k() { bra nowhere; }", INVALID_PTX),
        ("two of a name", HEAD + ".visible .entry k() { ret; }\n.visible .entry k() { ret; }", INVALID_PTX),
        ("no target", ".version 7.5\n.address_size 64\n.visible .entry k() { ret; }", INVALID_PTX),
        ("undefined function", HEAD + ".extern .func f();\n.visible .entry k() { call f; ret; }", INVALID_PTX),
    ],
    ids=lambda x: x if isinstance(x, str) and len(x) < 25 else "",
)
def test_what_cannot_be_loaded(cuda: Driver, what: str, ptx: str | None, code: int) -> None:
    assert load(cuda, ptx) == code, what


def test_what_can(cuda: Driver) -> None:
    for ptx in (OTHER, "// a comment\n/* another\n one */ " + OTHER, OTHER.replace("\n", "\r\n"), HEAD):
        module = cuda.load(ptx)
        cuda.ok("cuModuleUnload", module)
    assert cuda.call("cuModuleLoadData", None, OTHER.encode() + b"\0") == INVALID_VALUE


def test_the_text_may_go_away(cuda: Driver) -> None:
    """Kernels are translated later, from bytes of the library's own."""
    # A kernel that no other test has left in the cache.
    text = ctypes.create_string_buffer(KERNELS.replace("iota", "gone").encode())
    module = cuda.get("cuModuleLoadData", text)
    ctypes.memset(text, 0, len(text))
    out = cuda.alloc(64)
    assert cuda.launch(cuda.function(module, "gone"), 1, 16, ctypes.c_uint64(out), ctypes.c_uint32(16)) == 0
    assert struct.unpack("<16I", cuda.read(out, 64)) == tuple(range(16))


class Log:
    """Options that ask for the JIT log."""

    def __init__(self, size: int = 1000) -> None:
        self.info, self.error = (ctypes.create_string_buffer(b"-" * size, size) for _ in range(2))
        self.options = (ctypes.c_int * 4)(INFO_LOG, INFO_SIZE, ERROR_LOG, ERROR_SIZE)
        self.values = (ctypes.c_uint64 * 4)(
            ctypes.addressof(self.info), size, ctypes.addressof(self.error), size
        )  # fmt: skip

    def load(self, cuda: Driver, ptx: str) -> int:
        """Loads PTX with these options."""
        return cuda.call("cuModuleLoadDataEx", Out(), ptx.encode() + b"\0", 4, self.options, self.values)


def test_the_log_tells_the_line(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    log = Log()
    assert log.load(cuda, SYNTAX_ERROR) == INVALID_PTX
    text = log.error.value.decode()
    assert "line 7" in text and "bogus" in text
    assert len(text) <= log.values[3] <= len(text) + 1
    assert capfd.readouterr().err == "", "who asks for the log prints it himself"


def test_without_a_log_the_line_is_printed(cuda: Driver, capfd: pytest.CaptureFixture[str]) -> None:
    """Programs that look at the code alone leave their users without a word."""
    assert load(cuda, SYNTAX_ERROR) == INVALID_PTX
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "line 7" in said and "bogus" in said


@pytest.mark.parametrize("size", [1, 2, 10])
def test_a_small_log(cuda: Driver, size: int) -> None:
    log = Log(1000)
    log.values[3] = size
    assert log.load(cuda, SYNTAX_ERROR) == INVALID_PTX
    assert log.error.raw[size - 1] == 0
    assert log.error.raw[size:] == b"-" * (1000 - size)


def test_no_log(cuda: Driver) -> None:
    log = Log()
    assert log.load(cuda, OTHER) == 0
    assert log.values[3] in (0, 1)
    assert cuda.call("cuModuleLoadDataEx", Out(), OTHER.encode() + b"\0", 4, None, None) == INVALID_VALUE
    # Other options: registers, optimisation, debugging, line numbers, verbosity.
    options, values = (ctypes.c_int * 5)(0, 7, 11, 13, 12), (ctypes.c_uint64 * 5)(32, 4, 0, 1, 1)
    assert cuda.call("cuModuleLoadDataEx", Out(), OTHER.encode() + b"\0", 5, options, values) == 0


def test_kernels_by_name(cuda: Driver) -> None:
    module = cuda.load(KERNELS)
    first = cuda.function(module, "iota")
    assert cuda.function(module, "iota") == first
    assert cuda.function(module, "count") != first
    for name in ("nowhere", "counter", "table", "", "iot", "iotaa"):
        assert cuda.call("cuModuleGetFunction", Out(), module, name.encode()) == NOT_FOUND, name
    assert cuda.call("cuModuleGetFunction", None, module, b"iota") == INVALID_VALUE
    assert cuda.call("cuModuleGetFunction", Out(), module, None) == INVALID_VALUE
    assert cuda.call("cuModuleGetFunction", Out(), 0, b"iota") == INVALID_HANDLE
    assert cuda.get("cuModuleGetFunctionCount", module) == 7
    functions = (ctypes.c_uint64 * 7)()
    cuda.ok("cuModuleEnumerateFunctions", functions, 7, module)
    assert len(set(functions)) == 7
    assert first in functions
    names = set()
    for f in functions:
        name = ctypes.c_char_p()
        cuda.ok("cuFuncGetName", ctypes.byref(name), f)
        names.add(name.value)
    assert names == {b"iota", b"count", b"parameters", b"shape", b"last_shared_word", b"bounded", b"required"}


def test_a_long_name(cuda: Driver) -> None:
    name = "_Z" + "very_long_" * 500
    module = cuda.load(HEAD + f".visible .entry {name}() {{ ret; }}\n")
    assert cuda.launch(cuda.function(module, name), 1, 1) == 0
    cuda.synchronize()


def test_variables(cuda: Driver) -> None:
    module, twin = cuda.load(KERNELS), cuda.load(KERNELS)
    address, size = Out(), Out()
    cuda.ok("cuModuleGetGlobal_v2", address, size, module, b"counter")
    assert size.value == 8
    assert cuda.read(address.value, 8) == struct.pack("<Q", 42)
    for launches in range(1, 3):
        assert cuda.launch(cuda.function(module, "count"), 2, 32) == 0
        assert cuda.read(address.value, 8) == struct.pack("<Q", 42 + 64 * launches)
    other = Out()
    cuda.ok("cuModuleGetGlobal_v2", other, None, twin, b"counter")
    assert cuda.read(other.value, 8) == struct.pack("<Q", 42), "two modules of the same text share nothing"
    cuda.ok("cuModuleGetGlobal_v2", None, size, module, b"table")
    assert size.value == 16
    cuda.ok("cuModuleGetGlobal_v2", address, size, module, b"table")
    assert struct.unpack("<4I", cuda.read(address.value, 16)) == (1, 2, 3, 4)
    assert cuda.call("cuModuleGetGlobal_v2", address, size, module, b"nowhere") == NOT_FOUND
    assert cuda.call("cuModuleGetGlobal_v2", address, size, module, b"iota") == INVALID_VALUE
    assert cuda.call("cuModuleGetGlobal_v2", address, size, module, None) == INVALID_VALUE
    assert cuda.call("cuMemFree_v2", other.value) == INVALID_VALUE
    assert cuda.call("cuMemcpyHtoD_v2", other.value, b"x" * 4096, 4096) == INVALID_VALUE


def test_unloading(cuda: Driver) -> None:
    module = cuda.load(KERNELS)
    variable = Out()
    cuda.ok("cuModuleGetGlobal_v2", variable, None, module, b"counter")
    cuda.ok("cuModuleUnload", module)
    assert cuda.call("cuMemcpyDtoH_v2", Out(), variable.value, 8) == INVALID_VALUE


def test_running_kernels_end_before_their_module_goes(cuda: Driver) -> None:
    module = cuda.load(KERNELS)
    out = cuda.alloc(4 << 20)
    for _ in range(5):
        assert (
            cuda.launch(cuda.function(module, "iota"), 4096, 256, ctypes.c_uint64(out), ctypes.c_uint32(1 << 20)) == 0
        )
    cuda.ok("cuModuleUnload", module)
    assert cuda.read(out + (4 << 20) - 4, 4) == struct.pack("<I", (1 << 20) - 1)


def test_files(cuda: Driver, tmp_path: Path) -> None:
    path = tmp_path / "module.ptx"
    path.write_text(OTHER)
    module = cuda.get("cuModuleLoad", str(path).encode())
    assert cuda.launch(cuda.function(module, "other"), 1, 1) == 0
    cuda.ok("cuModuleUnload", module)
    assert cuda.call("cuModuleLoad", Out(), b"/no/such/file.ptx") == FILE_NOT_FOUND
    assert cuda.call("cuModuleLoad", Out(), None) == INVALID_VALUE
    path.write_text("nonsense")
    assert cuda.call("cuModuleLoad", Out(), str(path).encode()) == INVALID_IMAGE
    path.write_text(SYNTAX_ERROR)
    assert cuda.call("cuModuleLoad", Out(), str(path).encode()) == INVALID_PTX
    path.write_text("")
    assert cuda.call("cuModuleLoad", Out(), str(path).encode()) == INVALID_IMAGE
