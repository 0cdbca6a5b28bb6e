"""Consumers that wait at a server are known to all who look at the pool."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from threading import Thread

import pytest

from queues.engine import Engine, list_waiting, open_engine
from queues.engine.stats.consumers import WaitingConsumer
from tests.http.client import Client, Reply
from tests.http.service import Site
from tests.support.waiting import wait_until


@pytest.fixture
def engine(site: Site) -> Iterator[Engine]:
    engine = open_engine(site.redis_url)
    yield engine
    engine.close()


def told_of(engine: Engine, queue: str) -> list[WaitingConsumer]:
    beats = engine.run(list_waiting()).beats
    return [one for beat in beats for one in beat.consumers if queue in one.queues]


def wait_for_job(client: Client, path: str, **headers: str) -> Future[Reply]:
    future: Future[Reply] = Future()

    def call() -> None:
        future.set_result(client.call("GET", f"/api/{{ns}}/{path}", headers=headers))

    Thread(target=call, daemon=True).start()
    return future


def test_who_waits_is_told_of_and_who_left_as_having_left_but_not_who_found_a_job_at_once(
    client: Client, engine: Engine, queue: str
) -> None:
    """One test, for a server tells all of them together, every few seconds."""
    client.publish(f"{queue}-served")
    assert client.call("GET", f"/api/{{ns}}/{queue}-served?timeout=20").status == 200
    leaving = wait_for_job(client, f"{queue}-left?timeout=20")
    staying = wait_for_job(client, f"{queue},other?timeout=20", **{"X-Consumer": "mailer-1"})

    (told,) = wait_until(lambda: told_of(engine, queue), or_fail="nobody is told of")

    assert (told.namespace, told.queues, told.waiting) == ("demo", (queue, "other"), 1)
    assert (told.consumer, told.address) == ("mailer-1", "127.0.0.1")
    (told,) = wait_until(lambda: told_of(engine, f"{queue}-left"), or_fail="the other one is not told of")
    assert told.waiting == 1
    client.publish(f"{queue}-left")
    assert leaving.result(10).status == 200
    (told,) = wait_until(
        lambda: [one for one in told_of(engine, f"{queue}-left") if not one.waiting],
        or_fail="it is still told of as waiting",
    )
    assert told.consumer == told.address == "127.0.0.1", "who gives no name is known by address"
    (told,) = told_of(engine, queue)
    assert told.waiting == 1
    assert told_of(engine, f"{queue}-served") == []
    client.publish(queue)
    assert staying.result(10).status == 200
