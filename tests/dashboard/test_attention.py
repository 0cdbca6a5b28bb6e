"""What needs attention, and what does not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import redis

from queues.engine import (
    Engine,
    PublishOptions,
    PumpBeat,
    beat,
    consume,
    consume_any,
    fail,
    pause,
    publish,
)
from queues.engine.keys import partition_keys
from queues.engine.operations.maintain import reclaim
from queues.models import Namespace, Pool, QueuePolicy
from queues.pools.ttl_cache import forget_recent
from queues.services.queues import attention as module
from queues.services.queues.attention import OBJECTIVE_S, Attention, PoolReason, QueueReason, Severity, find_attention
from queues.services.queues.visible_queues import PUMP_SILENT_MS, read_pool_survey, visible_pools

from .people import POOL, SHOP, People
from .surveyor import Surveyor, now_of

pytestmark = pytest.mark.django_db(transaction=True)


def put(engine: Engine, *, jobs: int = 1, age_s: float = 0, queue: str = "orders", **options: Any) -> None:
    """Publish jobs that became ready so long ago."""
    keys = engine.queue(SHOP, queue)
    at = now_of(engine) - round(age_s * 1_000)
    engine.run(publish(keys, [b"x"] * jobs, PublishOptions(ttl_ms=0, **options), now_ms=at))
    engine.client.delete(keys.select(("stats",))[0])  # of another time


def attention(surveyor: Surveyor, people: People, *, most: int = 20) -> Attention:
    surveyor.look()
    return find_attention(visible_pools(user=people.alice.user), most=most)


def reasons(found: Attention) -> dict[str, list[QueueReason]]:
    return {one.queue.queue: list(one.reasons) for one in found.queues}


def test_where_all_is_well_nothing_needs_attention(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, delay_ms=60_000)
    put(engine, queue="fresh")

    found = attention(surveyor, people)

    assert (found.pools, found.queues, found.severity) == ((), (), None)


def test_a_backlog_that_nobody_takes_has_no_consumer(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, jobs=3, age_s=20)

    found = attention(surveyor, people)

    assert reasons(found) == {"orders": [QueueReason.NO_CONSUMER]}
    assert found.severity is Severity.BAD
    assert 20_000 <= found.queues[0].oldest_ms < 60_000


def test_a_backlog_that_somebody_works_on_has_a_consumer(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, jobs=3, age_s=20)
    engine.run(consume(engine.queue(SHOP, "orders"), ttr_ms=60_000))

    assert reasons(attention(surveyor, people)) == {}


def test_a_queue_that_somebody_waits_on_has_a_consumer(engine: Engine, surveyor: Surveyor, people: People) -> None:
    engine.run(consume_any([engine.queue(SHOP, "orders")], ttr_ms=1, mark_ms=60_000))
    put(engine, jobs=3, age_s=20)

    assert reasons(attention(surveyor, people)) == {}


def test_a_job_that_waits_longer_than_its_objective_is_told(engine: Engine, surveyor: Surveyor, people: People) -> None:
    for queue, age_s in (("usual", OBJECTIVE_S - 60), ("late", OBJECTIVE_S + 60), ("strict", 60), ("lax", 9_000)):
        put(engine, jobs=3, age_s=age_s, queue=queue)
        engine.run(consume(engine.queue(SHOP, queue), ttr_ms=60_000))
    shop = Namespace.objects.get(name=SHOP)
    QueuePolicy.objects.create(namespace=shop, queue="strict", objective_s=50)
    QueuePolicy.objects.create(namespace=shop, queue="lax", objective_s=10_000)

    found = attention(surveyor, people)

    assert reasons(found) == {"late": [QueueReason.OVERDUE], "strict": [QueueReason.OVERDUE]}
    assert {one.queue.queue: one.objective_ms for one in found.queues} == {"late": 300_000, "strict": 50_000}
    assert {one.severity for one in found.queues} == {Severity.WARN}


def test_the_objective_of_a_namespace_holds_for_queues_without_one(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, jobs=3, age_s=60)
    engine.run(consume(engine.queue(SHOP, "orders"), ttr_ms=60_000))
    QueuePolicy.objects.create(namespace=Namespace.objects.get(name=SHOP), queue="", objective_s=20)

    (found,) = attention(surveyor, people).queues

    assert (found.reasons, found.severity) == ((QueueReason.OVERDUE,), Severity.BAD), "more than twice as long"


def test_jobs_that_die_are_told_for_five_minutes(engine: Engine, surveyor: Surveyor, people: People) -> None:
    keys = engine.queue(SHOP, "orders")
    now = now_of(engine)
    for died_ms, queue in ((now, "orders"), (now - 360_000, "buried")):
        put(engine, queue=queue)
        keys = engine.queue(SHOP, queue)
        (job,) = engine.run(consume(keys, ttr_ms=600_000, now_ms=died_ms + 1)).jobs
        engine.run(fail(keys, job.job_id, dead=True, now_ms=died_ms))

    assert reasons(attention(surveyor, people)) == {"orders": [QueueReason.DEAD_GROWING]}


def test_leases_that_ran_out_are_told(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, tries=3)
    keys = engine.queue(SHOP, "orders")
    engine.run(consume(keys, ttr_ms=1, now_ms=now_of(engine) - 100))
    engine.run(reclaim(keys))

    (found,) = attention(surveyor, people).queues

    assert QueueReason.LEASES_LOST in found.reasons
    assert found.queue.leases_lost == 1


def test_a_paused_queue_is_told_when_jobs_gather_in_it(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, age_s=9_000)
    for queue in ("orders", "empty"):
        engine.run(pause(engine.queue(SHOP, queue)))

    found = attention(surveyor, people)

    assert reasons(found) == {"orders": [QueueReason.PAUSED_BACKLOG]}, "nothing else: it was meant so"
    assert found.severity is Severity.WARN


def test_the_worst_comes_first_and_the_rest_is_counted(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, age_s=1, queue="paused")
    engine.run(pause(engine.queue(SHOP, "paused")))
    put(engine, age_s=30, queue="younger")
    put(engine, age_s=60, queue="older")

    found = attention(surveyor, people, most=2)

    assert [one.queue.queue for one in found.queues] == ["older", "younger"]
    assert (found.count, found.total) == (3, 3)


def test_what_somebody_may_not_see_needs_none_of_their_attention(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, jobs=3, age_s=20)
    surveyor.look()

    assert find_attention(visible_pools(user=people.charlie.user), most=20).queues == ()


def test_a_pool_that_does_not_answer_is_told(engine: Engine, surveyor: Surveyor, people: People) -> None:
    away = Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")
    Namespace.objects.create(pool=away, name="stranded").groups.set(people.alice.user.groups.all())

    (found,) = attention(surveyor, people).pools

    assert (found.pool, found.reason, found.severity) == ("away", PoolReason.AWAY, Severity.BAD)


def test_a_pool_without_a_pump_is_told_and_its_queues_are_not(engine: Engine, people: People) -> None:
    put(engine, jobs=3, age_s=20)
    engine.run(beat(PumpBeat(pump="host:1:a", up_ms=1, roles={}), now_ms=now_of(engine) - PUMP_SILENT_MS - 1))
    forget_recent()

    found = find_attention(visible_pools(user=people.alice.user), most=20)

    assert [(one.pool, one.reason) for one in found.pools] == [(POOL, PoolReason.NO_PUMP)]
    assert found.pools[0].ms > PUMP_SILENT_MS
    assert found.queues == ()


def test_an_old_survey_is_no_news(engine: Engine, surveyor: Surveyor, people: People) -> None:
    surveyor.look(now_ms=now_of(engine) - 3_600_000)

    survey = read_pool_survey(pool=POOL)

    assert not survey.is_current
    assert visible_pools(user=people.alice.user).outdated == (POOL,)


def test_a_pump_that_is_behind_is_told(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, age_s=60, delay_ms=1_000)

    (found,) = attention(surveyor, people).pools

    assert (found.reason, found.severity) == (PoolReason.PUMP_LATE, Severity.WARN)
    assert 59_000 <= found.ms < 120_000


def test_a_redis_that_is_almost_full_is_told(
    engine: Engine, surveyor: Surveyor, people: People, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis_client.config_set("maxmemory", int(redis_client.info("memory")["used_memory"]) * 100)
    try:
        assert attention(surveyor, people).pools == ()
        monkeypatch.setattr(module, "MEMORY_SHARE", 0.005)

        (found,) = attention(surveyor, people).pools
    finally:
        redis_client.config_set("maxmemory", 0)

    assert dataclasses.astuple(found)[:2] == (POOL, PoolReason.MEMORY)


def test_events_that_were_dropped_are_told_for_a_day(engine: Engine, surveyor: Surveyor, people: People) -> None:
    counters, now_ms = partition_keys(0)["counters"], now_of(engine)
    engine.client.hset(counters, "events_dropped_at", now_ms - module.EVENTS_DROPPED_MS - 1)
    assert attention(surveyor, people).pools == ()
    engine.client.hset(counters, "events_dropped_at", now_ms - 60_000)

    (found,) = attention(surveyor, people).pools

    assert (found.reason, found.severity) == (PoolReason.EVENTS_DROPPED, Severity.WARN)
    assert 60_000 <= found.ms < 120_000
