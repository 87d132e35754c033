"""Generates the C++ tables of the driver API from functions.tsv, errors.tsv and the sources that implement functions.

    generate.py SOURCES-FOLDER OUTPUT-FOLDER [--coverage FILE]

Writes exports.cpp (a stub for every function that no source defines, entry points of the per-thread default stream, the
table behind cuGetProcAddress), errors.inc and exports.map (the linker's version script).
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFINITION = re.compile(r"^API\s+CUresult\s+(cu\w+)\s*\(|^API_SAME\(\s*(cu\w+)\s*,", re.M)
PER_THREAD = re.compile(r"_(ptsz|ptds)$")


def rows(name: str) -> list[list[str]]:
    """The lines of a table, without its head."""
    return [line.split("\t") for line in (HERE / name).read_text().splitlines()[1:] if line]


def implemented(sources: Path) -> set[str]:
    """Names that the sources define."""
    found: set[str] = set()
    for source in sorted(sources.rglob("*.cpp")):
        for m in DEFINITION.finditer(source.read_text()):
            found.add(m[1] or m[2])
    return found


def exports(sources: Path) -> str:
    """The text of exports.cpp."""
    done = implemented(sources)
    names = {row[0] for row in rows("functions.tsv")}
    unknown = done - names
    if unknown:
        raise SystemExit(f"not in functions.tsv: {', '.join(sorted(unknown))}")
    lines = [
        "// Made by interpose/api/generate.py.",
        '#include "driver/exports.h"',
        "",
        'extern "C" {',
    ]
    table = []
    for name, base, version in rows("functions.tsv"):
        plain = PER_THREAD.sub("", name)
        kind = "PerThread" if plain != name else "Plain"
        if name in done:
            lines.append(f"FATLOAD_EXPORT int {name}();")
        elif plain != name and plain in done:
            # Marks the thread's next stream NULL as its own, then goes to the plain function with all its arguments.
            lines.append(f"FATLOAD_PER_THREAD({name}, {plain})")
        else:
            lines.append(f'FATLOAD_EXPORT int {name}() {{ return fatload::unsupported("{name}"); }}')
        real = "true" if name in done or plain in done else "false"
        table.append(
            f'    {{"{name}", "{base}", {version}, fatload::Export::{kind}, {real}, reinterpret_cast<void*>({name})}},'
        )
    lines += ["}", "", "namespace fatload {", "const Export kExports[] = {", *table, "};"]
    lines += [f"const size_t kExportCount = {len(table)};", "}  // namespace fatload", ""]
    return "\n".join(lines)


def errors() -> str:
    """The text of errors.inc."""
    return "".join(f'{{{code}, "{name}", "{text}"}},\n' for code, name, text in rows("errors.tsv"))


def coverage(sources: Path) -> str:
    """The text of docs/driver-coverage.md."""
    done = implemented(sources)
    bases: dict[str, list[bool]] = {}
    for name, base, _ in rows("functions.tsv"):
        bases.setdefault(base, []).append(PER_THREAD.sub("", name) in done)
    real = sum(any(x) for x in bases.values())
    lines = [
        "# Driver API coverage",
        "",
        "Made by `interpose/api/generate.py`. Every export of the driver is there; what is not implemented names itself once on",
        "stderr and returns CUDA_ERROR_NOT_SUPPORTED.",
        "",
        f"{real} of {len(bases)} functions ({len(rows('functions.tsv'))} exports with all versions).",
        "",
        "| function | state |",
        "|---|---|",
    ]
    for base, states in sorted(bases.items()):
        lines.append(f"| {base} | {'yes' if all(states) else 'some versions' if any(states) else '-'} |")
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Writes a file if it changes, so that builds stay incremental."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--coverage", type=Path)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    write(arguments.output / "exports.cpp", exports(arguments.sources))
    write(arguments.output / "errors.inc", errors())
    names = "; ".join(row[0] for row in rows("functions.tsv"))
    write(arguments.output / "exports.map", f"{{ global: {names}; local: *; }};\n")
    if arguments.coverage:
        write(arguments.coverage, coverage(arguments.sources))


if __name__ == "__main__":
    main()
