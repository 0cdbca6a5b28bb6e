"""The web server: Granian with the ASGI application."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from granian import Granian
from granian.constants import HTTPModes, Interfaces, RuntimeModes
from granian.log import LogLevels

from queues.embedded import follow_parent

APPLICATION: Final = "taskq_site.asgi:application"

BACKLOG: Final = 4096
"""Connections that wait to be accepted; the system may allow fewer."""

REQUESTS_MAX: Final = 65_536
"""Requests under way in one worker: long polls are most of them. Further connections wait to be served."""

GARBAGE_THRESHOLD: Final = 20_000
"""Objects made until the youngest are looked through for garbage: about those of a few hundred requests under way."""

STOP_TIMEOUT_S: Final = 10
"""How long a worker may take to finish its requests when the server stops."""


def serve(*, host: str, port: int, workers: int) -> None:
    """Serve until SIGTERM or SIGINT. Workers that die are replaced, and never outlive this process."""
    with TemporaryDirectory(prefix="taskq-workers-", ignore_cleanup_errors=True) as directory:
        _serve(host=host, port=port, workers=workers, directory=Path(directory))


def _serve(*, host: str, port: int, workers: int, directory: Path) -> None:
    """`directory`: where the workers tell each other what they counted."""
    _allow_open_files()
    server = Granian(
        APPLICATION,
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        # A connection that might turn out to be HTTP/2 takes 15 KiB more, and consumers wait by the thousand.
        http=HTTPModes.http1,
        runtime_mode=RuntimeModes.st,
        workers=workers,
        backlog=BACKLOG,
        backpressure=REQUESTS_MAX,
        websockets=False,
        log_level=LogLevels.warning,
        respawn_failed_workers=True,
        workers_kill_timeout=STOP_TIMEOUT_S,
    )
    server.serve(target_loader=partial(load_application, os.getpid(), directory), wrap_loader=False)


def load_application(server_pid: int, directory: Path) -> Callable[..., Any]:
    """What each worker calls first: tie it to the server process, load the application, count with the others.

    Granian's workers do not notice when its main process is killed; they would go on holding the port.
    """
    follow_parent(server_pid)
    module, _, name = APPLICATION.partition(":")
    application: Callable[..., Any] = getattr(import_module(module), name)
    from queues.api.metrics.process import count_together  # needs Django set up, as loading the application does

    count_together(directory)
    _set_aside_what_stays()
    return application


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
