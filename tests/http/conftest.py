"""One server for all tests of the API, and a queue of its own for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from queues.embedded import EmbeddedRedis
from tests.http.client import Client
from tests.http.service import Server, Site

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory: Path = tmp_path_factory.mktemp("http")
    with EmbeddedRedis(directory / "redis", persistent=False) as redis:
        site = Site(data_dir=directory, redis_url=redis.url)
        site.prepare()
        yield site


@pytest.fixture(scope="session")
def server(site: Site) -> Iterator[Server]:
    with site.serve() as server:
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
