"""The web server: uvicorn with the ASGI application, and connections of our own."""

from __future__ import annotations

import ctypes
import fcntl
import gc
import logging
import os
import resource
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import django
import uvicorn
from django.conf import settings

from queues.supervision import ChildSpec, RestartPolicy, Supervisor, end_with_parent

from .connection import Connection
from .uvicorn_workers import BeatingServer, Workers

logger = logging.getLogger(__name__)

BACKLOG: Final = 4096
"""Connections that wait to be accepted; the system may allow fewer."""

GARBAGE_THRESHOLD: Final = 20_000
"""Objects made until the youngest are looked through for garbage: about those of a few hundred requests under way."""

STOP_TIMEOUT_S: Final = 10
"""How long requests may take to finish when the server stops."""

IDLE_MAX_S: Final = 75
"""How long a connection may be silent when it is the client's turn."""

READY_WITHIN_S: Final = 60
"""How long a worker may take to start that is to take another one's place (SIGHUP)."""

MMAP_THRESHOLD_BYTES: Final = 131_072
_M_MMAP_THRESHOLD: Final = -3

SOCKET: Final = "pages.sock"
"""Where the pages process listens, in the directory that the main process shares with those that it starts."""

PAGES_STOP_TIMEOUT_S: Final = 4.0
"""Pages take moments; workers, which end before, may have taken long already."""

PAGES_RESTARTS: Final = RestartPolicy(longest_pause_s=10.0, give_up_after=None, action="pages.restart")

PREFIX: Final = "taskq-serve-"
"""Of the names of directories that the processes of one server share."""


class CannotListenError(Exception):
    """The address cannot be listened on. The message is one line that says what to do."""


def serve(*, host: str, port: int, workers: int, fd: int | None = None) -> None:
    """Serve until SIGTERM or SIGINT. Workers that die are replaced, and never outlive this process.

    `fd`: an open socket in place of `host` and `port`. While whoever opened it starts another server on it, connections
    wait instead of being refused. Raises CannotListenError.
    """
    with runtime_directory() as directory:
        if settings.TASKQ_FAST_PATH and settings.TASKQ_PAGES_PROCESS:
            with pages_process(directory):
                run(partial(load_worker, directory), host=host, port=port, workers=workers, fd=fd)
        else:
            run(partial(load_application, directory), host=host, port=port, workers=workers, fd=fd)


def run(
    load: Callable[[], Any],
    *,
    host: str,
    port: int,
    workers: int,
    fd: int | None = None,
    idle_max_s: int = IDLE_MAX_S,
) -> None:
    """Serve what `load` answers in each worker; one worker is this process itself. Raises CannotListenError."""
    allow_open_files()
    config = configure(
        partial(_load_in, os.getpid(), load),
        host=host,
        port=port,
        workers=workers,
        timeout_keep_alive=idle_max_s,
        timeout_worker_healthcheck=READY_WITHIN_S,
    )
    if workers > 1:
        Workers(config, sockets=[_listen(host, port, fd)]).run()
        return
    server = BeatingServer(config)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(note_stop, server))
    config.load()  # before there is an event loop, in which Django would refuse to look at its database
    if not server.should_exit:
        server.run(sockets=[_listen(host, port, fd)])


def load_application(directory: Path) -> Callable[..., Any]:
    """The application that serves everything. It counts together with the other workers in `directory`."""
    django.setup()
    from queues.api.metrics.process import count_together

    from .applications import Site, make_api_middleware

    application = make_api_middleware(Site())
    count_together(directory)
    return application


def load_worker(directory: Path) -> Callable[..., Any]:
    """The application that serves the API of producers and consumers, and hands the rest to the pages process.

    That listens on the socket in `directory`.
    """
    django.setup()
    from queues.api.context import CONTEXT
    from queues.api.fast_path import FastPath
    from queues.api.metrics.process import count_together
    from queues.api.routes import ROUTER

    from .applications import WorkerMiddleware
    from .connection_sender import ConnectionSender

    count_together(directory)
    return WorkerMiddleware(FastPath(ROUTER, CONTEXT), ConnectionSender(directory / SOCKET))


