"""A job that was cancelled while it was worked on: however its attempt ends but by an ack, it is not run again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from queues.engine import Backoff, BackoffKind, JobState, ack_attempt, detail, fail, release, respawn
from queues.engine.operations.maintain import reclaim
from queues.engine.operations.workers import WorkerCommand, cancel_job, worker_beat

from .test_workers import JOB, WORKER
from .world import TTR_MS, World

ENDINGS: dict[str, Callable[[World, str], object]] = {
    "failure": lambda world, job_id: world.run(fail(world.queue, job_id, error="boom", now_ms=world.now_ms)),
    "retry": lambda world, job_id: world.run(fail(world.queue, job_id, delay_ms=10_000, now_ms=world.now_ms)),
    "release": lambda world, job_id: world.run(release(world.queue, job_id, now_ms=world.now_ms)),
    "delayed release": lambda world, job_id: world.run(
        release(world.queue, job_id, delay_ms=1_000, now_ms=world.now_ms)
    ),
    "end of its lease": lambda world, _job_id: world.run(reclaim(world.queue, now_ms=world.now_ms)),
}


def cancel(world: World, job_id: str) -> JobState | None:
    return world.run(cancel_job(world.queue, job_id, given="1", now_ms=world.now_ms))


def cancelled(world: World) -> str:
    """A job with tries left that is worked on, and was cancelled."""
    backoff = Backoff(kind=BackoffKind.FIXED, base_ms=1_000)
    job_id = world.job_in("working", tries=5, backoff=backoff)
    assert cancel(world, job_id) is JobState.WORKING
    return job_id


@pytest.mark.parametrize("ending", ENDINGS)
def test_it_is_dead_after_its_attempt(world: World, ending: str) -> None:
    job_id = cancelled(world)
    assert world.places() == {job_id: "working"}
    if ending == "end of its lease":
        world.advance(TTR_MS)

    ENDINGS[ending](world, job_id)

    assert world.places() == {job_id: "dead"}
    found = world.run(detail(world.queue, job_id, now_ms=world.now_ms))
    assert found is not None
    assert found.history[-1].error == ("boom" if ending == "failure" else "cancelled")


def test_an_attempt_that_is_acknowledged_has_succeeded_in_spite_of_it(world: World) -> None:
    job_id = cancelled(world)

    world.run(ack_attempt(world.queue, job_id, now_ms=world.now_ms))

    assert world.places() == {}


def test_to_cancel_it_again_changes_nothing(world: World) -> None:
    job_id = cancelled(world)
    before = world.dump()

    assert cancel(world, job_id) is JobState.WORKING

    after = world.dump()
    assert {key: value for key, value in after.items() if b"tqworkers" not in key} == {
        key: value for key, value in before.items() if b"tqworkers" not in key
    }


@pytest.mark.parametrize("ending", ["failure", "release"])
def test_brought_back_it_is_as_any_other_job(world: World, ending: str) -> None:
    job_id = cancelled(world)
    ENDINGS[ending](world, job_id)
    world.run(respawn(world.queue, ttl_ms=0, ids=[job_id], now_ms=world.now_ms))

    assert world.take_one().attempt == 2
    world.run(release(world.queue, job_id, now_ms=world.now_ms))

    assert world.places() == {job_id: "ready"}


def test_the_command_is_for_the_attempt_that_was_under_way(world: World) -> None:
    job_id = cancelled(world)

    def told(attempt: int) -> tuple[WorkerCommand, ...]:
        holder = replace(WORKER, running=(replace(JOB, job_id=job_id, attempt=attempt),))
        return world.run(worker_beat(holder, since_ms=1, now_ms=world.now_ms)).commands

    assert [(one.target, one.attempt) for one in told(1)] == [(job_id, 1)]
    assert told(2) == ()


def test_a_job_that_has_expired_is_unknown_though_it_is_not_swept_yet(world: World) -> None:
    job_id = world.publish_one(ttl_ms=1_000)
    world.advance(1_000)

    assert cancel(world, job_id) is None
