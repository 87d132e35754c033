"""fatload runs unmodified Linux CUDA binaries without an NVIDIA GPU."""

__version__ = "0.1.0"
