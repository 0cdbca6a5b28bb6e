"""Edge L and the dead letters: look, respawn, delete, keep within bounds."""

from __future__ import annotations

import pytest

from queues.engine import (
    Counts,
    InvalidArgumentError,
    JobState,
    dead_head,
    delete_dead,
    fail,
    list_jobs,
    parse_backoff,
    respawn,
    stats,
    trim_dead,
)
from queues.engine.constants import BODY_MAX_BYTES, DELETE_BATCH

from .test_ack import UNKNOWN
from .world import START_MS, STATES, World


def bury(world: World, number: int, *, apart_ms: int = 10, body: bytes = b"x", **options: int) -> list[str]:
    """That many dead letters, oldest first, the newest dead now."""
    ids = list(world.publish(*[body] * number, **options))
    taken = 0
    while taken < number:  # huge ones come a few at a time
        for job in world.take(count=number - taken):
            world.advance(apart_ms if taken else 0)
            world.run(fail(world.queue, job.job_id, now_ms=world.now_ms))
            taken += 1
    return ids


def test_the_oldest_dead_letter_is_the_head(world: World) -> None:
    head = world.run(dead_head(world.queue))
    assert (head.size, head.job_id) == (0, "")

    ids = bury(world, 3)

    head = world.run(dead_head(world.queue))
    assert (head.size, head.job_id) == (3, ids[0])


def test_a_respawned_job_is_ready_with_one_more_try_and_a_new_ttl(world: World) -> None:
    job_id = world.publish_one(tries=2, ttl_ms=10_000, backoff=parse_backoff("fixed:1"))
    world.take_one()
    world.run(fail(world.queue, job_id, error="boom", dead=True, now_ms=world.now_ms))
    world.advance(50_000)

    assert world.run(respawn(world.queue, limit=1, ttl_ms=7_000, now_ms=world.now_ms)) == 1

    assert world.places() == {job_id: "ready"}
    run = world.state().runs[job_id]
    assert (run.attempt, run.tries, run.expires_ms) == (1, 2, START_MS + 57_000)
    assert [past.error for past in run.history] == ["boom"]
    assert world.take_one().remain_tries == 0


def test_a_job_may_be_respawned_again_and_again(world: World) -> None:
    job_id = world.job_in("dead")

    for attempt in range(2, 6):
        world.run(respawn(world.queue, limit=1, ttl_ms=0, now_ms=world.now_ms))
        assert world.take_one().attempt == attempt
        assert world.run(fail(world.queue, job_id, now_ms=world.now_ms)).state is JobState.DEAD


def test_respawn_takes_the_oldest_first(world: World) -> None:
    ids = bury(world, 5)

    assert world.run(respawn(world.queue, limit=2, ttl_ms=0, now_ms=world.now_ms)) == 2

    assert world.state().ready == ids[:2]
    assert set(world.state().dead) == set(ids[2:])


def test_respawn_by_id_spares_the_others(world: World) -> None:
    ids = bury(world, 4)

    count = world.run(respawn(world.queue, ids=[ids[2], UNKNOWN, ids[0], ids[0]], ttl_ms=0, now_ms=world.now_ms))

    assert count == 2
    assert world.state().ready == [ids[2], ids[0]]
    assert set(world.state().dead) == {ids[1], ids[3]}


@pytest.mark.parametrize("place", [place for place in STATES if place != "dead"])
def test_a_job_that_is_not_dead_is_neither_respawned_nor_deleted_as_dead(world: World, place: str) -> None:
    job_id = world.job_in(place)
    before = world.dump()

    assert world.run(respawn(world.queue, ids=[job_id], ttl_ms=0, now_ms=world.now_ms)) == 0
    assert world.run(respawn(world.queue, limit=5, ttl_ms=0, now_ms=world.now_ms)) == 0
    assert world.run(delete_dead(world.queue, ids=[job_id], now_ms=world.now_ms)) == 0
    assert world.run(delete_dead(world.queue, limit=5, now_ms=world.now_ms)) == 0

    assert world.dump() == before


def test_respawn_and_delete_work_through_more_than_a_batch(world: World) -> None:
    ids = bury(world, DELETE_BATCH + 20, apart_ms=0)

    assert world.run(respawn(world.queue, limit=10_000, ttl_ms=0, now_ms=world.now_ms)) == len(ids)
    for job in world.take(count=1_000):
        world.run(fail(world.queue, job.job_id, now_ms=world.now_ms))
    assert world.run(delete_dead(world.queue, limit=DELETE_BATCH + 5, now_ms=world.now_ms)) == DELETE_BATCH + 5

    assert list(world.places().values()) == ["dead"] * 15


