"""Guessing passwords costs whoever guesses, and nobody else."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.http.client import Client
from tests.http.service import Server, Site
from tests.support.waiting import wait_until

GUESSERS = 12
FAILURES = 5


@pytest.fixture(scope="module")
def strict_server(site: Site) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TASKQ_SIGN_IN_FAILURES", str(FAILURES))
        patch.setenv("TASKQ_TRUSTED_PROXIES", "127.0.0.1")
        with site.serve() as server:
            server.wait_for_pages()  # which answer what staff asks for, and strangers with a password
            yield server


def test_twelve_guessers_keep_neither_the_admin_nor_producers_waiting(strict_server: Server, queue: str) -> None:
    """All of them come from one address, so nothing but its password tells the admin's program from the guessers'."""
    admin, producer = strict_server.staff, strict_server.client
    before = len(_failures(strict_server))
    assert admin.call("GET", "/pools").status == 200
    guesser = Client(url=strict_server.url, basic="admin:wrong")
    statuses: Counter[int] = Counter()
    stop = threading.Event()

    def guess() -> None:
        while not stop.is_set():
            statuses[guesser.call("GET", "/pools").status] += 1

    with ThreadPoolExecutor(GUESSERS) as threads:
        guessing = [threads.submit(guess) for _ in range(GUESSERS)]
        try:
            wait_until(lambda: statuses[401] > FAILURES, or_fail="nobody guesses", timeout_s=30)
            assert {admin.call("GET", "/pools").status for _ in range(20)} == {200}
            for _ in range(20):
                producer.publish(queue)
        finally:
            stop.set()
    assert [one.result() for one in guessing] == [None] * GUESSERS
    assert set(statuses) == {401}, "each waits for its turn"

    stranger = Client(url=strict_server.url, basic="somebody:wrong")
    refused = [stranger.call("GET", "/pools") for _ in range(FAILURES + 1)][-1]
    assert (refused.status, "retry-after" in refused.headers) == (429, True)
    assert refused.json["error"].startswith("too many failed sign-ins: try again in ")
    logged = _failures(strict_server)[before:]
    assert {(line["address"], line["username"]) for line in logged} == {
        ("127.0.0.1", "admin"),
        ("127.0.0.1", "somebody"),
    }


def _failures(server: Server) -> list[dict[str, Any]]:
    return [line for line in server.log_lines() if line.get("action") == "signin.fail"]


def test_behind_a_trusted_proxy_it_is_the_client_that_is_locked(strict_server: Server) -> None:
    def guess(forwarded_for: str, number: int) -> int:
        stranger = Client(url=strict_server.url, basic=f"nobody{number}:wrong")
        return stranger.call("GET", "/pools", headers={"X-Forwarded-For": forwarded_for}).status

    assert [guess("203.0.113.1", number) for number in range(FAILURES + 1)] == [401] * FAILURES + [429]
    assert guess("203.0.113.2, 203.0.113.1", 10) == 429, "what the client claims of itself does not count"
    assert guess("203.0.113.2", 11) == 401
    failed = [line for line in strict_server.log_lines() if line.get("username") == "nobody11"]
    assert [line["address"] for line in failed] == ["203.0.113.2"]
