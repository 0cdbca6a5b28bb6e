"""What is wrong with queues and pools, and what is not: on a real Redis, as a pump surveys it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
from django.utils import timezone

from queues.engine import (
    Engine,
    PublishOptions,
    PumpBeat,
    ack,
    beat,
    consume,
    consume_any,
    fail,
    pause,
    publish,
    respawn,
)
from queues.engine.keys import partition_keys
from queues.engine.operations.maintain import reclaim
from queues.models import Incident, IncidentKind, IncidentSeverity, Namespace, Pool, QueuePolicy, ReportDay, ReportState
from queues.pools.ttl_cache import forget_recent
from queues.services.incident_watch import pool_findings
from queues.services.incident_watch.pool_findings import look_at_pool
from queues.services.incident_watch.report_findings import look_at_reports
from queues.services.incident_watch.watch import look_around
from queues.services.incidents.findings import Finding
from queues.services.incidents.severity import AT_REST_SHARE, severity_of
from queues.services.queues.objectives import OBJECTIVE_S
from queues.services.queues.visible_queues import PUMP_SILENT_MS, read_pool_survey, read_pool_surveys
from tests.support.waiting import wait_until

from .people import POOL, SHOP, People
from .surveyor import Surveyor, now_of

pytestmark = pytest.mark.django_db(transaction=True)


def put(engine: Engine, *, jobs: int = 1, age_s: float = 0, queue: str = "orders", **options: Any) -> None:
    """Publish jobs that became ready so long ago."""
    keys = engine.queue(SHOP, queue)
    at = now_of(engine) - round(age_s * 1_000)
    engine.run(publish(keys, [b"x"] * jobs, PublishOptions(ttl_ms=0, **options), now_ms=at))
    engine.client.delete(keys.select(("stats",))[0])  # of another time


def bury(engine: Engine, *, jobs: int, queue: str = "orders", ago_ms: int = 0) -> None:
    """Dead letters that died so long ago."""
    keys, at = engine.queue(SHOP, queue), now_of(engine) - ago_ms
    put(engine, jobs=jobs, queue=queue)
    for job in engine.run(consume(keys, ttr_ms=3_600_000, count=jobs, now_ms=at)).jobs:
        engine.run(fail(keys, job.job_id, dead=True, now_ms=at))


def find(pool: str = POOL) -> tuple[Finding, ...]:
    """What a look at the pool finds."""
    forget_recent()
    survey = read_pool_surveys(pools=[pool])[pool]
    return look_at_pool(pool=pool, survey=survey, now=timezone.now()).findings


def kinds(found: tuple[Finding, ...]) -> dict[str, list[str]]:
    """By queue; of the pool itself under ""."""
    by_queue: dict[str, list[str]] = {}
    for one in found:
        by_queue.setdefault(one.queue, []).append(one.kind.value)
    return by_queue


def test_where_all_is_well_nothing_is_found(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, delay_ms=60_000)
    put(engine, queue="fresh")
    surveyor.look()

    assert find() == ()


def test_a_backlog_that_nobody_takes_has_no_consumer(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, jobs=3, age_s=20)
    surveyor.look()

    (found,) = find()

    assert (found.kind, found.namespace, found.queue) == (IncidentKind.NO_CONSUMER, SHOP, "orders")
    assert (found.size, found.share, found.facts["ready"]) == (3, 1.0, 3)
    assert timedelta(seconds=20) <= timezone.now() - found.since < timedelta(seconds=60)


def test_a_backlog_that_somebody_works_on_has_a_consumer(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, jobs=3, age_s=20)
    engine.run(consume(engine.queue(SHOP, "orders"), ttr_ms=60_000))
    surveyor.look()

    assert find() == ()


def test_a_queue_that_somebody_waits_on_has_a_consumer(engine: Engine, surveyor: Surveyor, people: People) -> None:
    engine.run(consume_any([engine.queue(SHOP, "orders")], ttr_ms=1, mark_ms=60_000))
    put(engine, jobs=3, age_s=20)
    surveyor.look()

    assert find() == ()


def test_a_job_that_waits_longer_than_its_objective_is_found(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    for queue, age_s in (("usual", OBJECTIVE_S - 60), ("late", OBJECTIVE_S * 2), ("strict", 60), ("lax", 9_000)):
        put(engine, jobs=3, age_s=age_s, queue=queue)
        engine.run(consume(engine.queue(SHOP, queue), ttr_ms=60_000))
    shop = Namespace.objects.get(name=SHOP)
    QueuePolicy.objects.create(namespace=shop, queue="strict", objective_s=50)
    QueuePolicy.objects.create(namespace=shop, queue="lax", objective_s=10_000)
    surveyor.look()

    found = {one.queue: one for one in find()}

    assert {queue: one.kind for queue, one in found.items()} == dict.fromkeys(("late", "strict"), IncidentKind.TOO_SLOW)
    assert found["late"].share == pytest.approx(0.5, abs=0.05), "half of the oldest job's wait is beyond the objective"
    assert found["strict"].facts["objective_s"] == 50


def test_the_objective_of_a_namespace_holds_for_queues_without_one(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, jobs=3, age_s=60)
    engine.run(consume(engine.queue(SHOP, "orders"), ttr_ms=60_000))
    QueuePolicy.objects.create(namespace=Namespace.objects.get(name=SHOP), queue="", objective_s=20)
    surveyor.look()

    assert kinds(find()) == {"orders": ["too_slow"]}


def test_a_queue_that_nobody_consumes_is_not_called_too_slow_as_well(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    put(engine, jobs=3, age_s=9_000)
    surveyor.look()

    assert kinds(find()) == {"orders": ["no_consumer"]}


def test_dead_letters_are_found_for_as_long_as_they_are_there(
    engine: Engine, surveyor: Surveyor, people: People
) -> None:
    bury(engine, jobs=4, queue="dying")
    bury(engine, jobs=6, queue="buried", ago_ms=420_000)
    surveyor.look()

    found = {one.queue: one for one in find()}

    assert set(found) == {"dying", "buried"}
    assert (found["dying"].size, found["dying"].share, found["dying"].facts["died"]) == (4, 1.0, 4)
    assert (found["buried"].size, found["buried"].share, found["buried"].facts["died"]) == (6, AT_REST_SHARE, 0)

    for queue, jobs in (("dying", 4), ("buried", 6)):
        engine.run(respawn(engine.queue(SHOP, queue), limit=jobs, ttl_ms=0))
    surveyor.look()
    assert kinds(find()) == {}


def test_the_share_that_dies_is_of_the_jobs_that_ended(engine: Engine, surveyor: Surveyor, people: People) -> None:
    bury(engine, jobs=1)
    keys = engine.queue(SHOP, "orders")
    engine.run(publish(keys, [b"x"] * 3, PublishOptions()))
    taken = engine.run(consume(keys, ttr_ms=60_000, count=3)).jobs
    engine.run(ack(keys, [job.job_id for job in taken]))
    surveyor.look()

    (found,) = find()

    assert (found.kind, found.share) == (IncidentKind.JOBS_DYING, 0.25)


def test_leases_that_ran_out_are_found(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, tries=3)
    keys = engine.queue(SHOP, "orders")
    engine.run(consume(keys, ttr_ms=1, now_ms=now_of(engine) - 100))
    engine.run(reclaim(keys))
    surveyor.look()

    (found,) = [one for one in find() if one.kind is IncidentKind.LEASES_EXPIRING]

    assert (found.size, found.share) == (1, 1.0)


def test_a_paused_queue_is_found_when_jobs_gather_in_it(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, age_s=9_000)
    for queue in ("orders", "empty"):
        engine.run(pause(engine.queue(SHOP, queue)))
    surveyor.look()

    (found,) = find()

    assert (found.kind, found.queue, found.share) == (IncidentKind.PAUSED, "orders", 0.0), "it was meant so"


def test_a_pool_that_does_not_answer_is_found(people: People) -> None:
    Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")

    (found,) = find("away")

    assert (found.kind, found.pool, found.queue) == (IncidentKind.REDIS_AWAY, "away", "")
    assert "nowhere" not in str(found.facts) or found.facts["trouble"]


def test_a_pool_without_a_pump_is_found_and_its_queues_are_not(engine: Engine, people: People) -> None:
    put(engine, jobs=3, age_s=20)
    engine.run(beat(PumpBeat(pump="host:1:a", up_ms=1, roles={}), now_ms=now_of(engine) - PUMP_SILENT_MS - 1))

    (found,) = find()

    assert (found.kind, found.facts["silent_s"]) == (IncidentKind.PUMP_AWAY, PUMP_SILENT_MS // 1_000)


def test_what_an_old_survey_found_stays_as_it_is(engine: Engine, surveyor: Surveyor, people: People) -> None:
    """No news is not good news: the look does not speak for queues."""
    put(engine, jobs=3, age_s=20)
    surveyor.look()
    assert look_around(now=timezone.now(), every=timedelta(0)).opened == 1
    surveyor.look(now_ms=now_of(engine) - 3_600_000)

    look = look_at_pool(pool=POOL, survey=read_pool_survey(pool=POOL), now=timezone.now())

    assert IncidentKind.NO_CONSUMER not in look.kinds
    for _ in range(5):
        look_around(now=timezone.now(), every=timedelta(0))
    assert Incident.objects.get(kind="no_consumer").resolved_at is None


def test_a_pump_that_is_behind_is_found(engine: Engine, surveyor: Surveyor, people: People) -> None:
    put(engine, age_s=60, delay_ms=1_000)
    surveyor.look()

    (found,) = find()

    assert found.kind is IncidentKind.PUMP_LATE
    assert 59 <= int(str(found.facts["behind_s"])) < 120


def test_a_redis_that_is_almost_full_is_found(
    engine: Engine, surveyor: Surveyor, people: People, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis_client.config_set("maxmemory", int(redis_client.info("memory")["used_memory"]) * 100)
    try:
        surveyor.look()
        assert find() == ()
        monkeypatch.setattr(pool_findings, "MEMORY_SHARE", 0.005)

        (found,) = find()
    finally:
        redis_client.config_set("maxmemory", 0)

    assert (found.kind, found.pool) == (IncidentKind.REDIS_FULL, POOL)


def test_events_that_were_dropped_are_found_for_a_day(engine: Engine, surveyor: Surveyor, people: People) -> None:
    counters, now_ms = partition_keys(0)["counters"], now_of(engine)
    long_ago_ms = now_ms - pool_findings.EVENTS_DROPPED_MS - 1
    engine.client.hset(partition_keys(1)["counters"], mapping={"events_dropped": 50, "events_dropped_at": long_ago_ms})
    engine.client.hset(counters, mapping={"events_dropped": 40, "events_dropped_at": long_ago_ms})
    surveyor.look()
    assert find() == ()
    told = {"events_dropped": 43, "events_dropped_before": 40, "events_dropped_at": now_ms - 60_000}
    engine.client.hset(counters, mapping=told)

    (found,) = find()

    assert (found.kind, found.size) == (IncidentKind.EVENTS_DROPPED, 3)
    assert severity_of(found, now=found.since) is IncidentSeverity.WARNING
    assert 60 <= int(str(found.facts["ago_s"])) < 120


def test_reports_that_failed_are_one_incident(people: People) -> None:
    now = timezone.now()
    for days, state in (
        (1, ReportState.FAILED),
        (2, ReportState.DONE),
        (3, ReportState.FAILED),
        (9, ReportState.FAILED),
    ):
        ReportDay.objects.create(
            date=now.date() - timedelta(days=days), state=state, trigger="scheduled", claimed_at=now, beat_at=now
        )

    (found,) = look_at_reports(now=now).findings

    assert (found.kind, found.size) == (IncidentKind.REPORT_FAILED, 2)
    assert found.facts["day"] == (now.date() - timedelta(days=1)).isoformat()


def test_a_pool_that_answers_again_resolves_its_incident(
    engine: Engine, surveyor: Surveyor, people: People, redis_url: str
) -> None:
    surveyor.look()
    Pool.objects.create(name="away", url="unix:///nowhere/redis.sock")
    look_around(now=timezone.now(), every=timedelta(0))
    incident = Incident.objects.get(kind="redis_away")
    assert (incident.pool, incident.resolved_at) == ("away", None)
    Pool.objects.filter(name="away").update(url=f"{redis_url}?db=1")

    def is_resolved() -> bool:
        forget_recent()
        look_around(now=timezone.now(), every=timedelta(0))
        incident.refresh_from_db()
        return incident.resolved_at is not None

    wait_until(is_resolved, or_fail="the pool answers, and its incident stays open")