def test_delete_dead_takes_the_oldest_first(world: World) -> None:
    ids = bury(world, 5)

    assert world.run(delete_dead(world.queue, limit=3, now_ms=world.now_ms)) == 3

    assert world.places() == dict.fromkeys(ids[3:], "dead")


def test_delete_dead_deletes_as_many_as_asked_for_however_large_they_are(world: World) -> None:
    for _ in range(2):
        bury(world, 10, body=b"x" * BODY_MAX_BYTES)

    assert world.run(delete_dead(world.queue, limit=19, now_ms=world.now_ms)) == 19
    assert world.run(delete_dead(world.queue, limit=19, now_ms=world.now_ms)) == 1

    assert world.places() == {}


@pytest.mark.parametrize("limit", [0, -1])
def test_limits_below_one_are_refused(world: World, limit: int) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid limit"):
        world.run(respawn(world.queue, limit=limit, ttl_ms=0))
    with pytest.raises(InvalidArgumentError, match="invalid limit"):
        world.run(delete_dead(world.queue, limit=limit))


@pytest.mark.parametrize("ttl_ms", [-1, 2**32 * 1000])
def test_a_ttl_out_of_range_is_refused(world: World, ttl_ms: int) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid ttl"):
        world.run(respawn(world.queue, limit=1, ttl_ms=ttl_ms))


def test_either_a_limit_or_ids_are_needed(world: World) -> None:
    with pytest.raises(InvalidArgumentError, match="give either limit or ids"):
        world.run(respawn(world.queue, ttl_ms=0))
    with pytest.raises(InvalidArgumentError, match="give either limit or ids"):
        world.run(delete_dead(world.queue, limit=1, ids=[UNKNOWN]))


def test_bounds_drop_the_oldest_and_what_each_dropped_is_counted(world: World) -> None:
    ids = bury(world, 10, apart_ms=100)

    counts = world.run(trim_dead(world.queue, max_age_ms=750, max_count=5, now_ms=world.now_ms))

    assert counts == Counts(queues=1, jobs=5)
    assert world.places() == dict.fromkeys(ids[5:], "dead")
    assert world.run(stats(world.queue, now_ms=world.now_ms)).dropped == {"age": 2, "count": 3}


def test_dead_letters_within_their_bounds_stay(world: World) -> None:
    bury(world, 5, apart_ms=100)

    for bounds in ((None, None), (401, None), (None, 5), (401, 5)):
        trim = trim_dead(world.queue, max_age_ms=bounds[0], max_count=bounds[1], now_ms=world.now_ms)
        assert not world.changes(lambda: world.run(trim))  # noqa: B023


def test_trimming_is_bounded_and_says_that_there_is_more(world: World) -> None:
    bury(world, DELETE_BATCH + 3, apart_ms=0)

    first = world.run(trim_dead(world.queue, max_age_ms=None, max_count=0, now_ms=world.now_ms))
    second = world.run(trim_dead(world.queue, max_age_ms=None, max_count=0, now_ms=world.now_ms))

    assert (first.jobs, first.more, second.jobs, second.more) == (DELETE_BATCH, True, 3, False)
    assert world.places() == {}


def test_trimming_leaves_jobs_in_other_states(world: World) -> None:
    bury(world, 2)
    delayed = world.publish_one(delay_ms=1)

    world.run(trim_dead(world.queue, max_age_ms=0, max_count=0, now_ms=world.now_ms))

    assert world.places() == {delayed: "delayed"}


def test_dead_letters_are_listed_from_the_oldest(world: World) -> None:
    ids = bury(world, 3)

    page = world.run(list_jobs(world.queue, JobState.DEAD, now_ms=world.now_ms))

    assert [job.job_id for job in page.jobs] == ids
    assert [job.died_ms for job in page.jobs] == [START_MS, START_MS + 10, START_MS + 20]


def test_deleting_more_dead_letters_than_there_are_ends(world: World) -> None:
    dead = [world.job_in("dead") for _ in range(3)]
    plan = delete_dead(world.queue, limit=2**63 - 1, now_ms=world.now_ms)

    assert world.run(plan) == len(dead)
    assert world.run(delete_dead(world.queue, limit=2**63 - 1, now_ms=world.now_ms)) == 0
