"""Counts, rates, percentiles, ages."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.engine import ack, consume, delete_jobs, fail, release, stats
from queues.engine.stats.minutes import minutes_of, percentiles, rates

from .test_expiry import sweep_all
from .world import START_MS, World

MINUTE_MS = 60_000
BEGIN_MS = START_MS - START_MS % MINUTE_MS
WORST_RATIO = 2 ** (1 / 8)
"""A value in a bucket of a quarter octave is at most this factor away from the bucket's geometric middle."""


def test_rates_are_per_second_over_the_last_minute(world: World) -> None:
    world.now_ms = BEGIN_MS + 30_000
    world.publish(*[b"x"] * 30, tries=2)
    jobs = world.take(count=20)
    world.run(ack(world.queue, [job.job_id for job in jobs[:10]], now_ms=world.now_ms))
    world.run(fail(world.queue, jobs[10].job_id, now_ms=world.now_ms))

    found = world.run(stats(world.queue, now_ms=world.now_ms))

    assert found.published_per_s == 0.5
    assert found.consumed_per_s == pytest.approx(20 / 60, abs=1e-3)
    assert found.acked_per_s == pytest.approx(10 / 60, abs=1e-3)
    assert found.failed_per_s == pytest.approx(1 / 60, abs=1e-3)


def test_of_the_minute_before_only_the_share_within_the_last_60_s_counts() -> None:
    minutes = {9: {("p", 0): 120}, 10: {("p", 0): 30}, 8: {("p", 0): 9_999}}

    assert rates(minutes, 10 * MINUTE_MS)["p"] == pytest.approx(2.5)
    assert rates(minutes, 10 * MINUTE_MS + 45_000)["p"] == pytest.approx((30 + 120 / 4) / 60)
    assert rates(minutes, 11 * MINUTE_MS + 59_999)["p"] == pytest.approx(0, abs=0.001)


