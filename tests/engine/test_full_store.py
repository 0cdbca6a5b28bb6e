"""Redis has reached maxmemory: publishing is refused whole, everything that works jobs off goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from queues.engine import (
    Engine,
    Operation,
    PublishOptions,
    RequestLimit,
    StoreFullError,
    ack,
    ack_attempt,
    delete_dead,
    delete_jobs,
    destroy,
    detail,
    extend,
    fail,
    flush_due,
    free_deleted,
    give_back_token_limit,
    list_jobs,
    list_queues,
    open_async_engine,
    open_engine,
    parse_backoff,
    pause,
    peek,
    promote_due,
    publish,
    reclaim_ended,
    release,
    republish,
    respawn,
    resume,
    stats,
    sweep,
    take_token_limit,
    trim_dead,
)
from queues.engine.constants import WAITING_MARK_MS
from queues.engine.operations.consume import consume_any
from queues.engine.values import JobState

from .world import STATES, TTR_MS, World


@pytest.fixture
def full(world: World) -> Iterator[Callable[[], None]]:
    """Call it to fill the store."""
    world.client.config_set("maxmemory-policy", "noeviction")
    yield lambda: world.client.config_set("maxmemory", 1)
    world.client.config_set("maxmemory", 0)


@pytest.mark.parametrize(
    "options",
    [
        PublishOptions(),
        PublishOptions(delay_ms=5),
        PublishOptions(priority=1),
        PublishOptions(key="k", delay_ms=1),
    ],
)
def test_a_publish_is_refused_and_changes_nothing(
    world: World, full: Callable[[], None], options: PublishOptions
) -> None:
    old = world.job_in("working")
    full()
    before = world.dump()

    with pytest.raises(StoreFullError):
        world.run(publish(world.queue, [b"x"], options, now_ms=world.now_ms))
    with pytest.raises(StoreFullError):
        world.run(republish(world.queue, old, b"x", options, now_ms=world.now_ms))
    with pytest.raises(StoreFullError):
        world.engine.batch([publish(world.queue, [b"x"], options), publish(world.queue, [b"y"], options)])

    assert world.dump() == before


@pytest.mark.parametrize("priority", [0, 7])
def test_jobs_are_consumed_failed_released_extended_and_acked(
    world: World, full: Callable[[], None], priority: int
) -> None:
    ids = world.publish(*[b"x"] * 5, tries=2, priority=priority, retention_ms=1_000)
    later = world.publish_one(delay_ms=10, priority=priority)
    full()
    world.advance(10)
    assert len(world.take(count=6)) == 6

    world.run(extend(world.queue, ids[0], ttr_ms=90_000, now_ms=world.now_ms))
    world.run(ack_attempt(world.queue, ids[0], attempt=1, result=b"r" * 100, now_ms=world.now_ms))
    world.run(fail(world.queue, ids[1], error="e", now_ms=world.now_ms))
    world.run(fail(world.queue, ids[2], delay_ms=5, now_ms=world.now_ms))
    world.run(fail(world.queue, ids[3], dead=True, now_ms=world.now_ms))
    world.run(release(world.queue, ids[4], delay_ms=5, now_ms=world.now_ms))
    world.run(ack(world.queue, [later], now_ms=world.now_ms))

    assert world.places() == dict(zip(ids, ["completed", "ready", "retry", "dead", "delayed"], strict=True))


def test_due_jobs_are_promoted_and_lost_leases_taken_back(world: World, full: Callable[[], None]) -> None:
    delayed = world.publish_one(delay_ms=10, ttl_ms=0)
    lost = world.publish_one(tries=2, ttl_ms=0)
    world.take_one()
    backoff = world.publish_one(tries=2, ttl_ms=0, backoff=parse_backoff("fixed:5"))
    world.take_one()
    completed = world.job_in("completed", retention_ms=10)
    full()
    world.advance(TTR_MS)

    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))
    world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    assert world.places() == {delayed: "ready", lost: "ready", backoff: "retry"}
    assert completed not in world.places()


def test_a_waiting_consumer_can_leave_its_mark(world: World, full: Callable[[], None]) -> None:
    full()

    world.run(consume_any([world.queue], ttr_ms=1, mark_ms=WAITING_MARK_MS, now_ms=world.now_ms))

    waiting = world.content().partition(world.queue.partition).waiting
    assert waiting == {"shop/orders": world.now_ms + WAITING_MARK_MS}


@pytest.mark.parametrize("everything", [False, True])
def test_a_queue_can_be_paused_resumed_and_destroyed(world: World, full: Callable[[], None], everything: bool) -> None:
    world.publish_one(key="x")
    world.publish_one(key="y")
    full()

    assert world.run(pause(world.queue, now_ms=world.now_ms))
    assert world.run(resume(world.queue, now_ms=world.now_ms))
    assert world.run(destroy(world.queue, everything=everything, now_ms=world.now_ms)) == 2
    while world.run(free_deleted(world.engine.layout)).more:
        pass
    assert world.client.keys("*:deleted:*") == []


@pytest.mark.parametrize("place", STATES)
def test_a_job_can_be_deleted_in_every_state(world: World, full: Callable[[], None], place: str) -> None:
    job_id = world.job_in(place)
    full()

    assert world.run(delete_jobs(world.queue, [job_id], now_ms=world.now_ms)) == 1
    assert world.places() == {}


def test_dead_letters_can_be_respawned_deleted_and_trimmed(world: World, full: Callable[[], None]) -> None:
    world.publish(b"1", b"2", b"3")
    for job in world.take(count=3):
        world.run(fail(world.queue, job.job_id, now_ms=world.now_ms))
    full()

    assert world.run(respawn(world.queue, limit=1, ttl_ms=0, now_ms=world.now_ms)) == 1
    assert world.run(delete_dead(world.queue, limit=1, now_ms=world.now_ms)) == 1
    assert world.run(trim_dead(world.queue, max_age_ms=0, max_count=None, now_ms=world.now_ms)).jobs == 1


def test_expired_jobs_and_keys_are_swept(world: World, full: Callable[[], None]) -> None:
    world.publish_one(ttl_ms=5, key="k")
    world.publish_one(ttl_ms=5, delay_ms=5)
    full()
    world.advance(5)

    for _ in range(4):
        world.run(sweep(world.engine.layout, now_ms=world.now_ms))

    assert world.places() == {}
    assert world.state().keys == {}


def test_expired_jobs_are_cleared_away_by_peek_and_consume(world: World, full: Callable[[], None]) -> None:
    world.publish_one(ttl_ms=5)
    full()
    world.advance(5)

    assert world.run(peek(world.queue, now_ms=world.now_ms)) is None
    assert world.take() == ()


def test_reading_goes_on(world: World, full: Callable[[], None]) -> None:
    job_id = world.job_in("working")
    full()

    assert world.run(detail(world.queue, job_id)) is not None
    assert world.run(stats(world.queue)).counts[JobState.WORKING] == 1
    assert len(world.run(list_jobs(world.queue, JobState.WORKING)).jobs) == 1
    assert world.run(list_queues(world.engine.layout, "shop")).names == ("orders",)


def test_token_limits_go_on_counting(world: World, full: Callable[[], None]) -> None:
    full()

    limit = RequestLimit(token_id="t", kind="read", allowance=2, interval_ms=60_000)
    takes = [take_token_limit(limit) for _ in range(3)]
    taken = [world.run(take) for take in takes]
    assert [one.allowed for one in taken] == [True, True, False]
    world.run(give_back_token_limit(taken[0]))
    assert world.run(takes[0]).allowed


def test_processes_can_start(world: World, full: Callable[[], None], redis_url: str) -> None:
    full()

    open_engine(redis_url, partitions=world.engine.layout.partitions).close()
    asyncio.run(open_and_close(redis_url))


async def open_and_close(url: str) -> None:
    engine = await open_async_engine(url)
    await engine.close()


def test_a_new_pool_cannot_be_made(engine: Engine, full: Callable[[], None], redis_url: str) -> None:
    engine.client.flushall()
    full()

    with pytest.raises(StoreFullError):
        open_engine(redis_url)


def test_scripts_can_be_loaded_again(world: World, full: Callable[[], None]) -> None:
    world.publish_one()
    full()
    world.client.script_flush()

    assert world.take_one() is not None


def test_asyncio_callers_get_the_same_refusal(world: World, full: Callable[[], None], redis_url: str) -> None:
    job_id = world.job_in("working")
    full()

    async def scenario() -> list[Any]:
        engine = await open_async_engine(redis_url)
        try:
            work: list[Operation[Any]] = [
                publish(world.queue, [b"x"]),
                ack(world.queue, [job_id]),
                publish(world.queue, [b"y"]),
            ]
            return await asyncio.gather(*[engine.run(operation) for operation in work], return_exceptions=True)
        finally:
            await engine.close()

    first, acked, second = asyncio.run(scenario())

    assert isinstance(first, StoreFullError)
    assert isinstance(second, StoreFullError)
    assert acked[0] == "acked"


def test_a_full_store_still_flushes_groups(world: World, full: Callable[[], None]) -> None:
    world.publish(b"one", b"two", group="mails", group_grace_ms=1_000)
    world.advance(1_000)
    full()
    before = world.dump()
    with pytest.raises(StoreFullError):
        world.publish(b"three", group="mails", group_max_size=3)
    assert world.dump() == before

    assert world.run(flush_due(world.engine.layout, now_ms=world.now_ms)).jobs == 1
    assert list(world.places().values()) == ["ready"]