def configure(load: Callable[[], Any], **particulars: Any) -> uvicorn.Config:
    """How to serve what `load` answers: with connections of our own, and no frills."""
    return uvicorn.Config(
        load,
        factory=True,
        interface="asgi3",
        http=Connection,
        loop="uvloop",
        ws="none",
        lifespan="on",
        backlog=BACKLOG,
        timeout_graceful_shutdown=STOP_TIMEOUT_S,
        access_log=False,
        log_config=None,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        **particulars,
    )


def _listen(host: str, port: int, fd: int | None) -> socket.socket:
    """Raises CannotListenError."""
    try:
        if fd is not None:
            listener = socket.socket(fileno=fd)
        else:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections of a server before may linger
        if fd is None:
            listener.bind(address)
        listener.listen(BACKLOG)  # where SO_REUSEADDR lets two bind, only one may listen
    except (OSError, OverflowError, ValueError) as error:  # what a number may not be is an error of any of these
        where = f"{host}:{port}" if fd is None else f"the open file {fd}"
        raise CannotListenError(f"cannot listen on {where}: {error}") from error
    listener.set_inheritable(True)
    return listener


def _load_in(server_pid: int, load: Callable[[], Any]) -> Any:
    """What each worker calls first. One that does not notice that the main process was killed would hold the port."""
    if os.getpid() != server_pid:
        end_with_parent(server_pid)
    gc.disable()  # until all is loaded: nearly all of it stays
    application = load()
    if settings.configured:  # not where a server is measured by itself
        Connection.connections_max = settings.TASKQ_WORKER_CONNECTIONS
    set_aside_what_stays()
    return application


def note_stop(server: uvicorn.Server, _number: int, _frame: Any) -> None:
    """A signal before the server looks at signals itself, or when it has ended and repeats those that it got.

    An exception would be lost where Python ignores them, in finalizers, of which loading has many.
    """
    server.should_exit = True


def set_aside_what_stays() -> None:
    """All that is loaded now stays. To look through it for garbage takes longer than requests should have to wait."""
    return_large_memory()
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    gc.enable()


def return_large_memory() -> None:
    """Have glibc give the memory of large buffers back to the system as soon as they are freed.

    By itself it raises its threshold with the first large buffer that is freed, and keeps what is below it.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)


def allow_open_files() -> None:
    """A waiting consumer is a connection: as many as the system lets this process have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def pages_process(directory: Path) -> Iterator[None]:
    """Keep the pages process running, which listens in `directory`.

    To be left when the workers have ended: they may need it for requests under way.
    """
    spec = ChildSpec(
        name="pages",
        argv=(*settings.TASKQ_COMMAND, "servepages", str(directory)),
        leads_group=False,
        hung_after_s=settings.TASKQ_HUNG_AFTER_S,
        stop_timeout_s=PAGES_STOP_TIMEOUT_S,
        restarts=PAGES_RESTARTS,
    )
    supervisor = Supervisor(logger)
    thread = threading.Thread(target=_keep, args=(supervisor, spec), name="taskq-pages", daemon=True)
    thread.start()
    try:
        yield
    finally:
        supervisor.ask_to_stop()
        thread.join()


def _keep(supervisor: Supervisor, spec: ChildSpec) -> None:
    try:
        supervisor.start(spec)
        supervisor.run()
    finally:
        supervisor.stop()


@contextmanager
def runtime_directory() -> Iterator[Path]:
    """A new directory that only this user may enter; it goes in the end.

    Those that killed servers of this user have left behind go at once. A server locks its directory for as long as it
    lives, so that nobody takes it for one of those.
    """
    _remove_abandoned()
    path, lock = _make()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _make() -> tuple[Path, int]:
    """The directory, and the file descriptor that holds its lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = _lock(path)
        if lock is not None:
            return path, lock  # another one that starts may have removed it before it was locked


def _remove_abandoned() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = _lock(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _lock(path: Path) -> int | None:
    """Lock a directory of this user's. None: it is not one, it is gone, or somebody holds the lock."""
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(directory)
        if found.st_uid == os.getuid() and os.path.samestat(found, path.stat()):
            return directory
    os.close(directory)
    return None
