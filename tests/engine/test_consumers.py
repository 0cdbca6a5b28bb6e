"""Who consumes, as it stands in Redis: what processes tell of those who wait, and the jobs in somebody's hands."""

from __future__ import annotations

import pytest

from queues.engine.constants import NAME_MAX_BYTES
from queues.engine.keys import tellers_key, told_key
from queues.engine.operations.consumers import (
    FORGET_PROCESS_MS,
    PROCESSES_MAX,
    held_queues,
    list_waiting,
    list_working,
    tell_waiting,
)
from queues.engine.stats.consumers import (
    QUEUES_NAMED,
    RECORD_MAX_BYTES,
    QueueWaiters,
    WaitingBeat,
    WaitingConsumer,
    pack_waiting,
)

from .world import World

MAILER = WaitingConsumer(
    namespace="shop", queues=("emails",), consumer="mailer", address="10.0.0.7", waiting=2, since_ms=9_000
)


def beat(process: str = "web:1", *consumers: WaitingConsumer) -> WaitingBeat:
    return WaitingBeat(
        process=process,
        waiting=2,
        consumers=consumers or (MAILER,),
        consumers_omitted=0,
        queues=(QueueWaiters(namespace="shop", queue="emails", waiting=2),),
        queues_omitted=0,
    )


def nobody(process: str) -> WaitingBeat:
    return WaitingBeat(process=process, waiting=0, consumers=(), consumers_omitted=0, queues=(), queues_omitted=0)


def processes(world: World, *, after_ms: int = 0) -> list[str]:
    return [one.process for one in world.run(list_waiting(now_ms=world.now_ms + after_ms)).beats]


def test_what_a_process_told_ages_by_the_servers_clock(world: World) -> None:
    left = WaitingConsumer(
        namespace="shop", queues=("a", "b"), consumer="", address="::1", waiting=0, since_ms=60_000, left_ms=100
    )
    world.run(tell_waiting(beat("web:1", MAILER, left), now_ms=world.now_ms))

    (found,) = world.run(list_waiting(now_ms=world.now_ms + 500)).beats

    assert (found.process, found.waiting, found.age_ms) == ("web:1", 2, 500)
    assert [(one.consumer, one.since_ms, one.left_ms) for one in found.consumers] == [
        ("mailer", 9_500, 0),
        ("", 60_500, 600),
    ]
    assert found.queues == (QueueWaiters(namespace="shop", queue="emails", waiting=2),)


def test_a_process_that_has_died_is_not_listed_and_its_keys_expire(world: World) -> None:
    world.run(tell_waiting(beat(), now_ms=world.now_ms))

    assert processes(world, after_ms=FORGET_PROCESS_MS - 1) == ["web:1"]
    assert processes(world, after_ms=FORGET_PROCESS_MS) == []
    for key in (tellers_key(), told_key()):
        assert 0 < world.client.pttl(key) <= FORGET_PROCESS_MS


def test_what_a_dead_process_said_is_dropped_by_the_next_word_of_another(world: World) -> None:
    world.run(tell_waiting(beat("dead"), now_ms=world.now_ms))

    assert world.run(tell_waiting(beat("alive"), now_ms=world.now_ms + FORGET_PROCESS_MS)) == 1

    assert world.client.hkeys(told_key()) == [b"alive"]


def test_of_too_many_processes_the_latest_are_known(world: World) -> None:
    for number in range(PROCESSES_MAX + 2):
        world.run(tell_waiting(beat(f"p{number:03}"), now_ms=world.now_ms + number))

    assert processes(world, after_ms=100) == [f"p{number:03}" for number in range(2, PROCESSES_MAX + 2)]
    assert world.client.hlen(told_key()) == PROCESSES_MAX


