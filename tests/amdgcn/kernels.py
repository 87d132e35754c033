"""The kernels of examples/ as their sources declare them: parameters and memory follow from C's rules, not from PTX."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass

C_TYPES = {
    "int": ctypes.c_int,
    "float": ctypes.c_float,
}


@dataclass(frozen=True)
class Kernel:
    """A kernel by its demangled name. `lds`: bytes of its __shared__ arrays; `block`: whether it reads blockDim;
    `dynamic`: whether it has an extern __shared__ array."""

    signature: str
    lds: int = 0
    block: bool = False
    dynamic: bool = False

    @property
    def parameter_bytes(self) -> int:
        """From the start of the first parameter to the end of the last one, aligned as in a C structure."""
        listed = re.fullmatch(r".*?\((.*)\)", self.signature)
        assert listed is not None
        end = 0
        for text in listed[1].split(", "):
            kind = ctypes.c_void_p if text.endswith("*") else C_TYPES[text]
            end = -(-end // ctypes.alignment(kind)) * ctypes.alignment(kind) + ctypes.sizeof(kind)
        return end


FLOAT, FLOAT4 = 4, 16
PROGRAMS = {
    "vecadd": [Kernel("vecadd(float const*, float const*, float*, int)", block=True)],
    "saxpy": [Kernel("saxpy(float, float const*, float*, int)", block=True)],
    "reduction": [Kernel("sum(int const*, long long*, int)", block=True, dynamic=True)],
    "matmul": [Kernel("matmul(float const*, float const*, float*, int)", lds=2 * 16 * 16 * FLOAT)],
    "scan": [
        Kernel("scan_blocks(int const*, int*, int*, int)", lds=256 // 32 * 4),
        Kernel("add_offsets(int*, int const*, int)"),
    ],
    "histogram": [Kernel("histogram(unsigned char const*, unsigned int*, int)", lds=64 * 4, block=True)],
    "mandelbrot": [Kernel("mandelbrot(int*, int, int, int)", block=True)],
    "nbody": [Kernel("forces(float4 const*, float3*, int)", lds=128 * FLOAT4)],
    "stencil": [Kernel("stencil(float const*, float*, int, int)", block=True)],
    "transpose": [
        Kernel(f"void transpose<{t}>({t} const*, {t}*, int, int)", lds=32 * 33 * size)
        for t, size in (("float", 4), ("unsigned char", 1), ("short", 2), ("double", 8))
    ],
    "bitonic_sort": [Kernel("step(unsigned int*, int, int)", block=True)],
    "monte_carlo": [Kernel("montecarlo(unsigned int*, int)", block=True)],
}
