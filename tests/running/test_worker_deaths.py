"""Worker processes that hang or die."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from uvicorn.supervisors.multiprocess import SIGNALS

from bench.hello import application
from queues.server.server import configure
from queues.server.uvicorn_workers import Worker, Workers
from tests.support.waiting import wait_until

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


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=["hangs", "dies"])
def test_a_worker_that_hangs_or_dies_is_replaced(
    workers: Workers, number: signal.Signals, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.TASKQ_HUNG_AFTER_S = 2
    worker = begun(workers)

    os.kill(worker, number)

    def is_replaced() -> bool:
        workers.keep_subprocess_alive()
        return workers.processes[0].pid != worker

    wait_until(is_replaced, or_fail="it is not replaced")
    assert begun(workers) != worker
    hung = [vars(record)["pid"] for record in caplog.records if vars(record).get("action") == "kill_hung_child"]
    assert hung == ([worker] if number == signal.SIGSTOP else [])


def begun(workers: Workers) -> int:
    """Its process id, once it serves and its heart beats."""
    (process,) = workers.processes
    assert isinstance(process, Worker)

    def has_begun() -> bool:
        return process.is_alive() and process._detector._has_begun

    wait_until(has_begun, or_fail="it does not start", timeout_s=HEARD_WITHIN_S)
    assert process.pid is not None
    return process.pid
