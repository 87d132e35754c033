"""Stored images: unpacking, and keeping them in the cache for a restarted service."""

from __future__ import annotations

from fatload.cache.key import StoredImage
from fatload.cache.store import Store
from fatload.elf.errors import FatbinError
from fatload.elf.fatbin import unpack

LARGEST_TEXT = 1 << 31


class ImageError(Exception):
    """An image that cannot be unpacked (CUDA_ERROR_INVALID_IMAGE)."""


def text_of(image: StoredImage) -> str:
    """The PTX text of a stored image. Raises ImageError; never unpacks more than the image says."""
    if image.kind != 1:
        raise ImageError(f"image of kind {image.kind} is no PTX")
    data = image.data
    if image.compression != "none":
        try:
            data = unpack(image.compression, data, image.raw_bytes, LARGEST_TEXT)
        except FatbinError as e:
            raise ImageError(str(e)) from None
    return data.rstrip(b"\0").decode("utf-8", "replace")


def keep(store: Store, module: str, images: list[StoredImage]) -> None:
    """Keeps the images of a module."""
    lines = [f"image\t{i.kind}\t{i.sm}\t{len(i.data)}\t{i.flags}\t{i.compression}\t{i.raw_bytes}" for i in images]
    store.write(module, "images", "\n".join(lines) + "\n", b"".join(i.data for i in images))


def kept(store: Store, module: str) -> list[StoredImage] | None:
    """The images kept for a module; None when there are none."""
    found = store.read(module, "images")
    if found is None:
        return None
    text, payload = found
    images, at = [], 0
    for line in text.splitlines():
        f = line.split("\t")
        if f[0] != "image" or len(f) < 7:
            continue
        size = int(f[3])
        images.append(StoredImage(int(f[1]), int(f[2]), int(f[4]), f[5], int(f[6]), payload[at : at + size]))
        at += size
    return images
