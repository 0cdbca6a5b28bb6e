"""`manage.py serve`: told to stop while it is busy, and where it cannot listen."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPException

import pytest

from queues.engine import open_engine, stats
from queues.server.server import CannotListenError, _listen
from tests.http.service import Server, Site, open_site
from tests.running.processes import ROOT, run_manage
from tests.support.waiting import wait_until

PRODUCERS = 8
STOP_WITHIN_S = 20


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("serve")) as site:
        yield site


def produce(server: Server, queue: str, published: list[str]) -> None:
    """Publish until the server is gone; the ids of the jobs of which it said that it has them."""
    while True:
        try:
            published.append(server.client.publish(queue))
        except (OSError, HTTPException):
            return


def jobs_in(site: Site, queue: str) -> int:
    """How many jobs a queue of the namespace `demo` holds."""
    engine = open_engine(site.redis_url)
    try:
        return sum(engine.run(stats(engine.queue("demo", queue))).counts.values())
    finally:
        engine.close()


# A server of one worker handles signals itself; with more, the process that keeps them does.
@pytest.mark.parametrize(
    ("workers", "number"), [(1, signal.SIGINT), (2, signal.SIGTERM)], ids=["1-SIGINT", "2-SIGTERM"]
)
def test_no_job_is_lost_that_was_published_while_it_stopped(site: Site, workers: int, number: signal.Signals) -> None:
    queue = f"stop-{workers}"
    published: list[str] = []
    with site.serve(workers=workers) as server:
        producers = [threading.Thread(target=produce, args=(server, queue, published)) for _ in range(PRODUCERS)]
        for producer in producers:
            producer.start()
        wait_until(lambda: len(published) > 100, or_fail="hardly anything is published")

        server.process.send_signal(number)

        assert server.process.wait(STOP_WITHIN_S) == 0
        for producer in producers:
            producer.join()
    # One that was cut off may have published a job without hearing of it.
    assert len(published) <= jobs_in(site, queue) <= len(published) + PRODUCERS


@pytest.mark.parametrize(
    ("workers", "number"), [(1, signal.SIGTERM), (2, signal.SIGINT)], ids=["1-SIGTERM", "2-SIGINT"]
)
def test_a_second_signal_is_no_trouble(site: Site, workers: int, number: signal.Signals) -> None:
    with site.serve(workers=workers) as server:
        server.process.send_signal(number)
        server.process.send_signal(number)

        assert server.process.wait(STOP_WITHIN_S) == 0
        assert "Traceback" not in server.log.read_text()


STOPPED_IN_A_FINALIZER = """
import os, signal
from queues.server.server import run

class Stops:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

def load():
    Stops()
    return None

run(load, host="127.0.0.1", port=0, workers=1)
"""


def test_a_stop_is_heard_in_a_finalizer_while_it_loads(site: Site) -> None:
    """Python ignores exceptions there, and shows them."""
    command = [sys.executable, "-c", STOPPED_IN_A_FINALIZER]

    done = subprocess.run(
        command, cwd=ROOT, env=site.env, capture_output=True, text=True, timeout=3 * STOP_WITHIN_S, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_port_that_is_taken_is_named(site: Site, workers: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        done = run_manage("serve", "--port", str(port), "--workers", str(workers), env=site.env)

    assert done.returncode == 1
    assert done.stderr.strip().endswith(f"cannot listen on 127.0.0.1:{port}: [Errno 98] Address already in use")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("fd", [-1, 10**6, 10**12])
def test_an_open_file_that_is_none_is_named(fd: int) -> None:
    with pytest.raises(CannotListenError, match=f"cannot listen on the open file {fd}: "):
        _listen("", 0, fd)


def test_a_file_that_is_no_socket_is_named() -> None:
    with open(os.devnull, "rb") as file, pytest.raises(CannotListenError, match="Socket operation on non-socket"):
        _listen("", 0, file.fileno())
