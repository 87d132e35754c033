"""The error of this package."""

from __future__ import annotations


class FatbinError(Exception):
    """What is wrong with a file: `offset` in bytes from the start of the part (file, container, section) that was
    read."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(f"at byte {offset}: {message}" if offset else message)
        self.offset = offset
