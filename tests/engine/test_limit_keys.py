"""Limit keys: their jobs share a queue fairly, by weight, within limits of rate and concurrency (lua/lib/fair.lua)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from queues.engine import (
    ConsumeLimits,
    InvalidArgumentError,
    JobState,
    KeyMode,
    KeyWait,
    PublishOptions,
    ack,
    ack_attempt,
    consume,
    delete_jobs,
    destroy,
    detail,
    fail,
    find_limit_keys,
    free_deleted,
    list_jobs,
    list_limit_keys,
    peek,
    publish,
    publish_large,
    reclaim_ended,
    release,
    republish,
    reschedule,
    respawn,
    stats,
    sweep,
)
from queues.engine.operations.consume import consume_step, is_again
from queues.engine.operations.workers import cancel_job
from tests.support.rows import in_one_test

from .loop import in_loop, opened, start_waiting
from .world import START_MS, TTR_MS, World

ONE_AT_ONCE = ConsumeLimits(key_in_flight=1)
TEN_PER_S = ConsumeLimits(key_rate=10, key_burst=2)
BATCH = 1_000


def bodies(world: World, count: int = 1, **options: Any) -> list[str]:
    """What is handed out, in order."""
    return [job.body.decode() for job in world.take(count, **options)]


def publish_for(world: World, key: str, count: int, **options: Any) -> list[str]:
    """Ids of new jobs of a key, whose bodies name it."""
    ids: list[str] = []
    while len(ids) < count:
        ids += world.publish(*[key.encode()] * min(BATCH, count - len(ids)), limit_key=key, **options)
    return ids


# Fairness


def test_a_key_with_many_jobs_does_not_hold_up_one_with_few(world: World) -> None:
    publish_for(world, "a", 100_000)
    assert bodies(world, 10) == ["a"] * 10
    publish_for(world, "b", 3)
    assert bodies(world, 8).count("b") == 3


@pytest.mark.parametrize("count", [1, 7, 64, 400])
def test_keys_share_by_weight_however_many_jobs_are_asked_for(world: World, count: int) -> None:
    weights = ConsumeLimits(weights=(("a", 3),))
    for key in ("a", "b"):
        publish_for(world, key, 1_000)
    got: list[str] = []
    while len(got) < 400:
        got += bodies(world, min(count, 400 - len(got)), queue_limits=weights)
    assert Counter(got) == {"a": 300, "b": 100}
    assert all(Counter(got[place : place + 8]) == {"a": 6, "b": 2} for place in range(0, 400, 8))


def test_what_many_calls_hand_out_is_what_one_would(world: World) -> None:
    weights = ConsumeLimits(weights=(("b", 2), ("c", 5)))
    for key, number in (("a", 40), ("b", 9), ("c", 30), ("d", 1)):
        publish_for(world, key, number)
    world.publish(*[b"-"] * 20)
    one_by_one = [bodies(world, queue_limits=weights)[0] for _ in range(100)]
    world.run(destroy(world.queue, everything=True))
    for key, number in (("a", 40), ("b", 9), ("c", 30), ("d", 1)):
        publish_for(world, key, number)
    world.publish(*[b"-"] * 20)
    assert bodies(world, 100, queue_limits=weights) == one_by_one


def test_jobs_without_a_key_take_turns_with_keys(world: World) -> None:
    world.publish(*[b"-"] * 50)
    publish_for(world, "a", 50)
    assert Counter(bodies(world, 20)) == {"-": 10, "a": 10}
    assert Counter(bodies(world, 80)) == {"-": 40, "a": 40}


def test_a_key_that_comes_back_has_saved_nothing_up(world: World) -> None:
    publish_for(world, "a", 200)
    publish_for(world, "b", 1)
    bodies(world, 100)
    publish_for(world, "b", 100)
    assert Counter(bodies(world, 40)) == {"a": 20, "b": 20}


def test_a_key_that_asks_for_one_at_a_time_gets_no_more_than_its_share(world: World) -> None:
    for key in ("a", "b", "c"):
        publish_for(world, key, 100)
    got: list[str] = []
    for _ in range(60):
        if "x" not in got[-1:]:
            publish_for(world, "x", 1)
        got += bodies(world)
    assert got.count("x") <= 60 / 4 + 1


# The order within a key, and the lives of its jobs


def test_within_a_key_priority_comes_before_age(world: World) -> None:
    for body, priority in ((b"1", 0), (b"2", 5), (b"3", -5), (b"4", 5)):
        world.publish(body, limit_key="a", priority=priority)
    assert bodies(world, 9) == ["2", "4", "1", "3"]


def test_a_released_job_is_the_next_of_its_key(world: World) -> None:
    publish_for(world, "a", 3)
    first = world.take_one()
    world.run(release(world.queue, first.job_id, now_ms=world.now_ms))
    assert world.take_one().job_id == first.job_id


@pytest.mark.parametrize("delay_ms", [None, 0])
def test_a_failed_job_comes_back_behind_those_of_its_key(world: World, delay_ms: int | None) -> None:
    ids = publish_for(world, "a", 2, tries=2)
    world.run(fail(world.queue, world.take_one().job_id, delay_ms=delay_ms, now_ms=world.now_ms))
    assert [job.job_id for job in world.take(2)] == [ids[1], ids[0]]


def test_delayed_retried_respawned_and_rescheduled_jobs_return_to_their_key(world: World) -> None:
    (delayed,) = publish_for(world, "a", 1, delay_ms=1_000)
    (retried,) = publish_for(world, "a", 1, tries=2)
    world.run(fail(world.queue, world.take_one().job_id, delay_ms=1_000, now_ms=world.now_ms))
    (died,) = publish_for(world, "a", 1)
    world.run(fail(world.queue, world.take_one().job_id, dead=True, now_ms=world.now_ms))
    (soon,) = publish_for(world, "a", 1, delay_ms=900_000)
    world.run(respawn(world.queue, ids=[died], ttl_ms=0, now_ms=world.now_ms))
    world.run(reschedule(world.queue, [soon], at_ms=world.now_ms, now_ms=world.now_ms))
    assert world.state().line_of("a") == [died, soon]
    world.advance(1_000)
    assert {job.job_id for job in world.take(9, queue_limits=ConsumeLimits(key_in_flight=4))} == {
        delayed,
        retried,
        died,
        soon,
    }


def test_every_way_to_publish_knows_limit_keys(world: World) -> None:
    options = PublishOptions(limit_key="a")
    key = PublishOptions(limit_key="a", key="k", key_mode=KeyMode.UNTIL_DONE)
    world.run(publish(world.queue, [b"1"], key, now_ms=world.now_ms))
    world.run(publish_large(world.queue, [b"2" * 600_000] * 2, options, now_ms=world.now_ms))
    world.run(republish(world.queue, "0" * 26, b"3", options, now_ms=world.now_ms))
    assert len(world.state().line_of("a")) == 4
    assert world.run(publish(world.queue, [b"5"], key, now_ms=world.now_ms)).duplicate


def test_expired_jobs_are_not_handed_out_and_take_no_turn(world: World) -> None:
    publish_for(world, "a", 30, ttl_ms=1_000)
    publish_for(world, "a", 1)
    publish_for(world, "b", 2)
    world.advance(1_000)
    assert sorted(bodies(world, 3, queue_limits=TEN_PER_S)) == ["a", "b", "b"]
    assert not world.state().lines


def test_peek_shows_the_job_that_is_next(world: World) -> None:
    publish_for(world, "a", 2)
    publish_for(world, "b", 2)
    for _ in range(4):
        shown = world.run(peek(world.queue, now_ms=world.now_ms))
        assert shown is not None
        assert world.take_one().job_id == shown.job_id


@pytest.mark.parametrize("latest_first", [False, True])
def test_listing_goes_through_all_keys(world: World, latest_first: bool) -> None:
    ids = [*world.publish(b"-"), *publish_for(world, "a", 3), *publish_for(world, "ü", 3)]
    seen: list[str] = []
    after: str | None = None
    while True:
        page = world.run(
            list_jobs(world.queue, JobState.READY, after=after, limit=2, latest_first=latest_first, now_ms=world.now_ms)
        )
        seen += [job.job_id for job in page.jobs]
        after = page.after
        if after is None:
            break
    assert seen == (ids[::-1] if latest_first else ids)
    shown = world.run(detail(world.queue, ids[-1], now_ms=world.now_ms))
    assert shown is not None
    assert shown.limit_key == "ü"


def test_destroying_and_draining_leave_nothing(world: World) -> None:
    for everything in (False, True):
        publish_for(world, "a", 600)
        publish_for(world, "b", 3, priority=4)
        assert world.run(destroy(world.queue, everything=everything, now_ms=world.now_ms)) == 603
        assert not world.state().jobs
    while world.run(free_deleted(world.engine.layout)).more:
        pass
    world.advance(20_000)
    world.run(sweep(world.engine.layout, now_ms=world.now_ms))
    assert not world.content().queue(world.queue.name.decode()).turns


# Concurrency


def test_a_key_at_its_limit_leaves_its_turns_to_others(world: World) -> None:
    publish_for(world, "a", 3)
    publish_for(world, "b", 3)
    assert bodies(world, 9, queue_limits=ONE_AT_ONCE) == ["a", "b"]
    assert bodies(world, 9, queue_limits=ONE_AT_ONCE) == []


ENDS = ("ack", "fail", "release", "reclaim", "delete", "plain ack", "bury", "complete", "republish")


@pytest.mark.parametrize("end", ENDS)
def test_however_an_attempt_ends_its_slot_is_free_in_the_same_call(world: World, end: str) -> None:
    options = {"retention_ms": 60_000} if end == "complete" else {}
    ids = publish_for(world, "a", 2, **options)
    held = world.take_one(queue_limits=ONE_AT_ONCE)
    assert world.take(queue_limits=ONE_AT_ONCE) == ()
    queue, now_ms = world.queue, world.now_ms
    if end == "ack" or end == "complete":
        world.run(ack_attempt(queue, held.job_id, attempt=1, result=b"r", now_ms=now_ms))
    elif end == "plain ack":
        world.run(ack(queue, [held.job_id], now_ms=now_ms))
    elif end == "fail" or end == "bury":
        world.run(fail(queue, held.job_id, delay_ms=50_000, dead=end == "bury", now_ms=now_ms))
    elif end == "release":
        world.run(release(queue, held.job_id, delay_ms=50_000, now_ms=now_ms))
    elif end == "reclaim":
        world.advance(TTR_MS)
        world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))
    elif end == "delete":
        world.run(delete_jobs(queue, [held.job_id], now_ms=now_ms))
    else:
        world.run(republish(queue, held.job_id, b"new", PublishOptions(delay_ms=9_000), now_ms=now_ms))
    assert world.state().turns["a"] >= 0, "the key takes turns again at once"
    assert world.take_one(queue_limits=ONE_AT_ONCE).job_id == ids[1]


def test_a_cancelled_attempt_keeps_its_slot_until_it_ends(world: World) -> None:
    publish_for(world, "a", 2)
    held = world.take_one(queue_limits=ONE_AT_ONCE)
    world.run(cancel_job(world.queue, held.job_id, given="1", now_ms=world.now_ms))
    assert world.take(queue_limits=ONE_AT_ONCE) == ()
    world.run(release(world.queue, held.job_id, now_ms=world.now_ms))
    assert len(world.take(2, queue_limits=ONE_AT_ONCE)) == 1


def test_a_limit_that_is_raised_is_noticed_within_seconds(world: World) -> None:
    publish_for(world, "a", 3)
    assert len(world.take(9, queue_limits=ONE_AT_ONCE)) == 1
    assert world.take(9, queue_limits=ONE_AT_ONCE) == ()
    world.advance(5_000)
    assert len(world.take(9, queue_limits=ConsumeLimits(key_in_flight=2))) == 1


def test_a_clock_that_is_put_back_does_not_shut_a_key_out(world: World) -> None:
    world.now_ms += 3_600_000
    publish_for(world, "a", 3)
    assert len(world.take(9, queue_limits=ONE_AT_ONCE)) == 1
    assert world.take(queue_limits=ONE_AT_ONCE) == ()
    world.now_ms = START_MS
    assert world.take(queue_limits=ConsumeLimits(key_in_flight=2)) == ()
    world.advance(5_000)
    assert len(world.take(9, queue_limits=ConsumeLimits(key_in_flight=2))) == 1


# Rates


def test_a_key_gets_its_burst_and_then_its_rate(world: World) -> None:
    publish_for(world, "a", 9)
    publish_for(world, "b", 1)
    assert bodies(world, 9, queue_limits=TEN_PER_S) == ["a", "b", "a"]
    consumed = world.run(consume(world.queue, ttr_ms=TTR_MS, queue_limits=TEN_PER_S, now_ms=world.now_ms))
    assert (consumed.jobs, consumed.next_due_ms) == ((), world.now_ms + 100)
    world.advance(99)
    assert world.take(queue_limits=TEN_PER_S) == ()
    world.advance(1)
    assert bodies(world, 9, queue_limits=TEN_PER_S) == ["a"]
    world.advance(1_000)
    assert bodies(world, 9, queue_limits=TEN_PER_S) == ["a", "a"]


def test_the_rate_of_a_queue_holds_for_all_its_jobs_and_outlives_them(world: World) -> None:
    limits = ConsumeLimits(rate=2, burst=3)
    taken = 0
    for _ in range(5):
        world.publish(b"-")
        for job in world.take(9, queue_limits=limits):
            world.run(ack(world.queue, [job.job_id], now_ms=world.now_ms))
            taken += 1
    assert taken == 3
    consumed = world.run(consume(world.queue, ttr_ms=TTR_MS, queue_limits=limits, now_ms=world.now_ms))
    assert (consumed.jobs, consumed.next_due_ms) == ((), world.now_ms + 500)
    world.advance(500)
    assert len(world.take(9, queue_limits=limits)) == 1


def test_what_is_known_of_idle_keys_is_dropped(world: World) -> None:
    for number in range(30):
        publish_for(world, f"tenant {number}", 1)
    for job in world.take(30, queue_limits=TEN_PER_S):
        world.run(ack(world.queue, [job.job_id], now_ms=world.now_ms))
    assert world.state().shares
    world.advance(20_000)
    world.run(sweep(world.engine.layout, now_ms=world.now_ms))
    content = world.content().queue(world.queue.name.decode())
    assert (content.shares, content.turns) == ({}, {})


# Many keys, and what can be seen


def test_a_call_steps_over_so_many_keys_at_a_limit_only(world: World) -> None:
    for number in range(1_280):
        publish_for(world, f"tenant {number}", 2)
    for _ in range(10):
        assert len(world.take(600)) == 128  # without limits: each key has a job that is worked on
    step = consume_step(world.queue, ttr_ms=TTR_MS, queue_limits=ONE_AT_ONCE, now_ms=world.now_ms)
    assert is_again(world.run(step))
    assert world.take(queue_limits=ONE_AT_ONCE) == ()
    assert world.run(list_limit_keys(world.queue, now_ms=world.now_ms)).throttled == 1_280


def test_a_page_of_limit_keys_has_250_at_most(world: World) -> None:
    for number in range(300):
        publish_for(world, f"tenant {number:03}", 1)

    first = world.run(list_limit_keys(world.queue, limit=1_000, now_ms=world.now_ms))
    second = world.run(list_limit_keys(world.queue, first=first.after or 0, limit=1_000, now_ms=world.now_ms))

    assert (len(first.keys), first.after, first.total) == (250, 250, 300)
    assert (len(second.keys), second.after) == (50, None)
    assert len({key.key for key in (*first.keys, *second.keys)}) == 300


def test_the_list_of_keys_says_what_each_waits_for(world: World) -> None:
    publish_for(world, "a", 3)
    publish_for(world, "b", 5)
    publish_for(world, "c", 1)
    limits = ConsumeLimits(key_rate=1, key_burst=2, key_in_flight=2, weights=(("b", 7),))
    world.run(ack(world.queue, [world.take_one(queue_limits=limits).job_id], now_ms=world.now_ms))
    assert sorted(bodies(world, 9, queue_limits=limits)) == ["a", "b", "b", "c"]
    publish_for(world, "d", 1)
    page = world.run(list_limit_keys(world.queue, queue_limits=limits, now_ms=world.now_ms))
    assert {key.key: (key.ready, key.working, key.weight, key.waits_for, key.free_ms) for key in page.keys} == {
        "a": (1, 1, 1, KeyWait.RATE, world.now_ms + 1_000),
        "b": (3, 2, 7, KeyWait.CONCURRENCY, None),
        "d": (1, 0, 1, KeyWait.TURN, None),
    }
    assert (page.total, page.throttled, page.after) == (3, 2, None)
    first = world.run(list_limit_keys(world.queue, limit=2, now_ms=world.now_ms))
    assert first.after == 2
    assert [key.key for key in world.run(list_limit_keys(world.queue, first=2, now_ms=world.now_ms)).keys] == ["d"]


def test_a_search_finds_keys_by_their_beginning_page_by_page(world: World) -> None:
    for key in ("acme", "acme 2", "acmé", "bcme", "b"):
        publish_for(world, key, 2)
    limits = ConsumeLimits(key_in_flight=1)
    assert bodies(world, 1, queue_limits=limits) == ["acme"]
    page = world.run(find_limit_keys(world.queue, "acm", limit=2, queue_limits=limits, now_ms=world.now_ms))
    assert [(key.key, key.ready, key.waits_for) for key in page.keys] == [
        ("acme", 1, KeyWait.CONCURRENCY),
        ("acme 2", 2, KeyWait.TURN),
    ]
    assert page.after == "acme 2"
    rest = world.run(find_limit_keys(world.queue, "acm", after=page.after, limit=1, now_ms=world.now_ms))
    assert ([key.key for key in rest.keys], rest.after) == (["acmé"], None)
    assert [key.key for key in world.run(find_limit_keys(world.queue, "", limit=5)).keys][-1] == "bcme"
    assert world.run(find_limit_keys(world.queue, "acmf")).keys == ()


def test_statistics_know_how_old_keyed_jobs_are(world: World) -> None:
    publish_for(world, "a", 1)
    world.advance(700)
    assert world.run(stats(world.queue, now_ms=world.now_ms)).oldest_ready_ms == 700


@in_one_test("key", ["", "x" * 65, "ü" * 33, "a\tb", "a\nb", "a\0b", "\ud800"])
def test_a_limit_key_is_printable_and_short(world: World, key: str) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid limit_key"):
        world.publish(limit_key=key)


@in_one_test(
    "limits",
    [
        ConsumeLimits(rate=-1),
        ConsumeLimits(rate=1_000_000),
        ConsumeLimits(key_rate=0.0001),
        ConsumeLimits(burst=0),
        ConsumeLimits(key_burst=-1),
        ConsumeLimits(key_in_flight=-1),
        ConsumeLimits(default_weight=0),
        ConsumeLimits(weights=(("a", 1_001),)),
        ConsumeLimits(weights=(("a\tb", 1),)),
        ConsumeLimits(weights=tuple((f"{number}", 1) for number in range(101))),
    ],
)
def test_limits_out_of_range_are_refused(world: World, limits: ConsumeLimits) -> None:
    with pytest.raises(InvalidArgumentError):
        world.take(queue_limits=limits)


@in_loop
async def test_a_waiting_consumer_is_woken_when_a_slot_is_free(world: World, redis_url: str) -> None:
    world.run(publish(world.queue, [b"1", b"2"], PublishOptions(limit_key="a")))
    (first,) = world.run(consume(world.queue, ttr_ms=TTR_MS, queue_limits=ONE_AT_ONCE)).jobs
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, world.queue, queue_limits=[ONE_AT_ONCE])
        world.run(ack(world.queue, [first.job_id]))
        assert len((await waiting).jobs) == 1
