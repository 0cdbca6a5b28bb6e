"""Worker processes that die as the main process asks them whether they live."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from uvicorn.supervisors.multiprocess import SIGNALS, Process

from bench.hello import application
from queues.management.web.server import Workers, configure
from tests.support.waiting import wait_until

ASKED_S = 90
HEARD_WITHIN_S = 60


def load() -> Any:
    """What the worker serves."""
    return application


@pytest.fixture
def workers() -> Iterator[Workers]:
    """One worker, without a socket. The signal handlers that it sets are put back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    workers = Workers(configure(load, workers=1), sockets=[])
    try:
        workers.init_processes()
        yield workers
    finally:
        for process in workers.processes:
            process.kill()
            process.join()
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_worker_that_dies_as_it_is_asked_is_missed_at_once_and_replaced(workers: Workers) -> None:
    worker = started(workers)
    os.kill(worker, signal.SIGSTOP)
    with ThreadPoolExecutor() as pool:
        lives = pool.submit(workers.processes[0].is_alive, timeout=ASKED_S)
        with pytest.raises(TimeoutError):
            lives.result(timeout=0.5)  # it is being asked

        os.kill(worker, signal.SIGKILL)

        assert lives.result(timeout=HEARD_WITHIN_S) is False
    workers.keep_subprocess_alive()
    assert started(workers) != worker


def started(workers: Workers) -> int:
    """Its process id, once it answers."""
    (process,) = workers.processes
    assert isinstance(process, Process)
    wait_until(lambda: process.is_alive(timeout=1), or_fail="it does not start", timeout_s=HEARD_WITHIN_S)
    assert process.pid is not None
    return process.pid
