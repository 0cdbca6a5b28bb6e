"""One server for all tests of the API, and a queue of its own for each."""

from __future__ import annotations

import pytest

from tests.http.client import Client, new_queue
from tests.http.service import Server, site_fixtures

site, server = site_fixtures("http", scope="session", with_pages=True)


@pytest.fixture
def client(server: Server) -> Client:
    return server.client


@pytest.fixture
def staff(server: Server) -> Client:
    return server.staff


@pytest.fixture
def queue() -> str:
    """A queue that no other test uses."""
    return new_queue()
