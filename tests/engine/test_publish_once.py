"""Publishes that are repeated: what was added once is not added again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from queues.engine import (
    InvalidArgumentError,
    KeyMode,
    Published,
    PublishOptions,
    StoreFullError,
    ack,
    delete_jobs,
    fail,
    once_key,
    publish_once,
    settle_once,
)
from queues.engine.constants import ONCE_MAX_BYTES, ONCE_SETTLED_S, ONCE_TTL_S, STAGE_MIN_BYTES
from queues.engine.operations.scan import find_key
from tests.support.rows import in_one_test

from .test_expiry import sweep_all
from .test_unique_keys import keys_of
from .world import World


def publish(world: World, once: Sequence[str] = ("a",), **options: Any) -> Published:
    bodies = [one.encode() for one in once]
    return world.run(publish_once(world.queue, bodies, PublishOptions(**options), once=once, now_ms=world.now_ms))


def end(world: World, how: str, job_id: str) -> None:
    if how == "deleted":
        world.run(delete_jobs(world.queue, [job_id], now_ms=world.now_ms))
    elif how == "dead":
        world.take_one()
        world.run(fail(world.queue, job_id, dead=True, now_ms=world.now_ms))
    elif how != "ready":
        world.take_one()
        world.run(ack(world.queue, [job_id], now_ms=world.now_ms))


@pytest.mark.parametrize("how", ["ready", "acked", "dead", "deleted"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"key": "k"},
        {"key": "k", "key_ttl_ms": 1},
        {"key": "k", "key_mode": KeyMode.UNTIL_DONE},
        {"key": "k", "key_mode": KeyMode.UNTIL_STARTED},
        {"key": "k", "key_mode": KeyMode.REPLACE},
    ],
    ids=str,
)
def test_a_repeated_publish_changes_nothing_whatever_became_of_the_job(
    world: World, options: dict[str, Any], how: str
) -> None:
    first = publish(world, **options)
    end(world, how, first.job_ids[0])
    world.advance(5_000)
    before = world.dump()

    again = publish(world, **options)

    assert again == first
    assert world.dump() == before


def test_of_many_only_those_are_added_that_were_not(world: World) -> None:
    a, b = publish(world, ["a", "b"]).job_ids
    again = publish(world, ["x", "a", "y", "b"]).job_ids

    assert (again[1], again[3]) == (a, b)
    assert [job.body for job in world.take(count=9)] == [b"a", b"b", b"x", b"y"]
    assert [job.job_id for job in world.take(count=9)] == []


def test_a_business_key_is_kept_and_its_holder_is_remembered(world: World) -> None:
    options = {"key": "k", "key_mode": KeyMode.UNTIL_DONE}
    first = publish(world, ["a"], **options).job_ids
    assert publish(world, ["b"], **options) == Published(first, duplicate=True)
    world.take_one()
    world.run(ack(world.queue, first, now_ms=world.now_ms))

    assert publish(world, ["b"], **options).job_ids == first, "it came to the first job, and is not added now"
    assert publish(world, ["c"], **options).job_ids != first


def test_a_publish_that_waits_is_replaced(world: World) -> None:
    options = {"key": "k", "key_mode": KeyMode.REPLACE, "delay_ms": 1_000}
    publish(world, ["a"], **options)
    second = publish(world, ["b"], **options).job_ids[0]
    publish(world, ["a"], **options)

    assert world.places() == {second: "delayed"}


@pytest.mark.parametrize(("settled", "after_s"), [(False, ONCE_TTL_S), (True, ONCE_SETTLED_S)])
def test_ids_are_forgotten_in_time(world: World, settled: bool, after_s: int) -> None:
    ids = [f"o{number}" for number in range(50)]
    first = publish(world, ids, ttl_ms=0)
    if settled:
        assert world.run(settle_once(world.queue, [*ids, "unknown"], now_ms=world.now_ms)) == 50
    world.advance(after_s * 1000 - 1)
    assert publish(world, ids, ttl_ms=0) == first
    world.advance(1)
    assert not set(publish(world, ids[:1], ttl_ms=0).job_ids) & set(first.job_ids)

    world.advance(ONCE_TTL_S * 2_000)
    sweep_all(world)
    assert keys_of(world) == 0


def test_the_job_is_found_by_its_id(world: World) -> None:
    (job_id,) = publish(world, ["a"]).job_ids

    assert world.run(find_key(world.queue, once_key("a"))) == job_id


@pytest.mark.parametrize("options", [{}, {"key": "k", "key_mode": KeyMode.UNTIL_DONE}], ids=["plain", "with a key"])
def test_on_a_full_redis_nothing_is_written(world: World, options: dict[str, Any]) -> None:
    before = world.dump()
    world.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(StoreFullError):
            publish(world, **options)
    finally:
        world.client.config_set("maxmemory", 0)

    assert world.dump() == before


@in_one_test(
    ("once", "options", "words"),
    [
        ([""], {}, "invalid once"),
        (["x" * (ONCE_MAX_BYTES + 1)], {}, "invalid once"),
        (["\ud800"], {}, "invalid once"),
        (["a", "b"], {"key": "k"}, "key fits one job only"),
        ([], {}, "no jobs"),
        (["a"], {"ttl_ms": 5, "delay_ms": 6}, "ttl is shorter than delay"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(
    world: World, once: list[str], options: dict[str, Any], words: str
) -> None:
    before = world.dump()
    bodies = [b"x"] * len(once)
    with pytest.raises(InvalidArgumentError, match=words):
        world.run(publish_once(world.queue, bodies, PublishOptions(**options), once=once, now_ms=world.now_ms))

    assert world.dump() == before


def test_ids_are_settled_a_thousand_at_a_time(world: World) -> None:
    ids = [f"o{number}" for number in range(1_000)]
    publish(world, ids)

    assert world.run(settle_once(world.queue, ids, now_ms=world.now_ms)) == 1_000
    for many in ([], [*ids, "one more"]):
        with pytest.raises(InvalidArgumentError, match="ids"):
            settle_once(world.queue, many)


def test_many_bytes_are_refused(world: World) -> None:
    with pytest.raises(InvalidArgumentError, match="too many bytes"):
        publish_once(world.queue, [bytes(STAGE_MIN_BYTES), b"x"], once=["a", "b"])
