"""One server for the tests of a module, and a connection to it for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http.two_servers_connection import Wire

from .serving import Server, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    with Wire(server.url) as wire:
        yield wire
