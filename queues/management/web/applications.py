"""What a worker serves: everything, or all but the pages.

Imports that need Django set up are within the functions: a worker begins with this module, and without Django.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import django


def load_application(directory: Path) -> Callable[..., Any]:
    """Everything. It counts together with the other workers in `directory`."""
    django.setup()
    from queues.api.metrics.process import count_together

    from .site import Site, make_api_middleware

    application = make_api_middleware(Site())
    count_together(directory)
    return application


def load_worker(directory: Path) -> Callable[..., Any]:
    """The API of producers and consumers; the pages process on the socket in `directory` does the rest."""
    django.setup()
    from queues.api.context import CONTEXT
    from queues.api.fast_path import FastPath
    from queues.api.metrics.process import count_together
    from queues.api.routes import ROUTER

    from .pages_client import PagesClient, WorkerMiddleware
    from .pages_process import SOCKET

    count_together(directory)
    return WorkerMiddleware(FastPath(ROUTER, CONTEXT), PagesClient(directory / SOCKET))
