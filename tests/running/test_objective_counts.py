"""The role that counts every five minutes which deliveries came in time, on a real Redis."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queues.engine import Engine, PublishOptions, consume, open_engine, publish
from queues.models import DEFAULT_POOL, Namespace, ObjectiveWindow, Pool, QueuePolicy
from queues.pump.roles.objectives import ObjectiveCounts
from queues.services.objectives import recording
from queues.services.objectives.burn_rates import Deliveries
from queues.services.objectives.burning import find_burning_objectives
from queues.services.objectives.reading import list_burn_rates, read_burn_rates

pytestmark = pytest.mark.django_db

MINUTE_MS = 60_000
START_MS = 2_000_000_100_000
"""A whole five minutes since 1970."""


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    engine = open_engine(redis_url)
    yield engine
    engine.close()


@pytest.fixture
def orders() -> Namespace:
    pool, _ = Pool.objects.get_or_create(name=DEFAULT_POOL, defaults={"url": "redis://localhost"})
    return Namespace.objects.create(pool=pool, name="orders")


def deliver(engine: Engine, queue: str, *, at_ms: int, waited_ms: int, jobs: int = 1) -> None:
    keys = engine.queue("orders", queue)
    engine.run(publish(keys, [b"job"] * jobs, PublishOptions(ttl_ms=0), now_ms=at_ms - waited_ms))
    assert len(engine.run(consume(keys, ttr_ms=600_000, count=jobs, now_ms=at_ms)).jobs) == jobs


def counts(queue: str) -> dict[str, list[int]]:
    cells: dict[str, list[int]] = ObjectiveWindow.objects.get(queue=queue).counts["cells"]
    return cells


def test_deliveries_are_counted_by_the_objective_of_their_queue(engine: Engine, orders: Namespace) -> None:
    QueuePolicy.objects.create(namespace=orders, queue="", objective_s=60)
    QueuePolicy.objects.create(namespace=orders, queue="strict", objective_s=1, objective_target=0.9)
    role = ObjectiveCounts(DEFAULT_POOL)
    for queue in ("lax", "strict"):
        deliver(engine, queue, at_ms=START_MS + MINUTE_MS, waited_ms=100, jobs=6)
        deliver(engine, queue, at_ms=START_MS + 4 * MINUTE_MS, waited_ms=10_000, jobs=3)
    deliver(engine, "strict", at_ms=START_MS + 5 * MINUTE_MS, waited_ms=10_000)  # of the next five

    done = role.tick(engine, START_MS + 6 * MINUTE_MS)

    assert done.queues == 2
    begin = str(START_MS // 1_000)
    assert counts("lax") == {begin: [0, 9]}
    assert counts("strict") == {begin: [3, 9]}
    found = read_burn_rates(pool=DEFAULT_POOL, namespace="orders", queue="strict")
    assert found is not None
    assert found.rates.rates["1h"] == pytest.approx(3 / 9 / 0.1)
    assert found.until == datetime.fromtimestamp(START_MS / 1_000 + 300, UTC)


def test_each_stretch_is_counted_once_whoever_counts(engine: Engine, orders: Namespace) -> None:
    QueuePolicy.objects.create(namespace=orders, queue="q", objective_s=1)
    role = ObjectiveCounts(DEFAULT_POOL)
    deliver(engine, "q", at_ms=START_MS + MINUTE_MS, waited_ms=10_000, jobs=8)

    assert role.tick(engine, START_MS + 5 * MINUTE_MS).queues == 1
    assert role.tick(engine, START_MS + 6 * MINUTE_MS).queues == 0
    ObjectiveCounts(DEFAULT_POOL).tick(engine, START_MS + 7 * MINUTE_MS)  # another pump's

    assert counts("q") == {str(START_MS // 1_000): [8, 8]}
    (found,) = list_burn_rates(pool=DEFAULT_POOL, now=datetime.fromtimestamp(START_MS / 1_000 + 400, UTC))
    assert found.rates.alert is not None
    assert found.rates.alert.severity == "page"


def test_a_queue_that_burns_is_found_until_it_is_over(engine: Engine, orders: Namespace) -> None:
    QueuePolicy.objects.create(namespace=orders, queue="", objective_s=1, objective_target=0.99)
    role = ObjectiveCounts(DEFAULT_POOL)
    deliver(engine, "late", at_ms=START_MS + MINUTE_MS, waited_ms=10_000, jobs=8)
    deliver(engine, "late", at_ms=START_MS + MINUTE_MS, waited_ms=10, jobs=8)
    deliver(engine, "quick", at_ms=START_MS + MINUTE_MS, waited_ms=10, jobs=8)
    at = datetime.fromtimestamp(START_MS / 1_000, UTC)

    assert find_burning_objectives(pool=DEFAULT_POOL, now=at) == []
    role.tick(engine, START_MS + 5 * MINUTE_MS)

    found = find_burning_objectives(pool=DEFAULT_POOL, now=at + timedelta(minutes=5))
    assert found is not None
    assert [(one.namespace, one.queue, one.size, one.share) for one in found] == [("orders", "late", 8, 0.5)]
    assert found[0].since == at + timedelta(minutes=5), "the end of the first five minutes with a late one"
    told = {name: found[0].facts[name] for name in ("burn_rate", "window", "late", "total", "objective_s")}
    assert told == {"burn_rate": 50, "window": "1h", "late": 8, "total": 16, "objective_s": 1}
    assert find_burning_objectives(pool=DEFAULT_POOL, now=at + timedelta(minutes=25)) is None  # no pump counts
    role.tick(engine, START_MS + 10 * MINUTE_MS)
    assert find_burning_objectives(pool=DEFAULT_POOL, now=at + timedelta(minutes=10)) != []  # the half hour burns
    role.tick(engine, START_MS + 60 * MINUTE_MS)
    tickets = find_burning_objectives(pool=DEFAULT_POOL, now=at + timedelta(minutes=60))
    assert tickets is not None
    assert [one.facts["severity"] for one in tickets] == ["ticket"]


def test_ever_new_queues_make_no_more_rows_than_are_counted(
    orders: Namespace, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(recording, "QUEUES_MAX", 3)
    late = Deliveries(1, 1)
    for number in range(5):
        counted = {("orders", f"q{number}"): late, ("orders", f"other{number}"): late}
        recording._write(DEFAULT_POOL, counted, 2_000_000_100 + 3_600 * number)

    assert ObjectiveWindow.objects.count() == 3
    assert {"q4", "other4"} < set(ObjectiveWindow.objects.values_list("queue", flat=True))
    nothing = {("orders", f"silent{number}"): Deliveries() for number in range(50)}
    with django_assert_max_num_queries(6):
        recording._write(DEFAULT_POOL, nothing, 2_000_000_100 + 3_600 * 5)


def test_queues_without_an_objective_have_no_row_and_idle_ones_lose_theirs(engine: Engine, orders: Namespace) -> None:
    QueuePolicy.objects.create(namespace=orders, queue="q", objective_s=1)
    role = ObjectiveCounts(DEFAULT_POOL)
    for queue in ("q", "free"):
        deliver(engine, queue, at_ms=START_MS + MINUTE_MS, waited_ms=10_000)

    role.tick(engine, START_MS + 5 * MINUTE_MS)
    assert [row.queue for row in ObjectiveWindow.objects.all()] == ["q"]
    role.tick(engine, START_MS + 24 * 60 * MINUTE_MS)
    assert read_burn_rates(pool=DEFAULT_POOL, namespace="orders", queue="q") is not None
    role.tick(engine, START_MS + 4 * 24 * 60 * MINUTE_MS)

    assert not ObjectiveWindow.objects.exists()
