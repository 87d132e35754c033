"""Runs kernels given as PTX text in this process, without the native parts.

The kernel is translated, loaded by LLVM's JIT and called once a warp. The warps of a CTA are threads; barriers,
yields and traps are callbacks. Meant for tests of the code generator.
"""

from __future__ import annotations

import ctypes as c
import io
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fatload.codegen.cpu.abi import ENTRY, RUNTIME, TRAP_REASONS, WARP
from fatload.codegen.cpu.object import target_machine
from fatload.codegen.stages import Translation
from fatload.ptx.manifest import parameters

Array = npt.NDArray[np.generic]
Argument = Array | bytes | int | float
Triple = int | tuple[int, ...]

_POINTER = {"ptr": c.c_void_p, "i32": c.c_uint32, "i64": c.c_uint64, "void": None}
WARP_BYTES = 144


class KernelTrap(Exception):
    """The kernel trapped: reason (abi.TRAP_REASONS), lanes, line of the PTX text."""


class Deadlock(Exception):
    """The warps wait for each other."""


def _fields(text: str) -> tuple[type | None, list[type]]:
    result, _, args = text.partition("(")
    kinds = [_POINTER[a.strip()] for a in args.rstrip(")").split(",")]
    return _POINTER[result.strip()], [k for k in kinds if k is not None]


@dataclass(slots=True)
class _Barrier:
    arrived: int = 0  # threads
    warps: set[int] = field(default_factory=set)  # that wait or have arrived
    inputs: list[bool] = field(default_factory=list)
    generation: int = 0
    answer: int = 0


class _Cta:
    """The barriers of one CTA; its warps are threads."""

    def __init__(self, warps: int, active: Sequence[int]) -> None:
        self.active = active
        self.running = set(range(warps))
        self.barriers = [_Barrier() for _ in range(16)]
        self.changed = threading.Condition()
        self.problem: Exception | None = None

    def barrier(self, warp: int, id_: int, threads: int, mask: int, operation: int, inputs: int) -> int:
        with self.changed:
            b = self.barriers[id_]
            b.arrived += 32 if threads else mask.bit_count()
            b.warps.add(warp)
            b.inputs += [bool(inputs >> lane & 1) for lane in range(32) if mask >> lane & 1]
            generation = b.generation
            self._complete(b, threads)
            if operation == 1:
                return 0
            if not self.changed.wait_for(lambda: b.generation != generation or self.problem is not None, 30):
                self.problem = self.problem or Deadlock(f"barrier {id_}: {b.arrived} threads came")
            if self.problem is not None:
                _park()
            return (0, 0, b.answer, b.answer >> 16 & 1, b.answer >> 17 & 1)[operation]

    def _complete(self, b: _Barrier, threads: int) -> None:
        whole = not threads and b.warps >= self.running
        if b.warps and (whole or (threads and b.arrived >= threads)):
            b.answer = sum(b.inputs) | all(b.inputs) << 16 | any(b.inputs) << 17
            b.generation += 1
            b.arrived, b.warps, b.inputs = 0, set(), []
            self.changed.notify_all()

    def finished(self, warp: int) -> None:
        with self.changed:
            self.running.discard(warp)
            for b in self.barriers:
                if b.warps and b.warps >= self.running:
                    self._complete(b, 0)

    def stop(self, problem: Exception) -> None:
        with self.changed:
            self.problem = self.problem or problem
            self.changed.notify_all()


def _park() -> None:
    """What must not return to translated code does not: the thread stays here."""
    threading.Event().wait()


