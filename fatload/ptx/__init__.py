"""PTX: text → model."""

from fatload.ptx.reader import read, read_kernel
from fatload.ptx.scan import scan

__all__ = ["read", "read_kernel", "scan"]
