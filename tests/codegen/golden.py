"""Recorded answers of a real GPU, form by form: a folder with forms.json and forms.npz, named by FATLOAD_GOLDEN.

``python -m tests.codegen.golden [TEXT]`` lists the forms (id or category) that differ.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .harness import run_ptx

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


def folder() -> Path | None:
    """Where the recorded answers are."""
    name = os.environ.get("FATLOAD_GOLDEN")
    return Path(name) if name else None


@cache
def forms() -> dict[str, Form]:
    """All recorded forms by id; none without FATLOAD_GOLDEN."""
    where = folder()
    if where is None:
        return {}
    listed: list[dict[str, Any]] = json.loads((where / "forms.json").read_text())
    found = {}
    with np.load(where / "forms.npz") as data:
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


def difference(form: Form, level: int = 3) -> str:
    """Runs a form; what differs, or nothing."""
    out, atomics = np.zeros(THREADS, np.uint64), np.zeros(64, np.uint64)
    got = run_ptx(form.ptx, "k", THREADS // CTA, CTA, [*form.inputs, out, atomics], level=level)[3]
    assert isinstance(got, np.ndarray)
    ok = agrees(got.astype(np.uint64), form.wanted, form, form.out)
    if ok.all():
        return ""
    k = int(np.argmin(ok))
    sources = ", ".join(hex(int(x[k])) for x in form.inputs[: form.sources])
    return f"{int((~ok).sum())} differ, thread {k}: in {sources} got {int(got[k]):#x} want {int(form.wanted[k]):#x}"


def main(only: str = "") -> int:
    """Lists what differs; answers the exit status."""
    score: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    start = time.monotonic()
    for form in forms().values():
        if only not in form.id and only != form.category:
            continue
        try:
            text = difference(form)
        except Exception as e:
            text = f"{type(e).__name__}: {e}"
        score[form.category][0] += not text
        score[form.category][1] += 1
        if text:
            print(f"{form.id}: {text}", flush=True)
    print(" ".join(f"{k} {good}/{total}" for k, (good, total) in score.items()))
    good, total = (sum(s[k] for s in score.values()) for k in (0, 1))
    print(f"{good}/{total} in {time.monotonic() - start:.1f} s")
    return int(good < total)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
