"""Clients that take or send more than the server can hold, or are more than it may have."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.http.two_servers_connection import Wire, request
from tests.support.waiting import wait_until

from .application import FLOOD
from .serving import Server, serving

MIB = 1_048_576
FILES_MAX = 64


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        server.call("/query")
        yield server


def memory(server: Server) -> float:
    """What the server has in memory (MiB)."""
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / MIB


def is_stuck(wire: Wire, raw: bytes) -> bool:
    """Sends as much of it as is taken at once; whether that was nothing."""
    try:
        os.set_blocking(wire.fileno(), False)
        return os.write(wire.fileno(), raw) == 0
    except BlockingIOError:
        return True
    finally:
        os.set_blocking(wire.fileno(), True)


def fill(wire: Wire, raw: bytes) -> int:
    """Send it again and again until the server has taken none for a while; how often it took some."""
    taken = 0
    while True:
        stuck_for = 0
        while is_stuck(wire, raw):
            stuck_for += 1
            if stuck_for > 20:
                return taken
            with Wire(wire.url) as other:  # the event loop has come round by the time it answers
                other.call(request("GET /query"))
        taken += 1


def test_what_a_slow_reader_does_not_take_is_not_made(server: Server) -> None:
    before = memory(server)
    wires = [Wire(server.url) for _ in range(20)]
    for wire in wires:
        wire.send(request("GET /flood"))
    for wire in wires:
        assert wire.receive_head() == 200
    server.call("/query")

    assert memory(server) < before + 32, "the server holds what nobody takes"
    for wire in wires:
        wire.hang_up()


def test_a_large_response_arrives_whole(server: Server) -> None:
    with Wire(server.url) as wire:
        assert wire.call(request("GET /flood")).body == bytes(FLOOD)


def test_an_upload_that_nobody_reads_is_held_up(server: Server) -> None:
    before = memory(server)
    with Wire(server.url) as wire:
        wire.send(b"PUT /block_upload?u HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n")
        server.wait_seen("u begun")

        taken = fill(wire, bytes(65_536))

        assert taken * 65_536 < 64 * MIB
        assert memory(server) < before + 16
        server.call("/release?u")
        assert wire.receive().body == b"u"


def test_thousands_of_requests_behind_one_that_waits_are_left_unread(server: Server) -> None:
    before = memory(server)
    wires = [Wire(server.url) for _ in range(10)]
    for wire in wires:
        wire.send(request("GET /wait?crowd"))
        fill(wire, request("GET /query") * 2_000)

    assert memory(server) < before + 32
    for wire in wires:
        wire.hang_up()


def test_more_connections_than_there_may_be_files_do_no_harm() -> None:
    with serving(files=FILES_MAX) as server:
        wires = [Wire(server.url) for _ in range(2 * FILES_MAX)]
        served = [is_served(wire) for wire in wires]
        assert any(served)
        assert not all(served)
        for wire in wires:
            wire.hang_up()

        wait_until(lambda: answers(server), or_fail="the server does not recover")


def is_served(wire: Wire) -> bool:
    try:
        return wire.call(request("GET /query?x")).status == 200
    except ConnectionError:
        return False


def answers(server: Server) -> bool:
    with Wire(server.url) as wire:
        return is_served(wire)


def test_an_answer_that_its_client_does_not_take_is_not_kept_for_ever() -> None:
    with serving(idle_max_s=1) as server, Wire(server.url) as wire:
        wire.send(request("GET /flood"))
        assert wire.receive_head() == 200
        files = Path(f"/proc/{server.process.pid}/fd")
        open_files = len(list(files.iterdir()))

        wait_until(lambda: len(list(files.iterdir())) < open_files, or_fail="the server still waits for its client")


def test_an_answer_that_waits_in_the_kernel_is_not_kept_for_longer_than_others() -> None:
    """The kernel takes it whole, so only a look at the connection shows that the client does not."""
    idle_max_s = 4
    with serving(idle_max_s=idle_max_s) as server, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        parts = urlsplit(server.url)
        client.connect((str(parts.hostname), parts.port or 80))
        client.sendall(request("GET /cared_for"))
        began = time.monotonic()

        server.wait_seen("not delivered")

        assert time.monotonic() - began < 1.5 * idle_max_s


def test_a_server_listens_on_ipv6() -> None:
    with serving(host="::1") as server:
        assert server.call("/query?six").body == b"six"
