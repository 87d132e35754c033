"""Files with CUDA code: executables, objects, archives, fatbins, cubins, PTX text."""

from fatload.elf.errors import FatbinError
from fatload.elf.fatbin import Image, choose
from fatload.elf.files import Container, containers, images, modules

__all__ = ["Container", "FatbinError", "Image", "choose", "containers", "images", "modules"]
