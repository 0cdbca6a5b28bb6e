"""The web server: uvicorn with the ASGI application, and connections of our own."""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import uvicorn
from uvicorn.supervisors import Multiprocess

from queues.embedded import follow_parent

from ..local.errors import CannotStartError
from .connection import Connection

APPLICATION: Final = "taskq_site.asgi:application"

BACKLOG: Final = 4096
"""Connections that wait to be accepted; the system may allow fewer."""

GARBAGE_THRESHOLD: Final = 20_000
"""Objects made until the youngest are looked through for garbage: about those of a few hundred requests under way."""

STOP_TIMEOUT_S: Final = 10
"""How long requests may take to finish when the server stops."""

IDLE_MAX_S: Final = 75
"""How long a connection may be silent when it is the client's turn."""

HUNG_AFTER_S: Final = 30
"""A worker whose threads do not run for so long is replaced."""


def serve(*, host: str, port: int, workers: int) -> None:
    """Serve until SIGTERM or SIGINT. Workers that die are replaced, and never outlive this process."""
    with TemporaryDirectory(prefix="taskq-workers-", ignore_cleanup_errors=True) as directory:
        run(partial(load_application, Path(directory)), host=host, port=port, workers=workers)


def run(load: Callable[[], Any], *, host: str, port: int, workers: int, idle_max_s: int = IDLE_MAX_S) -> None:
    """Serve what `load` answers in each worker; one worker is this process itself. Raises CannotStartError."""
    _allow_open_files()
    config = uvicorn.Config(
        partial(_load_in, os.getpid(), load),
        factory=True,
        interface="asgi3",
        host=host,
        port=port,
        workers=workers,
        http=Connection,
        loop="uvloop",
        ws="none",
        lifespan="on",
        backlog=BACKLOG,
        timeout_keep_alive=idle_max_s,
        timeout_graceful_shutdown=STOP_TIMEOUT_S,
        timeout_worker_healthcheck=HUNG_AFTER_S,
        access_log=False,
        log_config=None,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
    )
    if workers > 1:
        Multiprocess(config, sockets=[_listen(host, port)]).run()
        return
    server = uvicorn.Server(config)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(_stop_quietly, server))
    config.load()  # before there is an event loop, in which Django would refuse to look at its database
    server.run(sockets=[_listen(host, port)])


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


def load_application(directory: Path) -> Callable[..., Any]:
    """The application, which counts together with the other workers in `directory`."""
    module, _, name = APPLICATION.partition(":")
    application: Callable[..., Any] = getattr(import_module(module), name)
    from queues.api.metrics.process import count_together  # needs Django set up, as loading the application does

    count_together(directory)
    return application


def _load_in(server_pid: int, load: Callable[[], Any]) -> Any:
    """What each worker calls first. One that does not notice that the main process was killed would hold the port."""
    if os.getpid() != server_pid:
        follow_parent(server_pid)
    application = load()
    _set_aside_what_stays()
    return application


def _stop_quietly(server: uvicorn.Server, _number: int, _frame: Any) -> None:
    """uvicorn finishes its work, then repeats the signal: nobody minds. One that comes before it looks must stop us."""
    if not server.should_exit:
        raise SystemExit(0)


def _set_aside_what_stays() -> None:
    """All that is loaded now stays. To look through it for garbage takes longer than requests should have to wait."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)


def _allow_open_files() -> None:
    """A waiting consumer is a connection: as many as the system lets this process have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
