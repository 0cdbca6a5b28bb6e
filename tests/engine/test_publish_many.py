"""Publishing many jobs, for each of which Redis writes much: records in parts that nobody sees, then all at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from queues.engine import (
    DEFAULT_OPTIONS,
    Dependency,
    InvalidArgumentError,
    Plan,
    StoreFullError,
    ack_attempt,
    close_dependencies,
    destroy,
    is_large,
    list_waits,
    prepare,
    publish_large,
    relay,
    sweep,
)
from queues.engine.constants import BULK_MAX_JOBS, STAGE_MIN_JOBS
from queues.engine.values import Published

from .test_publish_large import finish
from .world import World

BODIES = [b"%d" % number for number in range(BULK_MAX_JOBS)]
STAGED_MAX_MS = 60_000
NEVER = (Dependency(queue="q", key="never"),)
OPTIONS: dict[str, dict[str, Any]] = {
    "limit key": {"limit_key": "acme"},
    "limit key, delayed": {"limit_key": "acme", "delay_ms": 5_000},
    "priority": {"priority": 3},
    "blocked": {"depends_on": NEVER},
    "blocked, limit key": {"depends_on": NEVER, "limit_key": "acme"},
    "open": {"dependencies_open": True, "delay_ms": 5_000},
}
MEMBERS_MAX = 3 * BULK_MAX_JOBS + 100
"""What one call adds to Redis's keys at the most. Of blocked jobs, one call would add six times their number."""


def plan_of(world: World, kind: str, jobs: int = BULK_MAX_JOBS) -> Plan[Published]:
    chosen = replace(DEFAULT_OPTIONS, **OPTIONS[kind])
    return publish_large(world.queue, BODIES[:jobs], chosen, now_ms=world.now_ms)


def members(world: World) -> int:
    """In all keys together."""
    lengths = {b"hash": "hlen", b"zset": "zcard", b"list": "llen", b"stream": "xlen"}
    return sum(
        getattr(world.client, lengths[world.client.type(key)])(key)
        for key in world.client.scan_iter(count=1_000)
        if world.client.type(key) in lengths
    )


@pytest.mark.parametrize("kind", OPTIONS)
def test_all_begin_at_once_and_no_call_writes_much(world: World, kind: str) -> None:
    plan, calls, added = plan_of(world, kind), 0, 0
    batch = next(plan)
    while True:
        before = members(world)
        results = [world.engine._replies([one])[0] for one in batch]  # without the relay that comes after it
        added = max(added, members(world) - before)
        calls += 1
        try:
            batch = plan.send([one.decode(reply) for one, reply in zip(batch, results, strict=True)])
        except StopIteration as end:
            published = end.value
            break
        assert set(places(world)) <= {"staged"}
        assert world.take(count=10) == ()

    assert (calls, len(published.job_ids)) == (BULK_MAX_JOBS // STAGE_MIN_JOBS + 1, BULK_MAX_JOBS)
    assert added <= MEMBERS_MAX
    state = "blocked" if kind.startswith(("blocked", "open")) else "delayed" if kind.endswith("delayed") else "ready"
    assert set(world.places().values()) == {state}
    assert not world.state().staged
    if state != "blocked":
        world.advance(5_000)
        taken: list[str] = []
        while jobs := world.take(count=500):
            taken += [job.job_id for job in jobs]
        assert taken == list(published.job_ids)


def test_blocked_ones_wait_for_what_they_depend_on(world: World) -> None:
    first = world.publish_one()
    needed = (Dependency(queue=world.queue.queue, job_id=first),)
    chosen = replace(DEFAULT_OPTIONS, depends_on=needed), replace(DEFAULT_OPTIONS, dependencies_open=True)
    published, opened = [
        world.run(publish_large(world.queue, BODIES, options, now_ms=world.now_ms)) for options in chosen
    ]
    waits = world.run(list_waits(world.queue, job_id=published.job_ids[-1]))
    assert [str(wait.dependency) for wait in waits.waits] == [f"{world.queue.queue}/{first}"]

    world.run(close_dependencies(world.queue, opened.job_ids[0], now_ms=world.now_ms))
    world.run(ack_of(world, first))
    while world.run(relay(world.engine.layout, now_ms=world.now_ms)).more:
        pass

    found = world.places()
    assert {found[job_id] for job_id in (*published.job_ids, opened.job_ids[0])} == {"ready"}
    assert {found[job_id] for job_id in opened.job_ids[1:]} == {"blocked"}


@pytest.mark.parametrize("kind", OPTIONS)
def test_what_is_left_behind_goes_after_a_minute(world: World, kind: str) -> None:
    plan = plan_of(world, kind, STAGE_MIN_JOBS + 1)
    world.engine.batch(next(plan))
    world.advance(STAGED_MAX_MS)
    while world.run(sweep(world.engine.layout, now_ms=world.now_ms)).more:
        pass

    content = world.content()
    assert not content.queues
    assert not content.partition(world.queue.partition).queues


@pytest.mark.parametrize("kind", OPTIONS)
def test_one_that_fails_half_way_leaves_nothing(world: World, kind: str) -> None:
    plan = plan_of(world, kind)
    world.engine.batch(plan.send(world.engine.batch(next(plan))))

    world.engine.batch(plan.throw(StoreFullError("full")))
    with pytest.raises(StoreFullError):
        plan.send([])

    assert not world.content().queues


@pytest.mark.parametrize("kind", ["limit key", "blocked"])
def test_a_queue_that_is_deleted_meanwhile_has_all_of_it_in_the_end(world: World, kind: str) -> None:
    plan = plan_of(world, kind)
    batch = plan.send(world.engine.batch(next(plan)))
    results = world.engine.batch(batch)
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))
    world.run(relay(world.engine.layout, now_ms=world.now_ms))
    published = finish(world, plan, results)

    assert len(published.job_ids) == len(world.places()) == BULK_MAX_JOBS
    waiting = {member.partition("\t")[0] for member in world.state().waits}
    assert waiting == (set(world.places()) if kind == "blocked" else set())


def test_few_jobs_or_simple_ones_go_in_one_call() -> None:
    assert is_large(BODIES[: STAGE_MIN_JOBS + 1], prepare(replace(DEFAULT_OPTIONS, limit_key="acme")))
    assert not is_large(BODIES[:STAGE_MIN_JOBS], prepare(replace(DEFAULT_OPTIONS, limit_key="acme")))
    assert not is_large(BODIES, prepare(DEFAULT_OPTIONS))


def test_many_jobs_with_too_many_dependencies_together_are_refused(world: World) -> None:
    needed = tuple(Dependency(queue="q", key=str(number)) for number in range(2))
    with pytest.raises(InvalidArgumentError, match="too many dependencies"):
        world.run(publish_large(world.queue, BODIES, replace(DEFAULT_OPTIONS, depends_on=needed)))

    assert not world.content().queues


def ack_of(world: World, job_id: str) -> Any:
    job = world.take_one()
    assert job.job_id == job_id
    return ack_attempt(world.queue, job_id, now_ms=world.now_ms)


def places(world: World) -> list[str]:
    content = world.content().queue(world.queue.name.decode())
    return [content.places_of(job_id)[0] for job_id in content.jobs]
