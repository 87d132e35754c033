"""Recorded answers of a real GPU (NVIDIA H200), form by form: data/forms.json and data/forms.npz.

Each form is a module with one kernel k(a, b, c, d, g): 512 threads in 2 CTAs of 256, every array one 8-byte cell a thread, the
value in the cell's low bytes; d is the output, g 64 zeroed cells for atomics.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

DATA = Path(__file__).resolve().parent / "data"
THREADS, CTA = 512, 256
Cells = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


@dataclass(slots=True, frozen=True)
class Form:
    """One instruction form: kernel k(a, b, c, d, g) on 8-byte cells; `tolerance`: "exact", or a relative or "abs"olute bound."""

    id: str
    category: str
    ptx: str
    out: str
    sources: int
    tolerance: str
    inputs: Cells
    wanted: Cells


@cache
def forms() -> dict[str, Form]:
    """All recorded forms by id."""
    listed: list[dict[str, Any]] = json.loads((DATA / "forms.json").read_text())
    found = {}
    with np.load(DATA / "forms.npz") as data:
        for k, f in enumerate(listed):
            found[f["id"]] = Form(
                f["id"],
                f["category"],
                f["ptx"],
                f["out"],
                len(f["ins"]),
                str(f["tolerance"]),
                data[f"{k}.in"],
                data[f"{k}.out"],
            )
    return found


def as_float(bits: Cells, type_: str) -> npt.NDArray[np.float64] | None:
    """Cells seen as floating-point numbers, None for other types."""
    match type_:
        case "f64":
            return bits.view(np.float64)
        case "f32":
            return bits.astype(np.uint32).view(np.float32).astype(np.float64)
        case "f16":
            return bits.astype(np.uint16).view(np.float16).astype(np.float64)
        case "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return None


def agrees(got: Cells, wanted: Cells, form: Form, type_: str) -> Flags:
    """Cell by cell: equal bits, two NaNs, or within the tolerance."""
    if type_.endswith("x2"):
        half, up = np.uint64(0xFFFF), np.uint64(16)
        low = agrees(got & half, wanted & half, form, type_[:-2])
        high = agrees(got >> up & half, wanted >> up & half, form, type_[:-2])
        return np.logical_and(low, high)
    same: Flags = got == wanted
    g, w = as_float(got, type_), as_float(wanted, type_)
    if g is None or w is None:
        return same
    with np.errstate(all="ignore"):
        same |= np.isnan(g) & np.isnan(w)
        if form.tolerance != "exact":
            bound = float(form.tolerance.removeprefix("abs"))
            if form.tolerance.startswith("abs"):
                same |= np.abs(g - w) <= bound
            else:
                least = bound if bound >= 1e-3 or form.category == "mma" else 0.0
                same |= np.abs(g - w) <= np.maximum(bound * np.abs(w), least)
    return same


def difference(form: Form, got: Cells) -> str:
    """What differs between an answer and the recorded one, or nothing."""
    ok = agrees(got, form.wanted, form, form.out)
    if ok.all():
        return ""
    k = int(np.argmin(ok))
    sources = ", ".join(hex(int(x[k])) for x in form.inputs[: form.sources])
    return f"{int((~ok).sum())} differ, thread {k}: in {sources} got {int(got[k]):#x} want {int(form.wanted[k]):#x}"
