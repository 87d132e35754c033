"""The driver API from Python: calls that answer codes, and what most tests do with it.

Everything here works with any libcuda.so.1: with FATLOAD_TEST_LIBCUDA=/path/to/libcuda.so.1 the tests that do not speak of fatload
itself can be checked against a GPU's own driver.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from types import TracebackType

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 0, 1, 2, 3
INVALID_DEVICE, INVALID_IMAGE, INVALID_CONTEXT, NO_BINARY = 101, 200, 201, 209
UNSUPPORTED_LIMIT, PEER_UNSUPPORTED, INVALID_PTX, UNSUPPORTED_PTX_VERSION = 215, 217, 218, 222
FILE_NOT_FOUND, INVALID_HANDLE, NOT_FOUND, NOT_READY = 301, 400, 500, 600
PEER_NOT_ENABLED, CONTEXT_IS_DESTROYED, ALREADY_REGISTERED, NOT_REGISTERED = 705, 709, 712, 713
COOPERATIVE_TOO_LARGE, NOT_PERMITTED, NOT_SUPPORTED = 720, 800, 801

LEGACY, PER_THREAD = 1, 2
"""Stream handles of the default streams."""

Shape = int | Sequence[int]


class Out(ctypes.c_uint64):
    """A place for an answer of up to eight bytes; calls get its address."""

    @property
    def signed(self) -> int:
        """The answer as an int of C."""
        return ctypes.c_int32(self.value & 0xFFFFFFFF).value


def three(shape: Shape) -> tuple[int, int, int]:
    """A shape with all its dimensions."""
    whole = (shape,) if isinstance(shape, int) else tuple(shape)
    x, y, z = (*whole, 1, 1)[:3]
    return x, y, z


class Driver:
    """A libcuda.so.1. Whole numbers are passed as eight bytes, which serves parameters of every width."""

    def __init__(self, library: str) -> None:
        self.library = ctypes.CDLL(library)

    @staticmethod
    def _convert(argument: object) -> object:
        if isinstance(argument, Out):
            return ctypes.byref(argument)
        if isinstance(argument, int):
            return ctypes.c_uint64(argument & (1 << 64) - 1)
        return argument

    def call(self, name: str, *arguments: object) -> int:
        """The code that a function answers."""
        return int(getattr(self.library, name)(*map(self._convert, arguments)))

    def ok(self, name: str, *arguments: object) -> None:
        """A call that must succeed."""
        code = self.call(name, *arguments)
        assert code == SUCCESS, f"{name}: {code}"

    def get(self, name: str, *arguments: object) -> int:
        """What a function stores through its first parameter."""
        out = Out()
        self.ok(name, out, *arguments)
        return out.value

    # -- memory

    def alloc(self, size: int) -> int:
        """Device memory."""
        return self.get("cuMemAlloc_v2", size)

    def write(self, address: int, data: bytes) -> None:
        """Bytes to the device."""
        self.ok("cuMemcpyHtoD_v2", address, data, len(data))

    def read(self, address: int, size: int) -> bytes:
        """Bytes from the device."""
        to = ctypes.create_string_buffer(size)
        self.ok("cuMemcpyDtoH_v2", to, address, size)
        return to.raw

    def upload(self, data: bytes) -> int:
        """Device memory that holds these bytes."""
        address = self.alloc(len(data))
        self.write(address, data)
        return address

    # -- code

    def load(self, ptx: str) -> int:
        """A module of PTX text."""
        return self.get("cuModuleLoadData", ptx.encode() + b"\0")

    def function(self, module: int, name: str) -> int:
        """A kernel of a module."""
        return self.get("cuModuleGetFunction", module, name.encode())

    def launch(
        self,
        function: int,
        grid: Shape,
        block: Shape,
        *parameters: object,
        shared: int = 0,
        stream: int = 0,
        name: str = "cuLaunchKernel",
    ) -> int:
        """The code of a launch; parameters are ctypes values."""
        pointers = (ctypes.c_void_p * max(1, len(parameters)))(
            *(ctypes.addressof(p) for p in parameters)  # type: ignore[arg-type]
        )
        return self.call(name, function, *three(grid), *three(block), shared, stream, pointers, None)

    def synchronize(self) -> None:
        """All work of the context is done, without an error."""
        self.ok("cuCtxSynchronize")

    def attribute(self, number: int) -> int:
        """A device attribute."""
        out = Out()
        self.ok("cuDeviceGetAttribute", out, number, 0)
        return out.signed

    # -- streams

    def stream(self, flags: int = 0) -> int:
        """A new stream; flags 1: it does not wait for the legacy stream."""
        return self.get("cuStreamCreate", flags)

    def event(self, flags: int = 0) -> int:
        """A new event; flags 2: no timing."""
        return self.get("cuEventCreate", flags)


HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
StreamCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class Gate:
    """Work in a stream that ends when the gate opens, at the latest after 20 seconds."""

    def __init__(self, driver: Driver, stream: int) -> None:
        self.driver = driver
        self._open, self.entered = threading.Event(), threading.Event()
        self._function = HostFunction(self._wait)
        driver.ok("cuLaunchHostFunc", stream, self._function, None)

    def _wait(self, _: int | None) -> None:
        self.entered.set()
        self._open.wait(20)

    def open(self) -> None:
        """Lets the stream go on."""
        self._open.set()

    def __enter__(self) -> Gate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The function object must outlive its call.
        self.open()
        self.driver.call("cuCtxSynchronize")
