"""Records what a real GPU answers to the forms of `forms`: ``python -m tests.codegen.record FILE.npz`` with NVIDIA's libcuda.so.1.

The file holds for form k an array "k" of THREADS cells, cut to the result's width, and "ids". Forms that the driver refuses are left out.
"""

from __future__ import annotations

import ctypes as c
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from .forms import CTA, THREADS, WIDTH, Cells, Form, forms, inputs, module, types


class Gpu:
    """The first GPU, through the driver API."""

    def __init__(self) -> None:
        self.lib = c.CDLL("libcuda.so.1")
        self.check("cuInit", 0)
        self.context = c.c_void_p()
        self.check("cuDevicePrimaryCtxRetain", c.byref(self.context), 0)
        self.enter()

    def check(self, name: str, *args: object) -> None:
        """Calls a function; raises RuntimeError for what is not success."""
        result = getattr(self.lib, name)(*args)
        if result:
            raise RuntimeError(f"{name}: {result}")

    def enter(self) -> None:
        """Makes the context current in this thread."""
        self.check("cuCtxSetCurrent", self.context)

    def upload(self, array: np.ndarray) -> c.c_uint64:
        """A copy of an array on the GPU."""
        address = c.c_uint64()
        self.check("cuMemAlloc_v2", c.byref(address), c.c_size_t(array.nbytes))
        self.check("cuMemcpyHtoD_v2", address, c.c_void_p(array.ctypes.data), c.c_size_t(array.nbytes))
        return address

    def run(self, text: str, arrays: list[Cells], cells: int = THREADS) -> Cells:
        """Runs kernel k; the last array is the result."""
        self.enter()
        handle, function = c.c_void_p(), c.c_void_p()
        self.check("cuModuleLoadData", c.byref(handle), text.encode() + b"\0")
        self.check("cuModuleGetFunction", c.byref(function), handle, b"k")
        buffers = [self.upload(a) for a in arrays]
        pointers = (c.c_void_p * len(buffers))(*(c.addressof(x) for x in buffers))
        self.check("cuLaunchKernel", function, cells // CTA, 1, 1, CTA, 1, 1, 0, None, pointers, None)
        out = np.empty_like(arrays[-1])
        self.check("cuMemcpyDtoH_v2", c.c_void_p(out.ctypes.data), buffers[-1], c.c_size_t(out.nbytes))
        for x in buffers:
            self.check("cuMemFree_v2", x)
        self.check("cuModuleUnload", handle)
        return out


def main(target: str) -> None:
    """Runs every form and writes the file."""
    gpu = Gpu()

    def one(f: Form) -> Cells | None:
        try:
            return gpu.run(module((f,)), [*inputs(types(f)), np.zeros(THREADS, np.uint64)])
        except RuntimeError as e:
            print(f"{f.id}: {e}", file=sys.stderr)
            return None

    listed = forms()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, listed))
    kept = [(f, a) for f, a in zip(listed, answers, strict=True) if a is not None]
    arrays = {
        str(k): a.astype(f"u{max(WIDTH[f.out], 8) // 8 if f.out[0] != 's' else 8}") for k, (f, a) in enumerate(kept)
    }
    np.savez_compressed(Path(target), ids=np.array([f.id for f, _ in kept]), **arrays)
    print(f"{len(kept)} of {len(listed)} forms")


if __name__ == "__main__":
    main(sys.argv[1])
