"""abi.h and abi.py describe the same: offsets, the runtime table, numbers, and the symbols that objects may name."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

from fatload.codegen.cpu import abi

from .conftest import ROOT, compiler
from .support import Harness, compile_ir

SIZES = {"ptr": 8, "i64": 8, "i32": 4}
COMPONENTS = {"x": "[0]", "y": "[1]", "z": "[2]"}


def field(name: str) -> str:
    base, _, component = name.partition(".")
    return base + COMPONENTS.get(component, "")


def test_layouts(tmp_path: Path) -> None:
    lines = [
        f'  std::printf("{n} %zu %zu\\n", offsetof(Warp, {field(n)}), sizeof(Warp::{n.partition(".")[0]}));'
        for n in abi.WARP
    ]
    lines += [f'  std::printf("runtime.{n} %zu 8\\n", offsetof(RuntimeTable, {n}));' for n in abi.RUNTIME]
    lines += ['  std::printf("table %zu 0\\n", sizeof(RuntimeTable));']
    text = '#include <cstdio>\n#include "device/cpu/abi.h"\nusing namespace fatload::cpu;\nint main() {\n'
    source = tmp_path / "offsets.cpp"
    source.write_text(text + "\n".join(lines) + "\n}\n")
    command = [
        compiler(),
        "-std=c++20",
        "-Wno-invalid-offsetof",
        f"-I{ROOT / 'interpose'}",
        source,
        "-o",
        tmp_path / "offsets",
    ]
    subprocess.run(command, check=True)
    output = subprocess.run([tmp_path / "offsets"], check=True, capture_output=True, text=True).stdout
    found = {name: (int(offset), int(size)) for name, offset, size in (line.split() for line in output.splitlines())}
    for name, (offset, type_) in abi.WARP.items():
        elements = 3 if "." in name else 1
        assert found[name] == (offset, SIZES[type_] * elements), name
    for name, (offset, _) in abi.RUNTIME.items():
        assert found[f"runtime.{name}"][0] == offset, name
    assert found["table"][0] == 8 * len(abi.RUNTIME)


def test_numbers() -> None:
    header = (ROOT / "interpose/device/cpu/abi.h").read_text()
    traps = {int(value) for value in re.findall(r"kTrap\w+ = (\d+)", header)}
    assert traps == set(abi.TRAP_REASONS.values())
    for name, number in abi.BARRIER_OPERATIONS.items():
        assert re.search(rf"{number}\s+(//\s+)?(red\.)?{name}", header), name


def test_outside_symbols(harness: Harness) -> None:
    """The loader resolves what the code generator lets pass."""
    for name in sorted(abi.OUTSIDE_SYMBOLS):
        code = compile_ir(f"declare void @{name}()\ndefine void @f() {{ call void @{name}() ret void }}")
        error = ctypes.create_string_buffer(500)
        handle = harness.lib.t_load_object(code, ctypes.c_size_t(len(code)), b"f", error, ctypes.c_size_t(500))
        assert handle, error.value
        harness.lib.t_unload_object(ctypes.c_void_p(handle))
