"""The exports of NVIDIA's driver: data/driver_exports.tsv, read off a libcuda.so.1 of CUDA 13.0."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Export:
    """A name, what cuGetProcAddress calls it, the version of the API it came with."""

    name: str
    base: str
    version: int

    @property
    def per_thread(self) -> bool:
        """Whether stream NULL means the calling thread's own."""
        return self.name.endswith(("_ptsz", "_ptds"))


def _read() -> list[Export]:
    lines = (Path(__file__).parent / "data" / "driver_exports.tsv").read_text().splitlines()
    return [Export(n, b, int(v)) for n, b, v in (line.split("\t") for line in lines[1:])]


EXPORTS = _read()
