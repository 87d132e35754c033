"""The recorded forms in process, without service and cache: ``python -m tests.codegen.golden [TEXT]`` lists what differs."""

from __future__ import annotations

import sys

import numpy as np

from fatload.ptx.model import PtxError, Unsupported
from tests.golden.forms import CTA, THREADS, Form, difference, forms

from .harness import run_ptx


def answer(form: Form, level: int = 3) -> str:
    """Runs a form at an optimisation level; what differs, or nothing."""
    out, atomics = np.zeros(THREADS, np.uint64), np.zeros(64, np.uint64)
    got = run_ptx(form.ptx, "k", THREADS // CTA, CTA, [*form.inputs, out, atomics], level=level)[3]
    assert isinstance(got, np.ndarray)
    return difference(form, got.astype(np.uint64))


def main(only: str = "") -> int:
    """Answers the exit status."""
    bad = 0
    for form in forms().values():
        if only not in form.id and only != form.category:
            continue
        try:
            text = answer(form)
        except (PtxError, Unsupported) as e:
            text = f"{type(e).__name__}: {e}"
        if text:
            bad += 1
            print(f"{form.id}: {text}", flush=True)
    print(f"{bad} differ")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
