"""Worker processes: each translates one thing at a time. A worker that dies (LLVM aborts on code it cannot select) is one error."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import sys
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fatload.cache.key import object_id
from fatload.cache.store import Store
from fatload.ptx.model import PtxError, Unsupported
from fatload.service.images import ImageError, kept, text_of

JOBS_A_WORKER = 200
"""After so many jobs a worker is replaced: LLVM keeps memory."""


@dataclass(slots=True, frozen=True)
class Job:
    """What a worker does: ``manifest`` (`check`: read every kernel) or ``object``."""

    what: str
    cache: str
    module: str
    kernel: str = ""
    target: str = ""
    shape: str = ""
    options: str = ""


@dataclass(slots=True, frozen=True)
class Outcome:
    """CUresult (0: the file is in the cache), message, JIT log."""

    result: int
    message: str = ""
    log: str = ""


_texts: OrderedDict[str, str] = OrderedDict()


def module_text(store: Store, module: str) -> str:
    """The PTX text of a module, with the last few kept unpacked."""
    known = _texts.get(module)
    if known is None:
        images = kept(store, module)
        if not images:
            raise ImageError("the module's images are not in the cache")
        if len(images) > 1:
            raise Unsupported(f"linking {len(images)} PTX modules (-rdc=true)")
        known = _texts[module] = text_of(images[0])
        while len(_texts) > 4:
            _texts.popitem(last=False)
    _texts.move_to_end(module)
    return known


def perform(job: Job) -> Outcome:
    """Does a job in this process."""
    store = Store(Path(job.cache))
    try:
        text = module_text(store, job.module)
        if job.what == "manifest":
            return _manifest(store, job, text)
        from fatload.codegen.translate import translate

        head, payload = translate(text, job.kernel, job.target, job.shape)
        store.write(object_id(job.module, job.kernel, job.target, job.shape, job.options), "object", head, payload)
        return Outcome(0)
    except PtxError as e:
        return Outcome(e.code, str(e), str(e))
    except Unsupported as e:
        return Outcome(801, str(e), str(e))
    except ImageError as e:
        return Outcome(200, str(e), str(e))
    except OSError as e:
        return Outcome(999, f"the cache cannot be written: {e}")


def _manifest(store: Store, job: Job, text: str) -> Outcome:
    from fatload.ptx.manifest import manifest_text_and_payload

    head, payload = manifest_text_and_payload(text)
    if job.options == "check":
        from fatload.ptx.reader import read

        read(text)
        head += "checked\n"
    store.write(job.module, "manifest", head, payload)
    return Outcome(0)


def _main(connection: Connection) -> None:
    """A worker's life: jobs in, outcomes out, until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    done = 0
    while True:
        try:
            job = connection.recv()
        except (EOFError, OSError):
            return
        try:
            outcome = perform(job)
        except RecursionError:
            outcome = Outcome(218, "nested too deeply")
        except MemoryError:
            outcome = Outcome(2, "out of memory while translating")
        except Exception as e:  # a bug of ours must reach the user as an error of this kernel
            import traceback

            traceback.print_exc(file=sys.stderr)
            outcome = Outcome(999, f"internal error while translating {job.kernel}: {type(e).__name__}: {e}")
        done += 1
        connection.send((outcome, done < JOBS_A_WORKER))


class _Worker:
    def __init__(self, context: Any) -> None:
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_main, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def run(self, job: Job) -> tuple[Outcome, bool]:
        """The outcome, and whether the worker can go on. Raises EOFError if it died."""
        self.connection.send(job)
        outcome, good = self.connection.recv()
        return outcome, good

    def close(self) -> None:
        self.connection.close()
        self.process.join(0.5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Pool:
    """A number of workers, started when they are first needed."""

    def __init__(self, count: int) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["fatload.service.preload"])
        self._free: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        self.count = count
        for _ in range(count):
            self._free.put(None)
        self._lock = threading.Lock()
        self.busy = 0

    def run(self, job: Job) -> Outcome:
        """Does a job in a worker; waits for a free one."""
        worker = self._free.get()
        with self._lock:
            self.busy += 1
        good = False
        try:
            worker = worker or _Worker(self._context)
            try:
                outcome, good = worker.run(job)
            except (EOFError, OSError):
                worker.process.join(5)
                code = worker.process.exitcode
                outcome = Outcome(
                    999, f"the translation of {job.kernel or job.module} ended the worker ({_died(code)}){_save(job)}"
                )
            return outcome
        finally:
            if worker is not None and not good:
                worker.close()
                worker = None
            with self._lock:
                self.busy -= 1
            self._free.put(worker)

    def idle(self) -> bool:
        """Whether no worker is busy."""
        return self.busy == 0

    def close(self) -> None:
        """Ends all free workers."""
        for _ in range(self.count):
            try:
                worker = self._free.get_nowait()
            except queue.Empty:
                return
            if worker is not None:
                worker.close()


def _died(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            pass
    return f"exit status {code}"


def _save(job: Job) -> str:
    """Keeps the PTX of a job that killed its worker, for a report."""
    try:
        text = module_text(Store(Path(job.cache)), job.module)
        folder = Path(tempfile.gettempdir()) / f"fatload-{os.getuid()}-crashes"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{job.module[:16]}-{os.getpid()}.ptx"
        path.write_text(f"// kernel {job.kernel}, target {job.target}, shape {job.shape}\n{text}")
        return f"; its PTX is in {path}"
    except (OSError, ImageError, Unsupported):
        return ""
