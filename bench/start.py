"""Cold and warm time of vector add, time per kernel launch: ``python bench/start.py [--json]``.

Cold: no cache and no service. Warm: cached. Both in turns with the same work as a C program without CUDA.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Wall time of a command that must succeed."""
    start = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Compiles, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    fatload = shutil.which("fatload") or sys.exit("fatload is not in the PATH")
    with tempfile.TemporaryDirectory(prefix="fatload-bench-") as name:
        folder = Path(name)
        sources = {"vecadd": HERE.parent / "examples" / "vecadd.cu", "launch": HERE / "launch.cu"}
        for program, source in sources.items():
            subprocess.run([fatload, "nvcc", "-O2", str(source), "-o", str(folder / program)], check=True)
        subprocess.run(["cc", "-O2", str(HERE / "nothing.c"), "-o", str(folder / "nothing")], check=True)
        environment = os.environ | {"FATLOAD_CACHE_DIR": str(folder / "cache"), "XDG_RUNTIME_DIR": name}
        stop = [fatload, "serve", "--stop"]
        run = [fatload, "run", str(folder / "vecadd")]
        cold = []
        for _ in range(3):
            shutil.rmtree(folder / "cache", ignore_errors=True)
            cold.append(seconds(run, environment))
            subprocess.run(stop, env=environment, stdout=subprocess.DEVNULL, check=False)
        warm, plain = [], []
        for _ in range(options.rounds):
            warm.append(seconds(run, environment))
            plain.append(seconds([str(folder / "nothing")], environment))
        launches = subprocess.run(
            [fatload, "run", str(folder / "launch")], check=True, env=environment, capture_output=True, text=True
        )
        subprocess.run(stop, env=environment, stdout=subprocess.DEVNULL, check=False)
    found = {
        "cold_ms": 1e3 * statistics.median(cold),
        "warm_ms": 1e3 * statistics.median(warm),
        "plain_ms": 1e3 * statistics.median(plain),
        "launch_us": json.loads(launches.stdout),
    }
    if options.json:
        print(json.dumps(found))
        return
    print(f"vector add, cold            {found['cold_ms']:9.1f} ms")
    print(f"vector add, warm            {found['warm_ms']:9.1f} ms")
    print(f"the same without CUDA       {found['plain_ms']:9.1f} ms")
    for key, unit in (("stream", "µs a launch in a stream"), ("synchronised", "µs a launch and its synchronisation")):
        print(f"empty kernel                {found['launch_us'][key]:9.2f} {unit}")
    print(f"empty CTA                   {found['launch_us']['cta_ns']:9.2f} ns")


if __name__ == "__main__":
    main()
