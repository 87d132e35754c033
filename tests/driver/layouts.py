"""CUDA_MEMCPY2D and CUDA_MEMCPY3D, whose layout test_header.py compares with cuda.h."""

from __future__ import annotations

import ctypes

HOST, DEVICE, ARRAY, UNIFIED = 1, 2, 3, 4


class _Places:
    """Where both kinds of copies say what they copy."""

    src_type: int
    src_host: int
    src_device: int
    dst_type: int
    dst_host: int
    dst_device: int

    def source(self, kind: int, address: int) -> None:
        """Copies from there."""
        self.src_type = kind
        if kind == HOST:
            self.src_host = address
        else:
            self.src_device = address

    def target(self, kind: int, address: int) -> None:
        """Copies to there."""
        self.dst_type = kind
        if kind == HOST:
            self.dst_host = address
        else:
            self.dst_device = address


class Copy2D(ctypes.Structure, _Places):
    """CUDA_MEMCPY2D."""

    _fields_ = [
        ("src_x", ctypes.c_size_t), ("src_y", ctypes.c_size_t), ("src_type", ctypes.c_int),
        ("src_host", ctypes.c_void_p), ("src_device", ctypes.c_uint64), ("src_array", ctypes.c_void_p),
        ("src_pitch", ctypes.c_size_t),
        ("dst_x", ctypes.c_size_t), ("dst_y", ctypes.c_size_t), ("dst_type", ctypes.c_int),
        ("dst_host", ctypes.c_void_p), ("dst_device", ctypes.c_uint64), ("dst_array", ctypes.c_void_p),
        ("dst_pitch", ctypes.c_size_t),
        ("width", ctypes.c_size_t), ("height", ctypes.c_size_t),
    ]  # fmt: skip


class Copy3D(ctypes.Structure, _Places):
    """CUDA_MEMCPY3D, and CUDA_MEMCPY3D_PEER, which has contexts where the other one has nothing."""

    _fields_ = [
        ("src_x", ctypes.c_size_t), ("src_y", ctypes.c_size_t), ("src_z", ctypes.c_size_t),
        ("src_lod", ctypes.c_size_t), ("src_type", ctypes.c_int), ("src_host", ctypes.c_void_p),
        ("src_device", ctypes.c_uint64), ("src_array", ctypes.c_void_p), ("src_context", ctypes.c_void_p),
        ("src_pitch", ctypes.c_size_t), ("src_height", ctypes.c_size_t),
        ("dst_x", ctypes.c_size_t), ("dst_y", ctypes.c_size_t), ("dst_z", ctypes.c_size_t),
        ("dst_lod", ctypes.c_size_t), ("dst_type", ctypes.c_int), ("dst_host", ctypes.c_void_p),
        ("dst_device", ctypes.c_uint64), ("dst_array", ctypes.c_void_p), ("dst_context", ctypes.c_void_p),
        ("dst_pitch", ctypes.c_size_t), ("dst_height", ctypes.c_size_t),
        ("width", ctypes.c_size_t), ("height", ctypes.c_size_t), ("depth", ctypes.c_size_t),
    ]  # fmt: skip
