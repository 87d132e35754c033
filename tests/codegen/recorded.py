"""Compares the code generator with answers that `record` wrote: ``python -m tests.codegen.recorded FILE.npz [TEXT]``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fatload.ptx.model import PtxError, Unsupported

from .forms import CTA, THREADS, Cells, Form, batches, forms, inputs, module, types
from .harness import run_ptx

Flags = npt.NDArray[np.bool_]


def answers(path: Path) -> dict[str, Cells]:
    """Recorded cells by form id."""
    with np.load(path) as data:
        return {str(name): data[str(k)].astype(np.uint64) for k, name in enumerate(data["ids"])}


def as_float(bits: Cells, kind: str) -> npt.NDArray[np.float64] | None:
    """Cells seen as floating-point numbers, None for other types."""
    match kind:
        case "f64":
            return bits.view(np.float64)
        case "f32":
            return bits.astype(np.uint32).view(np.float32).astype(np.float64)
        case "f16":
            return bits.astype(np.uint16).view(np.float16).astype(np.float64)
        case "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    return None


def tolerance(f: Form) -> float:
    """Relative difference allowed: 0 but for approximations."""
    if "approx" not in f.name and ".full" not in f.name:
        return 0.0
    if f.kind == "f64":
        return 2e-6
    return {"f16": 2e-3, "bf16": 1e-2}.get(f.kind.removesuffix("x2"), 1e-3 if f.name.startswith("tanh") else 3e-7)


def same(f: Form, got: Cells, want: Cells, kind: str) -> Flags:
    """Cell by cell: equal bits, two NaNs, or near enough for an approximation."""
    if kind in ("f16x2", "bf16x2"):
        half, up = np.uint64(0xFFFF), np.uint64(16)
        low = same(f, got & half, want & half, kind[:-2])
        return np.logical_and(low, same(f, got >> up & half, want >> up & half, kind[:-2]))
    ok: Flags = got == want
    g, w = as_float(got, kind), as_float(want, kind)
    if g is None or w is None:
        return ok
    with np.errstate(all="ignore"):
        ok |= np.isnan(g) & np.isnan(w)
        bound = tolerance(f)
        if bound:
            absolute = f.name.split(".")[0] in ("sin", "cos", "lg2")
            least = 2e-6 if absolute else 1.5e-45  # a unit of f32's denormals
            ok |= np.abs(g - w) <= np.maximum(bound * np.abs(w), least)
    return ok


def compare(batch: Sequence[Form], known: dict[str, Cells]) -> dict[str, str]:
    """Runs forms with the same sources; what differs, by id. A batch that is refused is run form by form."""
    sources = inputs(types(batch[0]))
    out = np.zeros(len(batch) * THREADS, np.uint64)
    try:
        result = run_ptx(module(tuple(batch)), "k", THREADS // CTA, CTA, [*sources, out])[-1]
    except (PtxError, Unsupported) as e:
        if len(batch) == 1:
            return {batch[0].id: f"{type(e).__name__}: {e}"}
        return {k: v for f in batch for k, v in compare([f], known).items()}
    assert isinstance(result, np.ndarray)
    found = {}
    for f, cells in zip(batch, result.astype(np.uint64).reshape(-1, THREADS), strict=True):
        want = known[f.id]
        ok = same(f, cells, want, f.kind)
        if not ok.all():
            k = int(np.argmin(ok))
            values = ", ".join(hex(int(x[k])) for x in sources[: len(f.sources)])
            found[f.id] = (
                f"{int((~ok).sum())} differ, thread {k}: in {values} got {int(cells[k]):#x} want {int(want[k]):#x}"
            )
    return found


def main(path: str, only: str = "") -> int:
    """Lists what differs; answers the exit status."""
    known = answers(Path(path))
    listed = [f for f in forms() if f.id in known and (only in f.id or only == f.family)]
    score, bad = Counter(f.family for f in listed), Counter[str]()
    families = {f.id: f.family for f in listed}
    for batch in batches(listed, 8):
        for name, text in compare(batch, known).items():
            print(f"{name}: {text}", flush=True)
            bad[families[name]] += 1
    print(" ".join(f"{k} {n - bad[k]}/{n}" for k, n in score.items()))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
