"""``fatload serve``: answers requests for manifests and objects on a Unix socket until it has been idle for a while."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import socket
import stat
import struct
import threading
import time
from pathlib import Path

from fatload.cache.key import codegen_version, module_id, object_id
from fatload.cache.store import Store, parse_size
from fatload.service import protocol
from fatload.service.images import keep, kept
from fatload.service.protocol import Reply
from fatload.service.worker import Job, Outcome, Pool

log = logging.getLogger("fatload.serve")


class ServeError(Exception):
    """Why the service cannot start."""


def private_folder(path: Path) -> None:
    """Makes a folder that only this user can enter, or makes sure that it is one."""
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise ServeError(f"{path} is not a folder that only this user can enter")


class Server:
    """One a user and cache directory."""

    def __init__(self, cache: Path, jobs: int, idle: float) -> None:
        self.store = Store(cache)
        self.cache = cache
        self.pool = Pool(jobs)
        self.idle_seconds = idle
        self.used = time.monotonic()
        self.connections = 0
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._in_flight: dict[str, threading.Event] = {}

    def run(self) -> bool:
        """Serves until idle or stopped. False if another process serves already."""
        path = protocol.socket_path(self.cache)
        private_folder(path.parent)
        lock = open(path.with_suffix(".serving"), "w")  # noqa: SIM115 - held for the life of the process
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        os.chmod(path, 0o600)
        listener.listen(128)
        listener.settimeout(0.5)
        self.store.sweep()
        log.info("serving %s at %s", self.cache, path)
        try:
            while not self.stopping.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    if self._is_idle():
                        break
                    continue
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
        finally:
            path.unlink(missing_ok=True)
            listener.close()
            self._prune()
            self.pool.close()
        return True

    def _is_idle(self) -> bool:
        with self._lock:
            return self.pool.idle() and time.monotonic() - self.used > self.idle_seconds

    def _prune(self) -> None:
        limit = os.environ.get("FATLOAD_CACHE_SIZE")
        if limit:
            try:
                self.store.prune(parse_size(limit))
            except ValueError as e:
                log.warning("FATLOAD_CACHE_SIZE: %s", e)

    # -- connections --------------------------------------------------------------------------------------------------

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            _, uid, _ = struct.unpack("3i", credentials)
            if uid != os.geteuid():
                log.warning("refused a connection of user %d", uid)
                return
            try:
                while True:
                    operation, fields = protocol.receive_request(connection)
                    self.used = time.monotonic()
                    reply = self.answer(operation, fields)
                    protocol.send_reply(connection, reply)
                    self.used = time.monotonic()
                    if operation == protocol.STOP:
                        self.stopping.set()
                        return
            except (EOFError, ConnectionError):
                return
            except (ValueError, struct.error) as e:
                log.warning("bad request: %s", e)

    def answer(self, operation: int, fields: list[bytes]) -> Reply:
        """The answer to one request."""
        try:
            if operation == protocol.PING:
                return Reply(0, codegen_version())
            if operation == protocol.STOP:
                return Reply(0, "stopping")
            if operation == protocol.MANIFEST:
                return self._manifest(fields)
            if operation == protocol.OBJECT:
                return self._object(fields)
            return Reply(1, f"unknown operation {operation}")
        except (ValueError, UnicodeDecodeError) as e:
            return Reply(1, f"bad request: {e}")
        except OSError as e:
            return Reply(999, f"the cache cannot be written: {e}")

    def _manifest(self, fields: list[bytes]) -> Reply:
        if len(fields) < 4:
            raise ValueError("too few fields")
        module, options = fields[0].decode(), fields[1].decode()
        images = protocol.parse_images(fields[2:])
        if module_id(images) != module:
            raise ValueError("the images do not have this id")
        if kept(self.store, module) is None:
            keep(self.store, module, images)
        return self._once(f"{module}.manifest.{options}", Job("manifest", str(self.cache), module, options=options))

    def _object(self, fields: list[bytes]) -> Reply:
        if len(fields) < 5:
            raise ValueError("too few fields")
        module, kernel, target, shape, options = (f.decode() for f in fields[:5])
        if len(fields) > 5:
            images = protocol.parse_images(fields[5:])
            if module_id(images) != module:
                raise ValueError("the images do not have this id")
            keep(self.store, module, images)
        elif kept(self.store, module) is None:
            return Reply(protocol.NEED_IMAGES, "images are needed")
        id_ = object_id(module, kernel, target, shape, options)
        return self._once(
            id_,
            Job("object", str(self.cache), module, kernel, target, shape, options),
            lambda: self.store.read(id_, "object") is not None,
        )

    def _once(self, key: str, job: Job, present: object = None) -> Reply:
        """Does a job, unless another connection is doing it: then waits for that and looks again."""
        while True:
            with self._lock:
                waiting = self._in_flight.get(key)
                if waiting is None:
                    mine = self._in_flight[key] = threading.Event()
                    break
            waiting.wait()
            if callable(present) and present():
                return Reply(0)
        try:
            outcome: Outcome = self.pool.run(job)
        finally:
            with self._lock:
                del self._in_flight[key]
            mine.set()
        return Reply(outcome.result, outcome.message, outcome.log)


def serve(cache: Path, jobs: int, idle: float) -> bool:
    """Runs the service in this process. Returns False if there is one already."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    server = Server(cache, jobs, idle)
    signal.signal(signal.SIGTERM, lambda *_: server.stopping.set())
    return server.run()
