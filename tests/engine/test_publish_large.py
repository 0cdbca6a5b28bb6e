"""Publishing more bytes than one call may write: in parts that nobody sees, then all at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from queues.engine import (
    DEFAULT_OPTIONS,
    InvalidArgumentError,
    LimitReachedError,
    Plan,
    RequestLimit,
    StoreFullError,
    StoreUnavailableError,
    destroy,
    publish_large,
    sweep,
)
from queues.engine.constants import STAGE_PART_BYTES
from queues.engine.engine import result_of
from queues.engine.transport.replication import ReplicaWait, UnconfirmedError
from queues.engine.values import Published

from .world import World

BODIES = [*(b"%d" % number + b"x" * (STAGE_PART_BYTES // 2 - 200) for number in range(7)), b"a small one"]
"""Four parts."""

STAGED_MAX_MS = 60_000


def large(world: World, **options: Any) -> Plan[Published]:
    limit = options.pop("limit", None)
    chosen = replace(DEFAULT_OPTIONS, **options)
    return publish_large(world.queue, BODIES, chosen, limit=limit, now_ms=world.now_ms)


def go_on(world: World, plan: Plan[Published], steps: int) -> list[Any]:
    """Carry out so many steps of the plan. Results of the last."""
    results = world.engine.batch(next(plan))
    for _ in range(steps - 1):
        results = world.engine.batch(plan.send(results))
    return results


def finish(world: World, plan: Plan[Published], results: list[Any]) -> Published:
    """Carry out the rest, after a step with these results."""
    while True:
        try:
            results = world.engine.batch(plan.send(results))
        except StopIteration as end:
            published: Published = end.value
            return published


@pytest.mark.parametrize("options", [{}, {"priority": 3}, {"delay_ms": 5_000}, {"ttl_ms": 0}], ids=str)
def test_all_begin_at_once_and_come_in_order(world: World, options: dict[str, Any]) -> None:
    published = world.run(large(world, **options))

    assert set(world.places().values()) == {"delayed" if "delay_ms" in options else "ready"}
    assert not world.state().staged
    assert list(published.job_ids) == sorted(published.job_ids)
    world.advance(5_000)
    jobs = [job for _ in BODIES for job in world.take()]
    assert [(job.job_id, job.body) for job in jobs] == list(zip(published.job_ids, BODIES, strict=True))
    assert world.state().stats  # and the invariants hold


def test_nobody_sees_anything_before_the_end(world: World) -> None:
    plan = large(world)
    results = go_on(world, plan, 3)

    assert set(state_places(world)) == {"staged"}
    assert world.take(count=10) == ()

    assert len(finish(world, plan, results).job_ids) == len(BODIES)
    assert set(world.places().values()) == {"ready"}


def test_what_is_left_behind_goes_after_a_minute(world: World) -> None:
    go_on(world, large(world), 3)
    world.advance(STAGED_MAX_MS - 1)
    world.run(sweep(world.engine.layout, now_ms=world.now_ms))
    assert len(state_places(world)) > 0

    world.advance(1)
    while world.run(sweep(world.engine.layout, now_ms=world.now_ms)).more:
        pass

    assert not state_places(world)
    assert not world.content().partition(world.queue.partition).queues


def test_a_queue_that_is_deleted_meanwhile_has_all_of_it_in_the_end(world: World) -> None:
    world.publish()
    plan = large(world)
    results = go_on(world, plan, 4)
    world.run(destroy(world.queue, now_ms=world.now_ms))

    assert len(finish(world, plan, results).job_ids) == len(BODIES)
    assert len(world.places()) == len(BODIES)


def test_of_what_was_not_written_no_replica_has_to_confirm_anything(world: World) -> None:
    plan = large(world)
    (last,) = plan.send(go_on(world, plan, 4))
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))

    reply = UnconfirmedError([b"gone"], ReplicaWait(1, 0.1))

    assert result_of(last, reply) is None  # so that it is written again


def test_what_is_not_published_yet_is_no_job_that_a_deletion_counts(world: World) -> None:
    world.publish(b"a", b"b")
    go_on(world, large(world), 3)

    assert world.run(destroy(world.queue, everything=True, now_ms=world.now_ms)) == 2


def test_a_publish_that_fails_half_way_leaves_nothing(world: World) -> None:
    plan = large(world)
    go_on(world, plan, 3)

    world.engine.batch(plan.throw(StoreFullError("full")))
    with pytest.raises(StoreFullError):
        plan.send([])

    assert not world.content().queues


def test_a_failure_after_the_jobs_began_does_not_take_them_back(world: World) -> None:
    """The reply was lost: the caller cannot know, and does not claim anything."""
    plan = large(world)
    go_on(world, plan, 5)

    world.engine.batch(plan.throw(StoreUnavailableError("gone")))

    assert set(world.places().values()) == {"ready"}


def test_a_ttl_that_is_shorter_than_the_delay_writes_nothing(world: World) -> None:
    def refuse() -> None:
        with pytest.raises(InvalidArgumentError, match="ttl is shorter than delay"):
            world.run(large(world, at_ms=world.now_ms + 10_000, ttl_ms=5_000))

    assert not world.changes(refuse)


def test_it_counts_as_one_request_and_what_is_refused_leaves_nothing(world: World) -> None:
    limit = RequestLimit(token_id="t", kind="write", allowance=1, interval_ms=60_000)
    world.run(large(world, limit=limit))

    with pytest.raises(LimitReachedError):
        world.run(large(world, limit=limit))

    assert set(world.places().values()) == {"ready"}
    assert len(world.places()) == len(BODIES)


def state_places(world: World) -> list[str]:
    content = world.content().queue(world.queue.name.decode())
    return [content.places_of(job_id)[0] for job_id in content.jobs]