def test_percentiles_are_within_their_stated_error(world: World) -> None:
    chance = random.Random(7)
    waits = [round(chance.lognormvariate(5, 2)) for _ in range(400)]
    world.now_ms = BEGIN_MS
    for wait in waits:
        world.publish_one(at_ms=BEGIN_MS + 60_000, ttl_ms=0)
        assert wait < 10 * MINUTE_MS
    (delayed,) = world.queue.select(("delayed",))
    members = world.client.zrange(delayed, 0, -1)
    for member, wait in zip(members, waits, strict=True):
        world.client.zadd(delayed, {member: BEGIN_MS + 60_000})
        raw = world.client.hget(world.queue.select(("jobs",))[0], member)
        due = (BEGIN_MS + 60_000 - wait).to_bytes(6, "big")
        world.client.hset(world.queue.select(("jobs",))[0], member, raw[:9] + due + raw[15:])
    world.now_ms = BEGIN_MS + 60_000

    assert len(world.take(count=1_000)) == len(waits)

    found = world.run(stats(world.queue, now_ms=world.now_ms)).wait_ms
    for percent in (50, 95, 99):
        exact = sorted(waits)[-(-len(waits) * percent // 100) - 1]
        shown = found[f"p{percent}"]
        assert shown is not None
        assert exact / WORST_RATIO - 0.1 <= shown <= exact * WORST_RATIO + 0.1


@given(st.lists(st.integers(min_value=1, max_value=2**40), min_size=1, max_size=200))
def test_every_duration_falls_into_a_bucket_within_the_stated_error(durations: list[int]) -> None:
    """The same formula as lua/lib/minute_counts.lua; that the two agree is seen above."""
    import math

    counts: dict[tuple[str, int], int] = {}
    for ms in durations:
        bucket = math.floor(math.log2(ms) * 4 + 1e-9) + 1
        counts["w", bucket] = counts.get(("w", bucket), 0) + 1
    found = percentiles({0: counts}, 0, "w")
    for percent in (50, 95, 99):
        exact = sorted(durations)[-(-len(durations) * percent // 100) - 1]
        shown = found[f"p{percent}"]
        assert shown is not None
        assert exact / 1.092 - 0.1 <= shown <= exact * 1.092 + 0.1


def test_waits_and_runs_are_measured_apart(world: World) -> None:
    world.publish(b"x", b"x")
    world.advance(1_000)
    jobs = world.take(count=2)
    world.advance(64_000)
    world.run(ack(world.queue, [job.job_id for job in jobs], now_ms=world.now_ms))

    found = world.run(stats(world.queue, now_ms=world.now_ms))

    assert found.wait_ms["p50"] == pytest.approx(1_000, rel=0.09)
    assert found.run_ms["p99"] == pytest.approx(64_000, rel=0.09)


def test_a_job_that_is_taken_at_once_waited_less_than_a_millisecond(world: World) -> None:
    world.publish_one()
    world.take_one()

    assert world.run(stats(world.queue, now_ms=world.now_ms)).wait_ms["p50"] == 0.5


def test_percentiles_tell_of_the_last_five_minutes_only(world: World) -> None:
    world.now_ms = BEGIN_MS
    world.publish_one()
    world.take_one()
    world.now_ms = BEGIN_MS + 5 * MINUTE_MS - 1
    assert world.run(stats(world.queue, now_ms=world.now_ms)).wait_ms["p50"] is not None
    world.advance(1)

    assert world.run(stats(world.queue, now_ms=world.now_ms)).wait_ms == {"p50": None, "p95": None, "p99": None}


def test_old_minutes_are_dropped_and_the_rest_ends_by_itself(world: World) -> None:
    for _ in range(30):
        world.publish_one()
        world.take_one()
        world.advance(MINUTE_MS)

    minutes = minutes_of([item for pair in _raw_stats(world).items() for item in pair])
    assert len(minutes) <= 10
    assert max(minutes) - min(minutes) < 10
    assert 0 < world.client.ttl(world.queue.select(("stats",))[0]) <= 600


def _raw_stats(world: World) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = world.client.hgetall(world.queue.select(("stats",))[0])
    return found


def test_the_oldest_ready_job_is_the_one_due_longest(world: World) -> None:
    assert world.run(stats(world.queue, now_ms=world.now_ms)).oldest_ready_ms is None
    world.publish_one(ttl_ms=2_000)
    world.advance(1_000)
    world.publish_one(priority=-5)
    world.publish_one()

    assert world.run(stats(world.queue, now_ms=world.now_ms)).oldest_ready_ms == 1_000
    world.advance(1_500)
    assert world.run(stats(world.queue, now_ms=world.now_ms)).oldest_ready_ms == 1_500


def test_expired_jobs_are_counted(world: World) -> None:
    world.publish(*[b"x"] * 5, ttl_ms=10)
    world.advance(10)
    world.run(consume(world.queue, ttr_ms=1, now_ms=world.now_ms))
    world.publish(*[b"x"] * 2, delay_ms=10, ttl_ms=10)
    world.advance(10)
    sweep_all(world)

    assert sum(count for field, count in world.state().stats.items() if field.endswith("x")) == 7


def test_a_queue_that_does_not_exist_has_zeros(world: World) -> None:
    found = world.run(stats(world.queue))

    assert set(found.counts.values()) == {0}
    assert (found.paused, found.published_per_s, found.oldest_ready_ms) == (False, 0, None)
    assert found.dropped == {"age": 0, "count": 0}


def test_the_age_of_a_starving_job_is_seen_behind_others(world: World) -> None:
    low = world.publish_one(priority=-5)
    old = world.publish_one()
    world.advance(60_000)
    fresh = world.publish_one(priority=9)
    assert world.take_one().job_id == fresh
    world.run(release(world.queue, fresh, now_ms=world.now_ms))

    assert world.run(stats(world.queue, now_ms=world.now_ms)).oldest_ready_ms == 60_000
    world.run(delete_jobs(world.queue, [old], now_ms=world.now_ms))
    assert world.run(stats(world.queue, now_ms=world.now_ms)).oldest_ready_ms == 60_000
    world.run(delete_jobs(world.queue, [low], now_ms=world.now_ms))
    assert world.run(stats(world.queue, now_ms=world.now_ms)).oldest_ready_ms == 0
