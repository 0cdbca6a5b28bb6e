"""What is read of one worker, and of many without parsing them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queues.engine.operations.workers import (
    FORGET_WORKER_MS,
    list_worker_records,
    list_workers,
    read_worker,
    worker_beat,
)
from queues.engine.stats.heartbeats import WorkerBeat

from .world import World

BEAT = WorkerBeat(
    worker="w-1",
    host='"namespace":"bank"',
    pid=1,
    version='\\"namespace":"bank"',
    namespace="shop",
    state="running",
    queues={"namespace": 1},
    concurrency=1,
    up_ms=1_000,
    done=0,
    failed=0,
    cpu_percent=0.5,
    memory_bytes=1,
)


def test_one_worker_is_read_as_the_list_has_it(world: World) -> None:
    world.run(worker_beat(BEAT, since_ms=0, now_ms=world.now_ms))
    world.run(worker_beat(replace(BEAT, worker="w-2"), since_ms=0, now_ms=world.now_ms))
    later = world.now_ms + 2_000

    one = world.run(read_worker("shop", "w-1", now_ms=later))

    assert one == replace(BEAT, age_ms=2_000, up_ms=3_000)
    assert one == world.run(list_workers(now_ms=later))[0]


@pytest.mark.parametrize("later_ms", [FORGET_WORKER_MS, -1])
def test_a_worker_that_is_silent_or_spoke_later_than_now_is_unknown(world: World, later_ms: int) -> None:
    world.run(worker_beat(BEAT, since_ms=0, now_ms=world.now_ms))

    assert world.run(read_worker("shop", "w-1", now_ms=world.now_ms + later_ms)) is None
    assert world.run(list_worker_records(now_ms=world.now_ms + later_ms)) == ()
    assert world.run(read_worker("shop", "w-1", now_ms=world.now_ms + FORGET_WORKER_MS - 1)) is not None


def test_a_worker_that_nobody_heard_of_is_unknown(world: World) -> None:
    assert world.run(read_worker("shop", "\ud800nobody", now_ms=world.now_ms)) is None


def test_the_namespace_of_a_record_is_found_without_parsing(world: World) -> None:
    world.run(worker_beat(BEAT, since_ms=0, now_ms=world.now_ms))

    (record,) = world.run(list_worker_records(now_ms=world.now_ms + 5))

    assert (record.worker, record.namespace, record.age_ms) == ("w-1", "shop", 5)
    assert record.unpack() == replace(BEAT, age_ms=5, up_ms=1_005)
    assert replace(record, record=b"{}").unpack() is None


def test_a_listing_takes_several_short_calls_and_misses_nobody(world: World) -> None:
    for number in range(100):
        namespace = "shop" if number % 2 else "bank"
        world.run(
            worker_beat(replace(BEAT, worker=f"w-{number}", namespace=namespace), since_ms=0, now_ms=world.now_ms)
        )
    world.client.config_resetstat()

    everybody = world.run(list_worker_records(now_ms=world.now_ms))
    ours = world.run(list_workers("shop", now_ms=world.now_ms))

    assert world.client.info("commandstats")["cmdstat_evalsha"]["calls"] > 4
    assert {(one.namespace, one.worker) for one in everybody} == {
        ("shop" if number % 2 else "bank", f"w-{number}") for number in range(100)
    }
    assert {one.worker for one in ours} == {f"w-{number}" for number in range(1, 100, 2)}
    assert world.run(list_workers("nobody", now_ms=world.now_ms)) == ()