def test_a_process_where_nobody_waits_any_more_leaves_nothing_behind(world: World) -> None:
    world.run(tell_waiting(beat(), now_ms=world.now_ms))

    assert world.run(tell_waiting(nobody("web:1"), now_ms=world.now_ms)) == 0
    assert not world.client.exists(tellers_key(), told_key())


def test_processes_tell_on_when_redis_is_full(world: World) -> None:
    world.client.config_set("maxmemory-policy", "noeviction")
    world.client.config_set("maxmemory", 1)
    try:
        assert world.run(tell_waiting(beat(), now_ms=world.now_ms)) == 1
    finally:
        world.client.config_set("maxmemory", 0)


def test_a_record_of_another_version_is_left_out(world: World) -> None:
    world.run(tell_waiting(beat("other"), now_ms=world.now_ms))
    for record in (b"{}", b"", b"[1", b'{"head":{"waiting":1},"consumers":[[1]],"queues":[]}'):
        world.client.hset(told_key(), "other", record)
        assert processes(world) == []


def test_a_record_is_bounded_whatever_the_names(world: World) -> None:
    names = tuple(f"{number:04}".ljust(NAME_MAX_BYTES, "q") for number in range(QUEUES_NAMED + 5))
    long = WaitingConsumer(
        namespace="n" * NAME_MAX_BYTES, queues=names, consumer="ü" * 5000, address="a" * 5000, waiting=1, since_ms=0
    )
    told = WaitingBeat(
        process="p",
        waiting=200,
        consumers=(long,) * 200,
        consumers_omitted=1,
        queues=tuple(QueueWaiters(namespace=long.namespace, queue=name, waiting=1) for name in names * 30),
        queues_omitted=2,
    )

    assert len(pack_waiting(told)) <= RECORD_MAX_BYTES
    world.run(tell_waiting(told, now_ms=world.now_ms))
    (found,) = world.run(list_waiting(now_ms=world.now_ms)).beats
    assert len(found.consumers) + found.consumers_omitted == 201
    assert len(found.queues) + found.queues_omitted == 30 * len(names) + 2
    assert found.consumers[0].queues == names[:QUEUES_NAMED]
    assert found.consumers[0].queues_unnamed == 5
    assert found.consumers[0].consumer == "ü" * 32


def test_jobs_in_hand_are_listed_by_the_end_of_their_leases(world: World) -> None:
    first, second, third = world.publish(b"1", b"2", b"3")
    world.take(1, ttr_ms=60_000, consumer="slow")
    world.advance(1_000)
    world.take(1, ttr_ms=5_000, consumer="quick")
    world.take(1, ttr_ms=90_000, consumer="")

    found = world.run(list_working(world.queue, limit=2, now_ms=world.now_ms))

    assert (found.total, found.now_ms) == (3, world.now_ms)
    assert [(job.job_id, job.consumer, job.taken_ms, job.lease_end_ms, job.attempt) for job in found.jobs] == [
        (second, "quick", world.now_ms, world.now_ms + 5_000, 1),
        (first, "slow", world.now_ms - 1_000, world.now_ms + 59_000, 1),
    ]
    assert third not in {job.job_id for job in found.jobs}


def test_queues_with_jobs_in_hand_are_found_without_walking_all_queues(world: World) -> None:
    layout = world.engine.layout
    assert world.run(held_queues(layout, world.queue.partition, limit=10)) == []
    world.publish(b"1")
    assert world.run(held_queues(layout, world.queue.partition, limit=10)) == []

    world.take_one()

    assert world.run(held_queues(layout, world.queue.partition, limit=10)) == [world.queue]


@pytest.mark.parametrize("limit", [1, 3])
def test_a_list_of_held_queues_is_bounded(world: World, limit: int) -> None:
    engine = world.engine
    for number in range(30):
        world.queue = engine.queue("shop", f"q{number}")
        world.publish(b"1")
        world.take_one()

    for partition in range(engine.layout.partitions):
        assert len(world.run(held_queues(engine.layout, partition, limit=limit))) == limit
