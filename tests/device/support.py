"""Helpers of the device tests: cache files, kernels in LLVM IR, a Python face of the harness."""

from __future__ import annotations

import ctypes
import hashlib
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path

KINDS = {"manifest": 1, "object": 2, "images": 3}


def blake(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def cache_bytes(kind: str, text: str, payload: bytes) -> bytes:
    """A cache file as docs/architecture.md describes it."""
    raw = text.encode()
    head = b"FATLOAD\x01" + struct.pack("<IIQ", KINDS[kind], len(raw), len(payload))
    head += hashlib.blake2b(raw + payload, digest_size=32).digest() + bytes(8)
    return head + raw + bytes(-len(raw) % 64) + payload


def module_id(image: bytes, version: str = "test") -> str:
    text = b"fatload module 1\0" + version.encode() + b"\0" + struct.pack("<IIQ", 1, 75, len(image)) + image
    return blake(text)


def object_id(module: str, kernel: str, target: str, shape: str) -> str:
    return blake(b"fatload object 1\0" + b"".join(p.encode() + b"\0" for p in (module, kernel, target, shape, "")))


PROLOGUE = """
  %params = load ptr, ptr %w
  %shared.p = getelementptr i8, ptr %w, i64 8
  %shared = load ptr, ptr %shared.p
  %local.p = getelementptr i8, ptr %w, i64 16
  %local = load ptr, ptr %local.p
  %module.p = getelementptr i8, ptr %w, i64 24
  %module = load ptr, ptr %module.p
  %runtime.p = getelementptr i8, ptr %w, i64 32
  %runtime = load ptr, ptr %runtime.p
  %ctaid.p = getelementptr i8, ptr %w, i64 40
  %ctaid = load i32, ptr %ctaid.p
  %nctaid.p = getelementptr i8, ptr %w, i64 52
  %nctaid = load i32, ptr %nctaid.p
  %ntid.p = getelementptr i8, ptr %w, i64 64
  %ntid = load i32, ptr %ntid.p
  %warp.p = getelementptr i8, ptr %w, i64 76
  %warp = load i32, ptr %warp.p
  %nwarps.p = getelementptr i8, ptr %w, i64 80
  %nwarps = load i32, ptr %nwarps.p
  %active.p = getelementptr i8, ptr %w, i64 84
  %active = load i32, ptr %active.p
  %out = load ptr, ptr %params
  %barrier.f = load ptr, ptr %runtime
  %yield.p = getelementptr i8, ptr %runtime, i64 8
  %yield.f = load ptr, ptr %yield.p
  %trap.p = getelementptr i8, ptr %runtime, i64 16
  %trap.f = load ptr, ptr %trap.p
  %vprintf.p = getelementptr i8, ptr %runtime, i64 24
  %vprintf.f = load ptr, ptr %vprintf.p
  %assert.p = getelementptr i8, ptr %runtime, i64 32
  %assert.f = load ptr, ptr %assert.p
"""
"""Loads the fields of %w that kernels here use; %out is the first parameter, a pointer."""


def kernel_ir(body: str, outside: str = "") -> str:
    return f"{outside}\ndefine void @fatload_kernel(ptr %w) {{\nentry:\n{PROLOGUE}{body}\n}}\n"


@cache
def compile_ir(text: str) -> bytes:
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    triple = "x86_64-unknown-linux-gnu"
    machine = binding.Target.from_triple(triple).create_target_machine(
        cpu="x86-64-v3", opt=2, reloc="pic", codemodel="small"
    )
    module = binding.parse_assembly(f'target triple = "{triple}"\n{text}')
    module.verify()
    code: bytes = machine.emit_object(module)
    return code


class Kernels:
    """Kernels by name; `body` is IR after PROLOGUE."""

    def code(self, body: str, outside: str = "") -> bytes:
        return compile_ir(kernel_ir(body, outside))


class Harness:
    """One device of the harness library, with a cache folder that the tests fill."""

    def __init__(self, library: ctypes.CDLL, cache_folder: Path) -> None:
        self.lib = library
        self.cache = cache_folder
        lib = library
        for name in ("t_open", "t_queue", "t_marker", "t_read_cache", "t_parse_cache", "t_service", "t_data"):
            getattr(lib, name).restype = ctypes.c_void_p
        for name in ("t_load_object", "t_object_entry"):
            getattr(lib, name).restype = ctypes.c_void_p
        lib.t_cache_part.restype = ctypes.c_size_t
        lib.t_nanoseconds.restype = ctypes.c_uint64
        lib.t_time_launches.restype = ctypes.c_double
        self._device: int | None = None

    @property
    def device(self) -> ctypes.c_void_p:
        if self._device is None:
            self._device = self.lib.t_open()
        return ctypes.c_void_p(self._device)

    def text(self, function: str, *arguments: object) -> str:
        """Calls a function whose last two parameters are a buffer and its size."""
        room = 4096
        buffer = ctypes.create_string_buffer(room)
        getattr(self.lib, function)(*arguments, buffer, ctypes.c_size_t(room))
        return buffer.value.decode()

    # -- cache files

    def write(self, kind: str, identity: str, data: bytes) -> Path:
        path = self.cache / "v1" / identity[:2] / f"{identity}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def install(
        self,
        image: bytes,
        code: bytes,
        *,
        flags: str = "-",
        shared: int = 0,
        local: int = 0,
        param_bytes: int = 0,
        data: bytes = b"",
        data_bytes: int = 0,
        extra: str = "",
        target: str = "x86-64-v3",
        shapes: Sequence[str] = ("row", "any"),
        name: str = "k",
    ) -> str:
        """Puts a module with one kernel into the cache; answers the module id."""
        identity = module_id(image)
        manifest = (
            f"module\t83\t75\t{data_bytes}\t16\nchecked\n"
            f"kernel\t{name}\t{param_bytes}\t-\t{shared}\t{local}\t0\t0,0,0\n{extra}"
        )
        self.write("manifest", identity, cache_bytes("manifest", manifest, data))
        for shape in shapes:
            text = f"object\t{target}\t{shape}\nkernel\t{name}\tfatload_kernel\nresources\t{shared}\t{local}\t{flags}\n"
            self.write("object", object_id(identity, name, target, shape), cache_bytes("object", text, code))
        return identity

    # -- device

    def load(self, image: bytes, check: bool = False) -> tuple[int, ctypes.c_void_p, str]:
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(4096)
        result = self.lib.t_load(
            self.device, image, ctypes.c_size_t(len(image)), check, ctypes.byref(module), log, ctypes.c_size_t(4096)
        )
        return result, module, log.value.decode()

    def module(self, image: bytes, code: bytes, **options: object) -> ctypes.c_void_p:
        self.install(image, code, **options)  # type: ignore[arg-type]
        result, module, log = self.load(image)
        assert result == 0, log
        return module

    def queue(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.lib.t_queue(self.device))

    def marker(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.lib.t_marker(self.device))

    def launch(
        self,
        queue: ctypes.c_void_p,
        module: ctypes.c_void_p,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        params: bytes = b"",
        *,
        dynamic: int = 0,
        cooperative: bool = False,
    ) -> int:
        def three(shape: int | Sequence[int]) -> list[int]:
            values = [shape] if isinstance(shape, int) else list(shape)
            return values + [1] * (3 - len(values))

        shape = (ctypes.c_uint32 * 7)(*three(grid), *three(block), dynamic)
        return int(self.lib.t_launch(queue, module, 0, shape, int(cooperative), params, ctypes.c_size_t(len(params))))

    def synchronize(self, queue: ctypes.c_void_p) -> int:
        return int(self.lib.t_synchronize(queue))
