"""fatload inspect."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from fatload.cli.common import SETTINGS, console, fail, print_json, printable, size


@click.command(context_settings=SETTINGS)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines instead of tables.")
def inspect(file: Path, as_json: bool) -> None:
    """Show what CUDA code FILE holds.

    FILE is an executable, shared object, object, archive, fatbin, cubin, PTX text, or a code object or bundle for AMD GPUs. Shown are its
    images (kind, architecture, versions, sizes, compression, options), the kernels of each with parameters and memory, and the
    variables of its modules.

    \b
    Exit status: 0, or 1 when FILE or a part of it cannot be read or is damaged.

    \b
    fatload inspect ./app
    fatload inspect --json app.fatbin | jq '.images[].arch'
    """
    try:
        report = describe(file.read_bytes())
    except OSError as e:
        fail(f"{file}: {e.strerror}")
    except ValueError as e:
        fail(f"{file}: {e}")
    report = {"file": str(file), **report}
    if as_json:
        print_json(report)
    else:
        _print(report)
    damaged = [(n, i["error"]) for n, i in enumerate(report["images"]) if "error" in i]
    for n, message in damaged:
        click.echo(f"fatload: {printable(f'{file}: image {n}: {message}')}", err=True)
    sys.exit(1 if damaged else 0)


def describe(data: bytes) -> dict[str, Any]:
    """What a file holds, as plain data. Raises ValueError with what is wrong."""
    from fatload.elf import FatbinError
    from fatload.elf.files import of_bytes
    from fatload.link import bundle
    from fatload.link.linker import LinkError

    try:
        if data[: len(bundle.MAGIC)] == bundle.MAGIC:
            return {"images": [_code_object(code, name) for name, code in bundle.read(data).items()]}
        if data[:4] == b"\x7fELF" and data[18:20] == b"\xe0\x00":
            return {"images": [_code_object(data, "")]}
        found = [_image(i, c.source) for c in of_bytes(data) for i in c.images]
    except (FatbinError, LinkError) as e:
        raise ValueError(str(e)) from None
    return {"images": found}


def _code_object(code: bytes, name: str) -> dict[str, Any]:
    from fatload.link.metadata import kernels, metadata

    target = str(metadata(code).get("amdhsa.target", name)).rpartition("--")[2]
    rows = [
        {
            "name": k.name,
            "parameter_bytes": sum(s for _, s, kind in k.arguments if not kind.startswith("hidden")),
            "shared_bytes": k.lds_bytes,
            "registers": k.vgprs,
            "wave": k.wave,
        }
        for k in kernels(code).values()
    ]
    return {
        "source": name or "code object",
        "kind": "code object",
        "arch": target,
        "stored_bytes": len(code),
        "kernels": rows,
    }


def _image(i: Any, source: str) -> dict[str, Any]:
    from fatload.elf import FatbinError

    row: dict[str, Any] = {
        "source": source,
        "kind": i.kind,
        "arch": i.arch,
        "version": f"{i.version[0]}.{i.version[1]}",
        "compression": i.compression,
        "stored_bytes": len(i.stored),
        "raw_bytes": i.raw_bytes,
    }
    if i.options:
        row["options"] = i.options
    if i.name:
        row["name"] = i.name
    try:
        if i.kind == "ptx":
            row |= _ptx(i.text())
        elif i.kind == "sass":
            row |= _sass(i.raw())
    except FatbinError as e:
        row["error"] = str(e)
    return row


def _ptx(text: str) -> dict[str, Any]:
    from fatload.ptx.manifest import manifest_text_and_payload
    from fatload.ptx.model import PtxError

    try:
        head, _ = manifest_text_and_payload(text)
    except PtxError as e:
        return {"error": str(e)}
    kernels, variables = [], []
    for line in head.splitlines():
        f = line.split("\t")
        if f[0] == "kernel":
            parameters = [] if f[3] == "-" else [[int(x) for x in p.split(":")] for p in f[3].split(",")]
            kernels.append(
                {
                    "name": f[1],
                    "parameters": [{"offset": o, "bytes": n} for o, n in parameters],
                    "parameter_bytes": int(f[2]),
                    "shared_bytes": int(f[4]),
                    "local_bytes": int(f[5]),
                    "max_threads": int(f[6]),
                }
            )
        elif f[0] == "variable":
            variables.append({"name": f[1], "space": f[2], "bytes": int(f[4])})
    return {"kernels": kernels, "variables": variables}


def _sass(data: bytes) -> dict[str, Any]:
    from fatload.elf import cubin

    return {
        "kernels": [
            {
                "name": k.name,
                "parameters": [{"offset": o, "bytes": n} for o, n in k.parameters],
                "parameter_bytes": k.parameter_bytes,
                "shared_bytes": k.shared_bytes,
                "registers": k.registers,
            }
            for k in cubin.read(data).kernels
        ]
    }


def _print(report: dict[str, Any]) -> None:
    from rich.table import Table

    out = console()
    file = printable(report["file"])
    if not report["images"]:
        click.echo(f"{file}: no CUDA code")
        return
    table = Table("#", "kind", "arch", "version", "size", "stored as", "from")
    for n, i in enumerate(report["images"]):
        how = "" if i.get("compression", "none") == "none" else f"{size(i['stored_bytes'])} {i['compression']}"
        whole = size(i.get("raw_bytes") or i["stored_bytes"])
        table.add_row(str(n), i["kind"], i["arch"], i.get("version", ""), whole, how, printable(i["source"]))
    click.echo(file)
    out.print(table)
    rows = [(n, i, k) for n, i in enumerate(report["images"]) for k in i.get("kernels", [])]
    if rows:
        table = Table(
            "#", "kernel", "parameters", "shared", "local", "registers", title="kernels", title_justify="left"
        )
        for n, _, k in rows:
            table.add_row(
                str(n), printable(k["name"]), _parameters(k), str(k["shared_bytes"]),
                str(k.get("local_bytes", "")), str(k.get("registers", "")),
            )  # fmt: skip
        out.print(table)
    variables = [(n, v) for n, i in enumerate(report["images"]) for v in i.get("variables", [])]
    if variables:
        table = Table("#", "variable", "space", "bytes", title="variables", title_justify="left")
        for n, v in variables:
            table.add_row(str(n), printable(v["name"]), v["space"], str(v["bytes"]))
        out.print(table)


def _parameters(k: dict[str, Any]) -> str:
    count = f"{len(k['parameters'])}, " if "parameters" in k else ""
    return f"{count}{k['parameter_bytes']} B"
