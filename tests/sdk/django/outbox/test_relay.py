"""The relay: each committed row becomes one job, in order, whatever fails on the way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from queues.engine import JobState, StoreFullError
from taskq.django import DjangoApp
from taskq.django.outbox.relay import Lag, OutboxRelay
from taskq.django.outbox.rows import MODEL

from .conftest import add, jobs, refused, waiting
from .flaky import STEPS, killed, redis_away

pytestmark = pytest.mark.django_db(transaction=True)


def work_off(app: DjangoApp, queue: str = "orders") -> list[bytes]:
    """Consume and ack all jobs; their bodies."""
    broker, bodies = app.broker, []
    while taken := broker.run(broker.take([queue], count=100, ttr_ms=60_000, timeout_s=0, consumer="c")):
        for job in taken:
            bodies.append(job.body)
            broker.run(broker.ack(queue, [job.job_id], attempt=job.attempt))
    return bodies


@pytest.mark.parametrize("works_between", [False, True], ids=["", "jobs are done meanwhile"])
@pytest.mark.parametrize("step", STEPS)
def test_a_relay_that_dies_loses_nothing_and_publishes_nothing_twice(
    app: DjangoApp, relay: OutboxRelay, step: str, works_between: bool
) -> None:
    bodies = [b"%d" % number for number in range(5)]
    for body in bodies:
        add(
            body,
            retention=60 if body == b"3" else 0,
            idempotency_key="k" if body == b"2" else "",
            key_mode="until_done",
        )

    done: list[bytes] = []
    for at_call in (1, 2, 3):
        if waiting():
            with killed(relay, step, at_call=at_call if "publish" in step else 1):
                pass
        if works_between:
            done += work_off(app)
    while relay.tick().published:
        pass
    done += work_off(app)

    assert done == bodies
    assert (waiting(), refused()) == (0, [])


@pytest.mark.parametrize("after_effect", [False, True])
def test_rows_wait_while_redis_is_away(app: DjangoApp, relay: OutboxRelay, after_effect: bool) -> None:
    for number in range(3):
        add(b"%d" % number, priority=number)
    with redis_away(relay, after_effect=after_effect):
        relayed = relay.tick()
    assert (relayed.published, relayed.refused, type(relayed.error).__name__) == (0, 0, "StoreUnavailableError")
    assert waiting() == 3

    assert relay.tick().published == 3

    assert len(jobs(app)) == 3


def test_an_outage_in_the_middle_keeps_the_order(app: DjangoApp, relay: OutboxRelay) -> None:
    """Rows with different options are published one by one; what is behind one that failed waits."""
    for number in range(4):
        add(b"%d" % number, tries=number + 1)
    broker = app.broker
    original, calls = type(broker).run, iter(range(9))

    def run(_broker: object, work: Any) -> Any:
        if next(calls) == 1:
            raise StoreFullError("full")
        return original(broker, work)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(broker), "run", run)
        relayed = relay.tick()
    assert (relayed.published, type(relayed.error).__name__) == (1, "StoreFullError")
    assert jobs(app) == [b"0"]
    relay.tick()

    assert jobs(app) == [b"0", b"1", b"2", b"3"]


BAD_ROWS = [
    ({"queue": "not good"}, "queue name contains forbidden characters"),
    ({"queue": ""}, "queue name"),
    ({"body": b"x" * (1024 * 1024 + 1)}, "body too large"),
    ({"priority": 101}, "invalid priority"),
    ({"tries": 0}, "tries shouldn't be zero"),
    ({"delay": -1}, "invalid delay"),
    ({"delay": float("inf")}, "invalid delay"),
    ({"delay": 10, "ttl": 5}, "ttl is shorter than delay"),
    ({"retention": 1e12}, "invalid retention"),
    ({"backoff": "often"}, "invalid backoff"),
    ({"idempotency_key": "k" * 254 + "é"}, "invalid key"),
    ({"idempotency_key": "k", "key_mode": "sometimes"}, "invalid key_mode"),
    ({"attributes": [1]}, "invalid attributes"),
    ({"attributes": {"a": 1}}, "invalid attributes"),
    ({"limit_key": "line\nfeed"}, "invalid limit_key"),
]


@pytest.mark.parametrize(("columns", "reason"), BAD_ROWS, ids=lambda value: str(value)[:40])
def test_a_row_that_cannot_be_published_is_set_aside_with_its_reason(
    app: DjangoApp, relay: OutboxRelay, columns: dict[str, Any], reason: str
) -> None:
    if connection.vendor == "sqlite" and columns.get("delay") == float("inf"):
        columns = {"delay": 1e300}
    before = add(b"before")
    bad = add(**{"body": b"bad", **columns})
    add(b"after")

    relayed = relay.tick()

    assert (relayed.published, relayed.refused, relayed.error) == (2, 1, None)
    assert jobs(app) == [b"before", b"after"]
    assert before.pk < bad.pk
    ((_queue, said),) = refused()
    assert reason in said
    assert relay.tick().published == 0, "it is not looked at again"


def test_a_row_that_redis_refuses_takes_no_neighbour_with_it(app: DjangoApp, relay: OutboxRelay) -> None:
    """Whether an absolute time is after the end of the ttl is known to Redis only."""
    for body, ttl in ((b"1", 600), (b"2", 60), (b"3", 600)):
        add(body, ttl=ttl, due_at=datetime.now(UTC) + timedelta(seconds=300))

    relayed = relay.tick()

    assert (relayed.published, relayed.refused) == (2, 1)
    assert jobs(app, state=JobState.DELAYED) == [b"1", b"3"]
    assert refused() == [("orders", "ttl is shorter than delay")]


@pytest.mark.parametrize(
    ("column", "value"), [("uid", "no uuid"), ("due_at", "tomorrow"), ("created_at", "yesterday"), ("tries", "many")]
)
def test_a_row_that_cannot_even_be_read_is_set_aside(
    app: DjangoApp, relay: OutboxRelay, column: str, value: str
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite keeps texts in columns of another kind")
    add(b"before")
    bad = add(b"bad", delay=1)
    add(b"after")
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE taskq_outbox SET {column} = %s WHERE id = %s", [value, bad.pk])

    relay.tick()

    assert jobs(app) == [b"before", b"after"]
    assert len(MODEL.objects.filter(refused_at__isnull=False).values_list("pk")) == 1


def test_a_delay_is_counted_from_when_the_row_was_written(app: DjangoApp, relay: OutboxRelay) -> None:
    add(b"soon", delay=60)
    add(b"now", delay=60)
    MODEL.objects.filter(body=b"now").update(created_at=F("created_at") - timedelta(seconds=61))

    relay.tick()

    assert jobs(app) == [b"now"]
    assert jobs(app, state=JobState.DELAYED) == [b"soon"]


def test_rows_of_a_transaction_that_commits_late_are_not_passed_by(app: DjangoApp, relay: OutboxRelay) -> None:
    """A row with a lower id than one that has been published already."""
    late = add(b"late")
    MODEL.objects.filter(pk=late.pk).delete()
    add(b"early")
    relay.tick()
    add(b"late", pk=late.pk)

    assert relay.tick().published == 1
    assert jobs(app) == [b"early", b"late"]


def test_bodies_of_a_batch_are_bounded(app: DjangoApp, relay: OutboxRelay) -> None:
    for _ in range(10):
        add(bytes(1024 * 1024))

    assert [relay.tick().published for _ in range(3)] == [8, 2, 0]


def test_the_lag_is_how_many_wait_and_for_how_long(relay: OutboxRelay) -> None:
    assert relay.lag() == Lag(waiting=0, oldest_s=0.0, refused=0)
    add(b"1")
    add(b"2")
    add(b"bad", queue="not good", refused_at="2026-01-01T00:00:00Z")
    lag = relay.lag()

    assert (lag.waiting, lag.refused) == (2, 1)
    assert 0 <= lag.oldest_s < 60


def test_ids_are_forgotten_soon_after(app: DjangoApp, redis_client: Any) -> None:
    for number in range(450):
        add(b"%d" % number)
    OutboxRelay(app, using="default", batch=1_000).tick()

    (key,) = redis_client.scan_iter(match="*:sdk/orders:keys")
    ends_s = [int.from_bytes(value[:6], "big") / 1000 - redis_client.time()[0] for value in redis_client.hvals(key)]
    assert len(ends_s) == 450
    assert all(500 < left_s <= 601 for left_s in ends_s)
