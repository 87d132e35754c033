"""fatload translate."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import click

from fatload.cli.common import SETTINGS, fail, printable

CPU = ("x86-64-v3", "x86-64-v4")
SHAPES = ("row", "any")
STAGES = ("ptx", "llvm", "optimized", "asm", "object", "code")


@dataclass(slots=True, frozen=True)
class Task:
    """One translation: a CPU kernel for the cache, or a module for an AMD chip."""

    text: str
    module: str
    kernel: str  # empty: all kernels (AMD)
    target: str
    shape: str

    def __str__(self) -> str:
        return f"{self.kernel or 'module'} for {self.target}" + (
            f" ({self.shape})" if self.shape != "any" or self.kernel else ""
        )


def perform(task: Task, cache: str) -> tuple[bytes | None, str]:
    """Does a task in a worker. Returns the code (AMD) and an error message."""
    from fatload.cache.key import object_id
    from fatload.cache.store import Store
    from fatload.codegen.translate import translate, translate_module
    from fatload.link.linker import LinkError
    from fatload.ptx.model import PtxError, Unsupported

    try:
        if not task.kernel:
            return translate_module(task.text, task.target), ""
        head, payload = translate(task.text, task.kernel, task.target, task.shape)
        Store(Path(cache)).write(object_id(task.module, task.kernel, task.target, task.shape), "object", head, payload)
        return None, ""
    except Unsupported as e:
        return None, f"{f'kernel {e.kernel}, ' if e.kernel else ''}{e}"
    except (PtxError, LinkError, OSError) as e:
        return None, str(e)


@click.command(context_settings=SETTINGS)
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option(
    "--arch",
    "arches",
    required=True,
    metavar="ARCH[,ARCH…]",
    help="cpu (x86-64-v3 and -v4), x86-64-v3, gfx1100, gfx1100:wave64, gfx90a …",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write AMD code here: one architecture a code object, several a bundle.",
)
@click.option(
    "--dump",
    "dumps",
    multiple=True,
    metavar="STAGE[=FILE]",
    help="Write an intermediate stage: ptx, llvm, optimized, asm, object, code; may be repeated. Default file: KERNEL.ARCH.STAGE.",
)
@click.option("--kernel", "-k", "kernels", multiple=True, metavar="NAME", help="Only these kernels (CPU).")
@click.option("--jobs", "-j", type=click.IntRange(1), envvar="FATLOAD_JOBS", help="Worker processes. [default: CPUs]")
def translate(
    files: tuple[Path, ...],
    arches: str,
    output: Path | None,
    dumps: tuple[str, ...],
    kernels: tuple[str, ...],
    jobs: int | None,
) -> None:
    """Translate CUDA code offline.

    FILE is an executable, library, object, fatbin or PTX text. For the CPU every kernel is translated into the cache, so that a program
    never waits for it (and needs no Python), for example while an image is built. For AMD chips the code goes to --output: kernels NAME
    and NAME.kd, explicit arguments at their PTX offsets.

    \b
    Exit status: 0; 1 when a kernel could not be translated (the others are).

    \b
    fatload translate ./app --arch cpu
    fatload translate kernels.ptx --arch gfx1100 -o kernels.hsaco
    fatload translate app.fatbin --arch gfx90a,gfx1100,gfx1201 -o app.bundle
    fatload translate kernels.ptx --arch x86-64-v3 --dump llvm
    """
    targets = _targets(arches)
    amd = [t for t in targets if t not in CPU]
    if amd and output is None and not dumps:
        fail("code for AMD chips needs --output", 2)
    if amd and len(files) > 1 and output is not None:
        fail("--output takes one FILE", 2)
    if amd and output is not None:
        _one_wave_size(amd)
    modules = list(_modules(files, keep=len(amd) < len(targets) and (output is not None or not dumps)))
    if not modules:
        fail("no PTX in " + ", ".join(map(str, files)))
    _known(kernels, modules)
    for spec in dumps:
        _dump(spec, modules, targets, kernels)
    if dumps and output is None:
        return
    tasks = list(_tasks(modules, targets, kernels))
    whole = len({t.module for t in tasks if not t.kernel})
    if output is not None and whole > 1:
        fail(f"{files[0]} holds {whole} modules with kernels; --output takes one: name the object or fatbin of one")
    results, errors = _run(tasks, jobs or len(os.sched_getaffinity(0)))
    for task, message in errors:
        click.echo(f"fatload: {printable(f'{task}: {message}')}", err=True)
    if output is not None and results:
        _write(output, results)
    done = len(tasks) - len(errors)
    click.echo(
        f"{done} of {len(tasks)} translations done" + (f", {output} written" if output is not None and results else "")
    )
    if errors:
        raise SystemExit(1)


def _targets(arches: str) -> list[str]:
    from fatload.codegen.amdgcn.module import parse_target
    from fatload.ptx.model import PtxError

    found: list[str] = []
    for arch in arches.split(","):
        arch = arch.strip()
        if arch == "cpu":
            found += CPU
        elif arch in CPU:
            found.append(arch)
        else:
            try:
                parse_target(arch)
            except PtxError as e:
                fail(e.message, 2)
            found.append(arch)
    return list(dict.fromkeys(found))


def _one_wave_size(targets: list[str]) -> None:
    """Loaders choose from a bundle by the chip alone."""
    chips = [t.partition(":")[0] for t in targets]
    twice = next((c for c in chips if chips.count(c) > 1), None)
    if twice is not None:
        fail(f"a bundle cannot hold {' and '.join(t for t in targets if t.partition(':')[0] == twice)}: one of them", 2)


def _known(kernels: tuple[str, ...], modules: list[tuple[str, str]]) -> None:
    """Makes sure that the kernels asked for exist."""
    names = {n for _, text in modules for n in kernel_names(text)} if kernels else set()
    for name in kernels:
        if name not in names:
            fail(f"no kernel {name}; there are: {', '.join(sorted(names))[:500] or 'none'}")


def _modules(files: tuple[Path, ...], *, keep: bool) -> Iterator[tuple[str, str]]:
    """(module id, PTX text) of the images that a program would load; `keep`: manifests and images go to the cache."""
    from fatload.cache.key import StoredImage, module_id
    from fatload.cache.store import Store
    from fatload.elf import FatbinError, containers
    from fatload.elf import modules as modules_of
    from fatload.ptx.manifest import manifest_text_and_payload
    from fatload.ptx.model import PtxError
    from fatload.service.images import keep as keep_images

    store = Store()
    for file in files:
        try:
            found = containers(file)
        except OSError as e:
            fail(f"{file}: {e.strerror}")
        except FatbinError as e:
            fail(f"{file}: {e}")
        for images in modules_of(found, capability()):
            if len(images) > 1:
                fail(f"{file}: linking {len(images)} PTX modules (-rdc=true) is not supported yet")
            image = images[0]
            try:
                text = image.text()
                head, payload = manifest_text_and_payload(text)
            except (FatbinError, PtxError) as e:
                fail(f"{file}: {e}")
            stored = StoredImage(1, image.sm, image.flags, image.compression, image.raw_bytes, image.stored)
            id_ = module_id([stored])
            try:
                if keep:
                    keep_images(store, id_, [stored])
                    store.write(id_, "manifest", head, payload)
            except OSError as e:
                fail(f"the cache cannot be written: {e}")
            yield id_, text


def capability() -> int:
    """The compute capability that programs see: FATLOAD_COMPUTE_CAPABILITY, default 8.9; as 89."""
    text = os.environ.get("FATLOAD_COMPUTE_CAPABILITY", "8.9")
    major, _, minor = text.partition(".")
    if not major.isdigit() or not minor.isdigit() or len(minor) != 1:
        fail(f"FATLOAD_COMPUTE_CAPABILITY={text} is not of the form 8.9", 2)
    return int(major) * 10 + int(minor)


def kernel_names(text: str) -> list[str]:
    """Names of a module's kernels."""
    from fatload.ptx.scan import scan

    return [i.name for i in scan(text).functions().values() if i.kind == "entry" and i.body is not None]


