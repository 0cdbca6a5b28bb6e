"""Fixtures of the library's tests: an app on the tests' real Redis, and workers that run in the test's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from taskq import App
from taskq.worker import StopReason, Worker, WorkerOptions
from tests.support.python_path import python_path
from tests.support.waiting import wait_until

NAMESPACE = "sdk"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def anyio_backend() -> str:
    """What runs the tests that are coroutines."""
    return "asyncio"


@pytest.fixture(scope="session")
def forked_taskq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What stands for `python -m taskq` where the process is not what is tested: a fork of one that has imported it."""
    place = str(tmp_path_factory.mktemp("taskq") / "socket")
    program = str(ROOT / "tests" / "support" / "forked_taskq.py")
    env = {**os.environ, "PYTHONPATH": python_path(ROOT)}
    with subprocess.Popen([sys.executable, program, "serve", place], stdin=subprocess.PIPE, env=env) as server:
        wait_until(Path(place).exists, or_fail="no server of commands")
        yield [sys.executable, "-I", "-S", program, "call", place]
        assert server.stdin is not None
        server.stdin.close()


@pytest.fixture
def app(redis_url: str) -> Iterator[App]:
    app = App(redis_url, namespace=NAMESPACE)
    yield app
    app.broker.close()


def make_worker(app: App, **options: Any) -> Worker:
    return Worker(app, WorkerOptions(**{"queues": {"default": 1}, "lease_s": 5.0, "grace_s": 2.0, **options}))


def work(app: App, **options: Any) -> Worker:
    """A worker that has run until nothing was ready any more."""
    worker = make_worker(app, burst=True, **options)
    assert asyncio.run(worker.run()) is StopReason.EMPTY
    return worker


@contextlib.asynccontextmanager
async def working(app: App, **options: Any) -> AsyncIterator[Worker]:
    """A worker that runs beside the test, and is told to stop at its end."""
    worker = make_worker(app, **options)
    running = asyncio.create_task(worker.run())
    try:
        yield worker
        if not worker.is_stopping:
            worker.stop()
        await asyncio.wait_for(running, 20)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(condition: Any, *, or_fail: str, timeout_s: float = 10.0) -> Any:
    """Wait until a condition, sync or async, is true; its value."""
    ends = asyncio.get_running_loop().time() + timeout_s
    while True:
        value = condition()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return value
        assert asyncio.get_running_loop().time() < ends, or_fail
        await asyncio.sleep(0.01)
