"""What the kernel says of a client that waits."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator

import pytest

from queues.api.peer import Peer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sock_diag is Linux's")


@pytest.fixture(params=[("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)], ids=["IPv4", "IPv6"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The client's end of a connection, and the server's."""
    address, family = request.param
    with socket.socket(family) as listener:
        try:
            listener.bind((address, 0))
        except OSError:
            pytest.skip(f"no {address} here")
        listener.listen()
        with socket.create_connection(listener.getsockname()[:2]) as client:
            server, _ = listener.accept()
            with server:
                yield client, server


def peer_of(server: socket.socket, *, listens_on: str | None = None) -> Peer:
    here, there = server.getsockname(), server.getpeername()
    return Peer({"server": (listens_on or here[0], str(here[1])), "client": (there[0], str(there[1]))})


def test_who_is_there_has_not_hung_up(ends: tuple[socket.socket, socket.socket]) -> None:
    assert not peer_of(ends[1]).has_hung_up()


def test_who_closed_its_end_has(ends: tuple[socket.socket, socket.socket]) -> None:
    client, server = ends
    peer = peer_of(server)

    client.close()

    assert peer.has_hung_up()


def test_a_connection_that_is_no_more_has(ends: tuple[socket.socket, socket.socket]) -> None:
    client, server = ends
    peer = peer_of(server)

    server.close()
    client.close()

    assert peer.has_hung_up()


def test_a_server_that_listens_everywhere_finds_its_clients(ends: tuple[socket.socket, socket.socket]) -> None:
    client, server = ends
    peer = peer_of(server, listens_on="::" if server.family == socket.AF_INET6 else "0.0.0.0")
    assert not peer.has_hung_up()

    client.close()

    assert peer.has_hung_up()


@pytest.mark.parametrize(
    "scope",
    [{}, {"server": None, "client": None}, {"server": ("127.0.0.1", "1"), "client": ("127.0.0.1", "2")}],
    ids=["nothing known", "a unix socket", "another network's addresses"],
)
def test_whom_nothing_is_known_of_has_not(scope: dict[str, object]) -> None:
    assert not Peer(scope).has_hung_up()
