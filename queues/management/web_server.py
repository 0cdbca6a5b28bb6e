"""The web server: Granian with the ASGI application."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from granian import Granian
from granian.constants import Interfaces
from granian.log import LogLevels

from queues.embedded import follow_parent

APPLICATION: Final = "taskq_site.asgi:application"

STOP_TIMEOUT_S: Final = 10
"""How long a worker may take to finish its requests when the server stops."""


def serve(*, host: str, port: int, workers: int) -> None:
    """Serve until SIGTERM or SIGINT. Workers that die are replaced, and never outlive this process."""
    with TemporaryDirectory(prefix="taskq-workers-") as directory:
        _serve(host=host, port=port, workers=workers, directory=Path(directory))


def _serve(*, host: str, port: int, workers: int, directory: Path) -> None:
    """`directory`: where the workers tell each other what they counted."""
    server = Granian(
        APPLICATION,
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        workers=workers,
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
    return application