class Runtime:
    """The runtime table, with Python functions in it."""

    def __init__(self, cta: _Cta) -> None:
        self.cta = cta
        self.keep: list[object] = []
        self.table = (c.c_void_p * (max(offset for offset, _ in RUNTIME.values()) // 8 + 1))()
        offered: dict[str, Callable[..., int | None]] = {
            "barrier": self._barrier,
            "yield": lambda _: time.sleep(0),
            "trap": self._trap,
            "globaltimer": lambda _: time.monotonic_ns(),
            "nanosleep": lambda _, n: time.sleep(min(n, 10**6) * 1e-9),
        }
        for name, (offset, signature) in RUNTIME.items():
            result, args = _fields(signature)
            function = c.CFUNCTYPE(result, *args)(offered.get(name) or self._refused(name))
            self.keep.append(function)
            self.table[offset // 8] = c.cast(function, c.c_void_p).value

    def _barrier(self, warp: int, id_: int, threads: int, mask: int, operation: int, inputs: int) -> int:
        return self.cta.barrier(_number(warp), id_, threads, mask, operation, inputs)

    def _trap(self, warp: int, mask: int, reason: int, line: int) -> None:
        name = {v: k for k, v in TRAP_REASONS.items()}[reason]
        self.cta.stop(KernelTrap(f"{name} in warp {_number(warp)}, lanes {mask:#x}, line {line}"))
        _park()

    def _refused(self, name: str) -> Callable[..., int | None]:
        def f(*_: int) -> int | None:
            self.cta.stop(NotImplementedError(f"the test runtime has no {name}"))
            _park()
            return None

        return f


def _number(warp: int) -> int:
    return c.c_uint32.from_address(warp + WARP["warp"][0]).value


class Program:
    """One kernel of a module, translated and loaded."""

    def __init__(self, text: str, kernel: str, level: int = 3, shape: str = "row") -> None:
        import llvmlite.binding as llvm

        t = Translation(text, kernel, f"x86-64-v{level}", shape)
        self.object: bytes = t.get("object")
        module, self.layout = t.get("ptx")
        assert t.unit is not None
        self.unit = t.unit
        self.places, self.parameter_bytes = parameters(module.functions[kernel])
        _resolve(self.object)
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(level))
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(self.object))
        self.engine.finalize_object()
        self.entry = c.CFUNCTYPE(None, c.c_void_p)(self.engine.get_function_address(ENTRY))
        self.data = _aligned(max(self.layout.size, 16))
        image = np.frombuffer(self.layout.image, np.uint8)
        self.data[: len(image)] = image
        for r in self.layout.relocations:
            value = r.addend + (self.data.ctypes.data if r.kind == "data" else 0)
            self.data[r.offset : r.offset + r.bytes] = np.frombuffer(struct.pack("<Q", value)[: r.bytes], np.uint8)

    def run(self, grid: Triple, block: Triple, arguments: Sequence[Argument], dynamic_shared: int = 0) -> None:
        """Runs the grid, one CTA after the other. Arrays are used in place; integers, floats and bytes are values."""
        params = self._parameters(arguments)
        nctaid, ntid = _three(grid), _three(block)
        for z in range(nctaid[2]):
            for y in range(nctaid[1]):
                for x in range(nctaid[0]):
                    self._cta((x, y, z), nctaid, ntid, params, dynamic_shared)

    def _parameters(self, arguments: Sequence[Argument]) -> Array:
        params = _aligned(max(self.parameter_bytes, 16))
        for (offset, size), a in zip(self.places, arguments, strict=True):
            if isinstance(a, np.ndarray):
                raw = struct.pack("<Q", a.ctypes.data)
            elif isinstance(a, bytes):
                raw = a
            elif isinstance(a, float):
                raw = struct.pack("<d" if size == 8 else "<f", a)
            else:
                raw = (int(a) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
            if len(raw) != size:
                raise ValueError(f"{len(raw)} bytes for a parameter of {size}")
            params[offset : offset + size] = np.frombuffer(raw, np.uint8)
        return params

    def _cta(
        self, ctaid: tuple[int, ...], nctaid: tuple[int, ...], ntid: tuple[int, ...], params: Array, dynamic: int
    ) -> None:
        threads = ntid[0] * ntid[1] * ntid[2]
        warps = -(-threads // 32)
        active = [(1 << min(32, threads - 32 * w)) - 1 for w in range(warps)]
        cta = _Cta(warps, active)
        runtime = Runtime(cta)
        shared = _aligned(self.unit.shared.size + dynamic + 64)
        stride = max(16, -(-self.unit.local_bytes // 16) * 16)
        local = _aligned(32 * stride * warps)
        states = []
        for w in range(warps):
            s = _aligned(WARP_BYTES)
            values: dict[str, int] = {
                "params": params.ctypes.data,
                "shared": shared.ctypes.data,
                "local": local.ctypes.data + 32 * stride * w,
                "module": self.data.ctypes.data,
                "runtime": c.addressof(runtime.table),
                "warp": w,
                "nwarps": warps,
                "active": active[w],
                "live": active[w],
                "local_stride": stride,
                "shared_bytes": self.unit.shared.size + dynamic,
                "dynamic_shared_bytes": dynamic,
                "gridid": 1,
                "nsmid": 1,
            }
            for d, axis in enumerate("xyz"):
                values |= {f"ctaid.{axis}": ctaid[d], f"nctaid.{axis}": nctaid[d], f"ntid.{axis}": ntid[d]}
            for name, value in values.items():
                offset, kind = WARP[name]
                code = "<I" if kind == "i32" else "<Q"
                s[offset : offset + struct.calcsize(code)] = np.frombuffer(struct.pack(code, value), np.uint8)
            states.append(s)
        self._warps(cta, states)

    def _warps(self, cta: _Cta, states: Sequence[Array]) -> None:
        def one(w: int) -> None:
            self.entry(states[w].ctypes.data)
            cta.finished(w)

        if not self.unit.flags & {"barrier", "yield"} and not self._may_stop():
            for w in range(len(states)):
                one(w)
            return
        running = [threading.Thread(target=one, args=(w,), daemon=True) for w in range(len(states))]
        for thread in running:
            thread.start()
        for thread in running:
            while thread.is_alive():
                thread.join(0.05)
                if cta.problem is not None:
                    raise cta.problem
        if cta.problem is not None:
            raise cta.problem

    def _may_stop(self) -> bool:
        """Whether some callback may not return: then each warp needs a thread of its own."""
        body = self.unit.kernel.body
        assert body is not None
        return "call" in str(body) or "trap" in str(body) or "brkpt" in str(body)


def run_ptx(
    text: str,
    kernel: str,
    grid: Triple,
    block: Triple,
    arrays: Sequence[Argument],
    *,
    dynamic_shared: int = 0,
    level: int = 3,
    shape: str = "row",
) -> list[Argument]:
    """Runs `kernel` of a PTX module on copies of `arrays` and answers them as the kernel left them.

    Numpy arrays are passed as pointers, other things as values. Raises what the translator raises, KernelTrap and Deadlock.
    """
    copies: list[Argument] = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
    Program(text, kernel, level, shape).run(grid, block, copies, dynamic_shared)
    return copies


def _three(size: Triple) -> tuple[int, int, int]:
    x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1)[:3]
    return x, y, z


def _aligned(size: int, align: int = 256) -> npt.NDArray[np.uint8]:
    """Zeroed bytes at an aligned address."""
    raw = np.zeros(size + align, np.uint8)
    start = -raw.ctypes.data % align
    return raw[start : start + size]


def _machine(level: int) -> object:
    """A target machine of its own: the engine takes it over."""
    import llvmlite.binding as llvm

    from fatload.codegen.cpu.object import LEVELS, TRIPLE

    target_machine(level)  # initialises the target
    return llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=f"x86-64-v{level}", features=LEVELS[level], opt=2, reloc="pic", codemodel="small", jit=True
    )


_LIBRARIES: list[c.CDLL] = []


def _resolve(object_: bytes) -> None:
    """Makes the outside symbols of an object known to the JIT: libc, libm, libgcc."""
    import llvmlite.binding as llvm
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    if not _LIBRARIES:
        _LIBRARIES.extend(c.CDLL(name) for name in ("libc.so.6", "libm.so.6", "libgcc_s.so.1"))
    symbols = ELFFile(io.BytesIO(object_)).get_section_by_name(".symtab")
    if not isinstance(symbols, SymbolTableSection):
        return
    for s in symbols.iter_symbols():
        if s["st_shndx"] == "SHN_UNDEF" and s.name:
            for library in _LIBRARIES:
                f = getattr(library, s.name, None)
                if f is not None:
                    llvm.add_symbol(s.name, c.cast(f, c.c_void_p).value)
                    break