def _tasks(modules: list[tuple[str, str]], targets: list[str], kernels: tuple[str, ...]) -> Iterator[Task]:
    for module, text in modules:
        names = [n for n in kernel_names(text) if not kernels or n in kernels]
        for target in targets:
            if target in CPU:
                for name in names:
                    for shape in SHAPES:
                        yield Task(text, module, name, target, shape)
            elif names:
                yield Task(text, module, "", target, "any")


def _run(tasks: list[Task], jobs: int) -> tuple[dict[str, bytes], list[tuple[Task, str]]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from fatload.cache.store import default_directory

    results: dict[str, bytes] = {}
    errors: list[tuple[Task, str]] = []
    columns = (TextColumn("translating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("", total=len(tasks))
        left = list(tasks)
        while left:
            # LLVM may end the process: what had not finished is then done one at a time, to find the culprit.
            alone = len(left) < len(tasks)
            batch = left[:1] if alone else left
            with ProcessPoolExecutor(min(jobs, len(batch)), mp_context=get_context("spawn")) as pool:
                futures = {pool.submit(perform, t, str(default_directory())): t for t in batch}
                for future in as_completed(futures):
                    task = futures[future]
                    try:
                        code, message = future.result()
                    except BrokenProcessPool:
                        if not alone:
                            continue
                        code, message = None, "LLVM ended the process"
                    left.remove(task)
                    progress.advance(bar)
                    if message:
                        errors.append((task, message))
                    elif code is not None:
                        results[task.target] = code
    order = [t.target for t in tasks]
    return dict(sorted(results.items(), key=lambda r: order.index(r[0]))), errors


def _write(output: Path, results: dict[str, bytes]) -> None:
    from fatload.link import bundle

    data = (
        next(iter(results.values()))
        if len(results) == 1
        else bundle.write({t.partition(":")[0]: c for t, c in results.items()})
    )
    temporary = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, output)
    except OSError as e:
        temporary.unlink(missing_ok=True)
        fail(f"{output}: {e.strerror}")


def _dump(spec: str, modules: list[tuple[str, str]], targets: list[str], kernels: tuple[str, ...]) -> None:
    from fatload.codegen.stages import stage
    from fatload.link.linker import LinkError
    from fatload.ptx.model import PtxError, Unsupported

    name, _, file = spec.partition("=")
    if name not in STAGES:
        fail(f"unknown stage {name!r}; known: {', '.join(STAGES)}", 2)
    chosen = [(t, k, a) for _, t in modules for k in kernel_names(t) if not kernels or k in kernels for a in targets]
    if file and len(chosen) != 1:
        fail(
            f"--dump {name}=FILE takes one kernel and one architecture, here are {len(chosen)}; choose with --kernel", 2
        )
    for text, kernel, target in chosen:
        path = Path(file) if file else Path(f"{kernel[:200]}.{target.replace(':', '-')}.{name}")
        try:
            artifact = stage(text, kernel, target, name)
            path.write_bytes(artifact)
        except (PtxError, Unsupported, LinkError) as e:
            fail(f"kernel {kernel}: {e}")
        except OSError as e:
            fail(f"{path}: {e.strerror}")
        click.echo(str(path))
