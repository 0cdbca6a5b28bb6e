"""One server for all tests of the API, and a queue of its own for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.http.client import Client
from tests.http.service import Server, Site, open_site

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with open_site(tmp_path_factory.mktemp("http")) as site:
        yield site


@pytest.fixture(scope="session")
def server(site: Site) -> Iterator[Server]:
    with site.serve() as server:
        server.wait_for_pages()
        yield server


@pytest.fixture
def client(server: Server) -> Client:
    return server.client


@pytest.fixture
def staff(server: Server) -> Client:
    return server.staff


@pytest.fixture
def queue() -> str:
    """A queue that no other test uses."""
    return f"q{next(_numbers)}"
