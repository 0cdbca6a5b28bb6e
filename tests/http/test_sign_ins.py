"""Guessing passwords costs whoever guesses, and nobody else."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from queues.api.errors import StaffBusyError
from queues.api.staff_threads import StaffThreads
from tests.http.client import Client
from tests.http.service import Server, Site
from tests.support.waiting import wait_until

GUESSERS = 30


def test_wrong_passwords_do_not_hold_up_publishes(site: Site, server: Server, queue: str) -> None:
    guesser = Client(url=server.url, basic="admin:wrong")
    clients = [Client(url=server.url, namespace="guessed", token=site.new_token("guessed")) for _ in range(3)]
    with ThreadPoolExecutor(GUESSERS) as threads:
        guesses = [threads.submit(guesser.call, "GET", "/pools") for _ in range(GUESSERS)]
        wait_until(lambda: any(guess.done() for guess in guesses), or_fail="no guess is answered")
        started = time.monotonic()
        for client in clients:  # each for the first time, so that the database has to be asked
            client.publish(queue)
        took_s = time.monotonic() - started
        replies = [guess.result() for guess in guesses]

    assert took_s < 1.0
    refused = [reply for reply in replies if reply.status == 503]
    assert refused
    assert {reply.status for reply in replies} <= {401, 503}
    assert {(reply.json["error"], reply.headers["retry-after"]) for reply in refused} == {("too many sign-ins", "1")}
    assert server.staff.call("GET", "/pools").status == 200


def test_who_leaves_the_line_makes_room() -> None:
    async def scenario() -> None:
        line = StaffThreads(line_max=2)
        may_end = threading.Event()
        first = asyncio.ensure_future(line.call(may_end.wait, 10))
        second = asyncio.ensure_future(line.call(lambda: True))
        await asyncio.sleep(0)
        with pytest.raises(StaffBusyError):
            await line.call(lambda: True)

        second.cancel()
        await asyncio.wait([second])
        third = asyncio.ensure_future(line.call(lambda: True))
        await asyncio.sleep(0)
        may_end.set()

        assert await first
        assert await third

    asyncio.run(scenario())
