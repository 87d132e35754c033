"""Runs recorded forms through the driver API of the process's libcuda.so.1: ``fatload run -- python -m tests.golden.client``.

A table of what agrees; ``--json`` prints {id: what differs} instead, where nothing differs an empty text, and an API's error as
"function: number". The same program runs on a GPU with NVIDIA's driver.
"""

from __future__ import annotations

import argparse
import ctypes as c
import json
import sys
from collections import defaultdict

import numpy as np

from .forms import CTA, THREADS, Cells, Form, difference, forms


class DriverError(RuntimeError):
    """A call of the driver API that failed."""


class Driver:
    """The first device's primary context."""

    def __init__(self, library: str = "libcuda.so.1") -> None:
        self.lib = c.CDLL(library)
        context = c.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", c.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *args: object) -> None:
        """Raises DriverError for what is not CUDA_SUCCESS."""
        result = getattr(self.lib, name)(*args)
        if result:
            raise DriverError(f"{name}: {result}")

    def upload(self, array: Cells) -> c.c_uint64:
        """A copy on the device."""
        address = c.c_uint64()
        self.call("cuMemAlloc_v2", c.byref(address), c.c_size_t(array.nbytes))
        self.call("cuMemcpyHtoD_v2", address, c.c_void_p(array.ctypes.data), c.c_size_t(array.nbytes))
        return address

    def run(self, form: Form) -> Cells:
        """The output of a form's kernel."""
        module, function = c.c_void_p(), c.c_void_p()
        self.call("cuModuleLoadData", c.byref(module), form.ptx.encode() + b"\0")
        try:
            self.call("cuModuleGetFunction", c.byref(function), module, b"k")
            out, atomics = np.zeros(THREADS, np.uint64), np.zeros(64, np.uint64)
            buffers = [self.upload(a) for a in (*form.inputs, out, atomics)]
            pointers = (c.c_void_p * len(buffers))(*(c.addressof(x) for x in buffers))
            self.call("cuLaunchKernel", function, THREADS // CTA, 1, 1, CTA, 1, 1, 0, None, pointers, None)
            self.call("cuMemcpyDtoH_v2", c.c_void_p(out.ctypes.data), buffers[3], c.c_size_t(out.nbytes))
            for x in buffers:
                self.call("cuMemFree_v2", x)
            return out
        finally:
            self.call("cuModuleUnload", module)


def main() -> int:
    """Answers 0 if all agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="forms whose id contains this, or of this category")
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every Nth form, from the Kth on")
    parser.add_argument("--json", action="store_true", help="for machines")
    options = parser.parse_args()
    first, step = map(int, options.part.split("/"))
    driver = Driver()
    found: dict[str, str] = {}
    score: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for form in list(forms().values())[first::step]:
        if options.only not in form.id and options.only != form.category:
            continue
        try:
            found[form.id] = difference(form, driver.run(form))
        except DriverError as e:
            found[form.id] = str(e)
        score[form.category][0] += not found[form.id]
        score[form.category][1] += 1
    if options.json:
        json.dump(found, sys.stdout)
        return 0
    print("\n".join(f"{k}: {v}" for k, v in found.items() if v))
    print(" ".join(f"{k} {good}/{total}" for k, (good, total) in sorted(score.items())))
    good = sum(not v for v in found.values())
    print(f"{good}/{len(found)} forms agree")
    return int(good < len(found))


if __name__ == "__main__":
    sys.exit(main())
