"""Files with CUDA code: executables, objects, archives, fatbins, cubins, PTX text."""

from fatload.elf.fatbin import FatbinError, Image, choose
from fatload.elf.files import Container, containers, images

__all__ = ["Container", "FatbinError", "Image", "choose", "containers", "images"]
