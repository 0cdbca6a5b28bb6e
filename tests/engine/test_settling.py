"""One call settles many dependencies; each job is decided by all of its entries (lua/settle.lua)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from queues.engine import Dependency, DependencyFailure, PublishOptions, add_dependencies, close_dependencies, publish
from queues.engine.operations.dependencies import Settlement, settle

from .world import World

FIRST, SECOND, THIRD = (Dependency(queue="elsewhere", key=key) for key in ("first", "second", "third"))


def blocked(world: World, *depends_on: Dependency, policy: str = "fail", **options: Any) -> str:
    chosen = PublishOptions(depends_on=depends_on, on_dependency_failure=DependencyFailure(policy), **options)
    operation = replace(publish(world.queue, [b"x"], chosen, now_ms=world.now_ms), relay=None)
    return str(world.run(operation).job_ids[0])


def tell(world: World, *told: tuple[str, Dependency, str], policy: str = "f") -> tuple[int, int]:
    """(job, dependency, outcome) in one call. → jobs that are not blocked any more, messages"""
    parts = [Settlement(job_id, f"{policy}{dependency}", outcome) for job_id, dependency, outcome in told]
    return world.run(settle(world.queue, parts, now_ms=world.now_ms))


def test_a_job_that_several_entries_free_is_ready_once(world: World) -> None:
    job, other = blocked(world, FIRST, SECOND), blocked(world, FIRST, THIRD)
    told = [(job, FIRST, "acked"), (other, FIRST, "acked"), (job, SECOND, "acked"), (job, SECOND, "acked")]
    assert tell(world, *told) == (1, 0)
    assert world.places() == {job: "ready", other: "blocked"}
    assert tell(world, *told) == (0, 0), "a repetition changes nothing"
    assert [delivery.job_id for delivery in world.take(9)] == [job]


def test_jobs_are_ready_in_the_order_of_their_last_dependency(world: World) -> None:
    one, two = blocked(world, FIRST, SECOND), blocked(world, FIRST)
    assert tell(world, (one, FIRST, "acked"), (two, FIRST, "acked"), (one, SECOND, "acked")) == (2, 0)
    assert [delivery.job_id for delivery in world.take(9)] == [two, one]


@pytest.mark.parametrize("failure_first", [True, False])
def test_one_failure_among_acks_buries_the_job_once(world: World, failure_first: bool) -> None:
    job, other = blocked(world, FIRST, SECOND, THIRD), blocked(world, FIRST)
    told = [(job, FIRST, "acked"), (job, SECOND, "dead"), (job, THIRD, "deleted"), (other, FIRST, "acked")]
    assert tell(world, *(told[::-1] if failure_first else told)) == (2, 0)
    assert world.places() == {job: "dead", other: "ready"}
    assert sum(count for name, count in world.state().stats.items() if name.endswith("d")) == 1
    assert not world.state().waits
    assert not world.content().partition(world.queue.partition).outgoing


def test_a_job_that_dies_has_what_is_left_of_its_waits_carried(world: World) -> None:
    job = blocked(world, FIRST, SECOND)
    assert tell(world, (job, FIRST, "dead")) == (1, 1)
    assert world.places() == {job: "dead"}
    outgoing = world.content().partition(world.queue.partition).outgoing
    assert list(outgoing) == [f"waits\t{world.queue.name.decode()}\t{job}"]


def test_a_call_readies_delays_and_buries(world: World) -> None:
    keyed = [blocked(world, FIRST, limit_key=key) for key in ("a", "b", "a")]
    urgent, later, doomed = (
        blocked(world, FIRST, priority=9),
        blocked(world, FIRST, delay_ms=9_000),
        blocked(world, SECOND),
    )
    freed = [*keyed, urgent, later]
    assert tell(world, *[(job, FIRST, "acked") for job in freed], (doomed, SECOND, "cycle a b")) == (6, 0)
    assert world.places() == dict.fromkeys([*keyed, urgent], "ready") | {later: "delayed", doomed: "dead"}
    assert {delivery.job_id for delivery in world.take(9)} == {*keyed, urgent}
    world.advance(9_000)
    assert [delivery.job_id for delivery in world.take(9)] == [later]


def test_a_job_that_is_known_everywhere_is_carried_no_more(world: World) -> None:
    job = blocked(world, FIRST, SECOND)
    partition = world.queue.partition
    tell(world, (job, FIRST, "waits"))
    assert world.content().partition(partition).outgoing
    tell(world, (job, FIRST, "waits"), (job, SECOND, "waits"))
    assert not world.content().partition(partition).outgoing
    assert world.places() == {job: "blocked"}


def test_an_open_job_is_not_freed_by_the_last_it_knows_of(world: World) -> None:
    chosen = {"dependencies_open": True, "on_dependency_failure": DependencyFailure.FAIL}
    (job,) = world.publish(b"x", **chosen)
    world.run(add_dependencies(world.engine.layout, world.queue, job, [FIRST, SECOND], now_ms=world.now_ms))
    assert tell(world, (job, FIRST, "acked"), (job, SECOND, "acked"))[0] == 0
    assert world.places() == {job: "blocked"}
    world.run(close_dependencies(world.queue, job, now_ms=world.now_ms))
    assert world.places() == {job: "ready"}
