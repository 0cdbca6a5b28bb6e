"""pytest's fixtures of `taskq.testing`. In your conftest.py:

pytest_plugins = ["taskq.pytest_plugin"]

@pytest.fixture
def taskq_app():
    from shop.tasks import app
    return app
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .app import App
from .testing import Inline, Manual, inline, manual, worker_thread
from .worker import Worker


@pytest.fixture
def taskq_app() -> App:
    """The app whose tasks are tested; override it."""
    raise pytest.UsageError("define a fixture taskq_app that returns your taskq.App")


@pytest.fixture
def taskq_inline(taskq_app: App) -> Iterator[Inline]:
    """Tasks run as they are enqueued."""
    with inline(taskq_app) as mode:
        yield mode


@pytest.fixture
def taskq_manual(taskq_app: App) -> Iterator[Manual]:
    """Tasks run when the test says so, by a clock of its own."""
    with manual(taskq_app) as mode:
        yield mode


@pytest.fixture
def taskq_worker(taskq_app: App) -> Iterator[Worker]:
    """A real worker runs tasks, in a thread, on a private Redis."""
    with worker_thread(taskq_app) as worker:
        yield worker
