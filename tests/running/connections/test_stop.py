"""How a web server stops."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from queues.server.server import run
from tests.http.two_servers_connection import Wire, request
from tests.running.processes import ROOT, Family
from tests.support.waiting import wait_until

from .application import Application
from .serving import Server, free_port, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def test_a_server_that_is_told_to_stop_finishes_what_is_under_way(server: Server) -> None:
    with Wire(server.url) as wire, Wire(server.url) as idle:
        idle.call(request("GET /query"))
        wire.send(b"POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n")
        assert wire.receive_head() == 100
        wire.send(b"abc")
        server.process.send_signal(signal.SIGTERM)
        wait_until(server.refuses, or_fail="the server still listens")
        assert idle.is_closed()

        answer = wire.call(b"def")

        assert (answer.status, answer.body, answer.header("connection")) == (200, b"abcdef", "close")
        assert wire.is_closed()
    assert server.process.wait(30) == 0
    assert server.log.read_text() == ""


def test_a_server_that_has_hardly_begun_to_listen_stops_when_told(server: Server) -> None:
    """It may not have got to where uvicorn looks after signals."""
    server.process.send_signal(signal.SIGTERM)

    assert server.process.wait(30) == 0


def test_a_server_that_is_still_loading_stops_when_told() -> None:
    command = [sys.executable, "-c", f"from {__name__} import stop_in_load; stop_in_load()"]

    done = subprocess.run(command, cwd=ROOT, env=Family().environment(), capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")


def stop_in_load() -> None:
    """Serve, were it not for a signal that comes before the application is loaded."""

    def load() -> Application:
        signal.raise_signal(signal.SIGTERM)
        return Application()

    run(load, host="127.0.0.1", port=free_port(), workers=1)
