"""From a job's id to its queue."""

from __future__ import annotations

from typing import Any

import pytest

from queues.engine import Engine, InvalidArgumentError, JobSearch, PublishOptions, find_job, pause, publish
from queues.engine import constants as engine_limits
from tests.support.rows import in_one_test

from .test_ack import UNKNOWN


def put(engine: Engine, namespace: str, queue: str, **options: Any) -> str:
    published = engine.run(publish(engine.queue(namespace, queue), [b"x"], PublishOptions(**options)))
    (job_id,) = published.job_ids
    return job_id


def look(engine: Engine, job_id: str, *namespaces: str, most: int = 1_000) -> JobSearch:
    return engine.run(find_job(engine.layout, namespaces or None, job_id, most=most))


def place_of(engine: Engine, job_id: str, *namespaces: str) -> tuple[str, str] | None:
    queue = look(engine, job_id, *namespaces).queue
    return None if queue is None else (queue.namespace, queue.queue)


def test_a_job_is_found_in_whatever_namespace_and_state(engine: Engine) -> None:
    ready, delayed = put(engine, "shop", "orders"), put(engine, "bank", "payments", delay_ms=60_000)

    assert place_of(engine, ready) == ("shop", "orders")
    assert place_of(engine, delayed) == ("bank", "payments")
    assert place_of(engine, delayed, "shop", "bank") == ("bank", "payments")


def test_only_the_namespaces_that_are_named_are_asked(engine: Engine) -> None:
    job_id = put(engine, "bank", "payments")
    put(engine, "shop", "orders")

    assert look(engine, job_id, "shop") == JobSearch(queue=None, looked_at=1, complete=True)


def test_a_namespace_is_not_taken_for_another_that_begins_alike(engine: Engine) -> None:
    job_id = put(engine, "shop-2", "orders")

    assert place_of(engine, job_id, "shop") is None
    assert place_of(engine, job_id, "shop-2") == ("shop-2", "orders")


def test_an_unknown_job_is_looked_for_in_every_queue(engine: Engine) -> None:
    for number in range(7):
        put(engine, "shop", f"orders-{number}")

    assert look(engine, UNKNOWN) == JobSearch(queue=None, looked_at=7, complete=True)


def test_a_search_stops_at_its_bound_and_says_so(engine: Engine) -> None:
    for number in range(20):
        put(engine, "shop", f"orders-{number}")

    place = look(engine, UNKNOWN, most=10)

    assert not place.complete
    assert place.looked_at == 10 - engine.layout.partitions


def test_registries_longer_than_a_page_are_read_to_their_end(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        put(engine, "shop", f"orders-{number}")
    last = put(engine, "shop", "zebra")
    monkeypatch.setattr(engine_limits, "PAGE_MAX", 2)

    assert place_of(engine, last) == ("shop", "zebra")
    assert look(engine, UNKNOWN) == JobSearch(queue=None, looked_at=31, complete=True)


def test_an_empty_queue_that_is_paused_is_no_obstacle(engine: Engine) -> None:
    engine.run(pause(engine.queue("shop", "quiet")))

    assert look(engine, UNKNOWN, "shop") == JobSearch(queue=None, looked_at=1, complete=True)


@in_one_test("text", ["", "x", "0" * 25, "8" + "0" * 25, "0" * 25 + "i"])
def test_what_is_no_job_id_is_refused(engine: Engine, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid job id"):
        look(engine, text)
