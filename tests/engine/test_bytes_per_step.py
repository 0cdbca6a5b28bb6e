"""No step that works through many jobs comes to more bytes than it may: a job has up to a MiB."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from queues.engine import (
    Rescheduled,
    delete_dead,
    delete_jobs,
    destroy,
    reschedule,
    trim_dead,
)
from queues.engine.constants import BODY_MAX_BYTES, FREE_BUDGET_BYTES, READ_BUDGET_BYTES
from queues.engine.operations.consume import consume_step
from queues.engine.operations.maintain import purge

from .test_dead_letters import bury
from .world import World

HUGE = 20
"""So many jobs of the largest size are more than a step may free."""

assert HUGE * BODY_MAX_BYTES > FREE_BUDGET_BYTES > READ_BUDGET_BYTES


def huge(world: World, **options: Any) -> list[str]:
    return [world.publish_one(b"x" * BODY_MAX_BYTES, **options) for _ in range(HUGE)]


def ready(world: World) -> list[str]:
    return huge(world)


def ready_by_priority(world: World) -> list[str]:
    return huge(world, priority=5)


def delayed(world: World) -> list[str]:
    return huge(world, delay_ms=60_000)


def dead(world: World) -> list[str]:
    return bury(world, HUGE, apart_ms=0, body=b"x" * BODY_MAX_BYTES)


def completed(world: World) -> list[str]:
    """Small jobs with huge results."""
    ids = [world.job_in("completed", retention_ms=1) for _ in range(HUGE)]
    (results,) = world.queue.select(("results",))
    for job_id in ids:
        world.client.hset(results, job_id, b"x" * BODY_MAX_BYTES)
    world.advance(10)
    return ids


Work = Callable[[World, list[str]], Any]
CASES: dict[str, tuple[Callable[[World], list[str]], Work]] = {
    "purge": (completed, lambda world, _: purge(world.queue, now_ms=world.now_ms)),
    "trim by age": (
        dead,
        lambda world, _: trim_dead(world.queue, max_age_ms=0, max_count=None, now_ms=world.now_ms),
    ),
    "trim by count": (
        dead,
        lambda world, _: trim_dead(world.queue, max_age_ms=None, max_count=0, now_ms=world.now_ms),
    ),
    "delete dead letters": (dead, lambda world, _: delete_dead(world.queue, limit=HUGE)),
    "delete by id": (delayed, lambda world, ids: delete_jobs(world.queue, ids)),
    "delete ready jobs": (ready, lambda world, _: destroy(world.queue)),
    "delete ready jobs by priority": (ready_by_priority, lambda world, _: destroy(world.queue)),
}


def first_step(world: World, work: Any) -> None:
    world.engine.batch(next(work) if hasattr(work, "send") else [work])


@pytest.mark.parametrize(("given", "act"), CASES.values(), ids=CASES.keys())
def test_a_step_removes_a_bounded_number_of_bytes(world: World, given: Callable[[World], list[str]], act: Work) -> None:
    ids = given(world)

    first_step(world, act(world, ids))

    assert 1 <= HUGE - len(world.places()) <= FREE_BUDGET_BYTES // BODY_MAX_BYTES + 1


def test_a_step_reschedules_as_many_jobs_as_it_may_read_and_the_next_go_on(world: World) -> None:
    ids = delayed(world)
    plan = reschedule(world.queue, ids, delay_ms=90_000, now_ms=world.now_ms)

    (outcomes,) = world.engine.batch(next(plan))

    assert 1 <= len(outcomes) <= READ_BUDGET_BYTES // BODY_MAX_BYTES + 1
    assert world.run(reschedule(world.queue, ids, delay_ms=95_000, now_ms=world.now_ms)) == (Rescheduled.MOVED,) * HUGE
    assert set(world.state().delayed.values()) == {world.now_ms + 95_000}


def test_a_consume_deletes_a_bounded_number_of_bytes_that_have_expired(world: World) -> None:
    world.publish_one(ttl_ms=1)  # behind which it takes many at once
    huge(world, ttl_ms=1)
    world.advance(10)

    world.run(consume_step(world.queue, ttr_ms=1_000, now_ms=world.now_ms))

    assert 1 <= HUGE - len(world.places()) <= FREE_BUDGET_BYTES // BODY_MAX_BYTES + 1
    assert world.take() == ()
    assert not world.places()
