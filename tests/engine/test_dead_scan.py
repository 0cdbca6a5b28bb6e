"""Dead letters in stretches, newest first."""

from __future__ import annotations

import pytest

from queues.engine import InvalidArgumentError, fail, reclaim_ended, respawn
from queues.engine.constants import DEAD_SCAN_BUDGET_BYTES, ERROR_MAX_BYTES
from queues.engine.operations.dead_letters import DEAD_SCAN_BATCH, DeadPage, scan_dead
from tests.support.rows import in_one_test

from .world import START_MS, TTR_MS, World


def bury(world: World, *errors: str, apart_ms: int = 1_000) -> list[str]:
    """A dead letter per error, the first of them now and each other `apart_ms` after the one before. Their ids."""
    ids = []
    for number, error in enumerate(errors):
        world.advance(apart_ms if number else 0)
        job_id = world.publish_one()
        world.take_one(consumer=f"worker-{number}")
        world.run(fail(world.queue, job_id, error=error, now_ms=world.now_ms))
        ids.append(job_id)
    return ids


def scan(world: World, **bounds: int | str | None) -> DeadPage:
    return world.run(scan_dead(world.queue, now_ms=world.now_ms, **bounds))  # type: ignore[arg-type]


def pages(world: World, **bounds: int | None) -> list[list[str]]:
    """Ids page by page, to the end."""
    found, after = [], None
    while True:
        page = scan(world, after=after, **bounds)
        found.append([job.job_id for job in page.jobs])
        if page.after is None:
            return found
        after = page.after


def test_a_queue_without_dead_letters_has_none(world: World) -> None:
    assert scan(world) == DeadPage(jobs=(), after=None, left=0, now_ms=world.now_ms)


def test_a_dead_letter_comes_with_its_last_attempt(world: World) -> None:
    job_id = world.publish_one(tries=2)
    world.take_one(consumer="first")
    world.run(fail(world.queue, job_id, error="boom", now_ms=world.now_ms))
    world.advance(5)
    world.take_one(consumer="second")
    world.run(fail(world.queue, job_id, error="bäng", now_ms=world.now_ms))

    (job,) = scan(world).jobs
    assert (job.job_id, job.died_ms, job.attempt) == (job_id, START_MS + 5, 2)
    assert (job.outcome, job.consumer, job.error) == ("failed", "second", "bäng")


def test_dead_letters_with_long_errors_come_in_shorter_pages(world: World) -> None:
    number = 2 + DEAD_SCAN_BUDGET_BYTES // ERROR_MAX_BYTES
    ids = list(world.publish(*[b"x"] * number))
    for job in world.take(count=number):
        world.run(fail(world.queue, job.job_id, error="x" * ERROR_MAX_BYTES, now_ms=world.now_ms))

    first, *rest = pages(world)

    assert 1 <= len(first) < number
    assert scan(world).left == number - len(first)
    assert [job_id for page in (first, *rest) for job_id in page] == ids[::-1]


def test_one_whose_lease_ran_out_says_so(world: World) -> None:
    job_id = world.publish_one()
    world.take_one()
    world.advance(TTR_MS + 1)
    world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    (job,) = scan(world).jobs
    assert (job.job_id, job.outcome, job.error) == (job_id, "lease_lost", "")


def test_the_newest_come_first_and_pages_meet_each_once(world: World) -> None:
    ids = bury(world, *"abcde")

    assert pages(world, limit=2) == [[ids[4], ids[3]], [ids[2], ids[1]], [ids[0]]]


def test_those_that_died_in_one_millisecond_are_told_apart(world: World) -> None:
    ids = bury(world, *"abcdefg", apart_ms=0)

    found = pages(world, limit=3)

    assert sorted(job_id for page in found for job_id in page) == sorted(ids)
    assert [len(page) for page in found] == [3, 3, 1]


def test_a_span_of_time_takes_in_its_first_and_leaves_out_its_end(world: World) -> None:
    ids = bury(world, *"abcd")

    page = scan(world, since_ms=START_MS + 1_000, before_ms=START_MS + 3_000)

    assert [job.job_id for job in page.jobs] == [ids[2], ids[1]]
    assert scan(world, since_ms=START_MS + 1_000, before_ms=START_MS + 3_000, limit=0).left == 2


@pytest.mark.parametrize(
    ("since_ms", "before_ms"), [(START_MS + 9_000, None), (0, START_MS), (START_MS + 3_000, START_MS)]
)
def test_a_span_in_which_none_died_is_empty(world: World, since_ms: int, before_ms: int | None) -> None:
    bury(world, *"ab")

    page = scan(world, since_ms=since_ms, before_ms=before_ms)

    assert (page.jobs, page.after, page.left) == ((), None, 0)


def test_a_page_says_how_many_follow(world: World) -> None:
    bury(world, *"abcde")

    assert scan(world, limit=0).left == 5
    assert scan(world, limit=2).left == 3
    assert scan(world, limit=5).left == 0


def test_what_leaves_and_what_dies_between_two_pages_disturbs_neither(world: World) -> None:
    ids = bury(world, *"abcde")
    first = scan(world, limit=2)

    world.run(respawn(world.queue, ids=[ids[3], ids[4]], ttl_ms=0, now_ms=world.now_ms))
    world.advance(1)
    for job in world.take(count=2):
        world.run(fail(world.queue, job.job_id, error="again", now_ms=world.now_ms))

    second = scan(world, after=first.after)
    assert [job.job_id for job in second.jobs] == [ids[2], ids[1], ids[0]]


def test_a_scan_changes_nothing(world: World) -> None:
    bury(world, *"ab")

    assert not world.changes(lambda: scan(world))


@in_one_test("after", ["x", "1:2", "-1:01ARZ3NDEKTSV4RRFFQ69G5FAV", "1:01ARZ3NDEKTSV4RRFFQ69G5FAV:", "1"])
def test_a_cursor_that_no_page_gave_is_refused(world: World, after: str) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid after"):
        scan(world, after=after)


def test_more_than_a_stretch_at_once_is_refused(world: World) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid limit"):
        scan(world, limit=DEAD_SCAN_BATCH + 1)
