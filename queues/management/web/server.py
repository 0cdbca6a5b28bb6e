"""The web server: uvicorn with the ASGI application, and connections of our own."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import uvicorn
from django.conf import settings

from queues.embedded import follow_parent

from ..local.errors import CannotStartError
from .applications import load_application, load_worker
from .connection import Connection
from .pages_process import PagesProcess
from .runtime_directory import runtime_directory
from .uvicorn_workers import BeatingServer, Workers

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


def serve(*, host: str, port: int, workers: int) -> None:
    """Serve until SIGTERM or SIGINT. Workers that die are replaced, and never outlive this process."""
    with runtime_directory() as directory:
        if settings.TASKQ_FAST_LANE and settings.TASKQ_PAGES_PROCESS:
            with PagesProcess(directory):
                run(partial(load_worker, directory), host=host, port=port, workers=workers)
        else:
            run(partial(load_application, directory), host=host, port=port, workers=workers)


def run(load: Callable[[], Any], *, host: str, port: int, workers: int, idle_max_s: int = IDLE_MAX_S) -> None:
    """Serve what `load` answers in each worker; one worker is this process itself. Raises CannotStartError."""
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
        Workers(config, sockets=[_listen(host, port)]).run()
        return
    server = BeatingServer(config)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(note_stop, server))
    config.load()  # before there is an event loop, in which Django would refuse to look at its database
    if not server.should_exit:
        server.run(sockets=[_listen(host, port)])


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


def _listen(host: str, port: int) -> socket.socket:
    """Raises CannotStartError."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)  # where SO_REUSEADDR lets two bind, only one may listen
    except (OSError, OverflowError) as error:
        raise CannotStartError(f"cannot listen on {host}:{port}: {error}") from error
    listener.set_inheritable(True)
    return listener


def _load_in(server_pid: int, load: Callable[[], Any]) -> Any:
    """What each worker calls first. One that does not notice that the main process was killed would hold the port."""
    if os.getpid() != server_pid:
        follow_parent(server_pid)
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
