"""What translated code and the CPU runtime know of each other: the twin of ``interpose/device/cpu/abi.h``."""

from __future__ import annotations

from typing import Final

WARP: Final[dict[str, tuple[int, str]]] = {
    "params": (0, "ptr"),
    "shared": (8, "ptr"),
    "local": (16, "ptr"),
    "module": (24, "ptr"),
    "runtime": (32, "ptr"),
    "ctaid.x": (40, "i32"),
    "ctaid.y": (44, "i32"),
    "ctaid.z": (48, "i32"),
    "nctaid.x": (52, "i32"),
    "nctaid.y": (56, "i32"),
    "nctaid.z": (60, "i32"),
    "ntid.x": (64, "i32"),
    "ntid.y": (68, "i32"),
    "ntid.z": (72, "i32"),
    "warp": (76, "i32"),
    "nwarps": (80, "i32"),
    "active": (84, "i32"),
    "live": (88, "i32"),
    "local_stride": (92, "i32"),
    "shared_bytes": (96, "i32"),
    "dynamic_shared_bytes": (100, "i32"),
    "gridid": (104, "i64"),
    "smid": (112, "i32"),
    "nsmid": (116, "i32"),
    "scheduler": (120, "ptr"),
    "local_top": (128, "i32"),
    "envreg1": (132, "i32"),
    "envreg2": (136, "i32"),
}
"""Field of ``struct Warp`` → (offset in bytes, IR type)."""

RUNTIME: Final[dict[str, tuple[int, str]]] = {
    "barrier": (0, "i32 (ptr, i32, i32, i32, i32, i32)"),
    "yield": (8, "void (ptr)"),
    "trap": (16, "void (ptr, i32, i32, i32)"),
    "vprintf": (24, "void (ptr, i32, ptr, ptr, ptr)"),
    "assertfail": (32, "void (ptr, i32, ptr, ptr, ptr, ptr, ptr)"),
    "malloc": (40, "void (ptr, i32, ptr, ptr)"),
    "free": (48, "void (ptr, i32, ptr)"),
    "globaltimer": (56, "i64 (ptr)"),
    "nanosleep": (64, "void (ptr, i32)"),
}
"""Function of ``struct RuntimeTable`` → (offset in bytes, IR function type)."""

BARRIER_OPERATIONS: Final = {"sync": 0, "arrive": 1, "popc": 2, "and": 3, "or": 4}
TRAP_REASONS: Final = {"trap": 0, "function": 1, "deadlock": 2, "brkpt": 3, "stack": 4}
ENTRY: Final = "fatload_kernel"
OUTSIDE_SYMBOLS: Final = frozenset(
    {
        "memcpy",
        "memset",
        "memmove",
        "fma",
        "fmaf",
        "__truncdfhf2",
        "__truncsfhf2",
        "__truncsfbf2",
        "__truncdfbf2",
        "__extendhfsf2",
    }
)
"""All that an object may ask of its loader."""
