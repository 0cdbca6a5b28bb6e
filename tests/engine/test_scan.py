"""Looking for jobs in a state, a bounded stretch at a time."""

from __future__ import annotations

from typing import Any, cast

import pytest

from queues.engine import (
    InvalidArgumentError,
    JobFilter,
    JobState,
    Scan,
    ack,
    delete_jobs,
    fail,
    scan_jobs,
)
from queues.engine.constants import (
    BODY_MAX_BYTES,
    PREVIEW_BYTES,
    SCAN_BUDGET_BYTES,
    SCAN_LOOKS,
    SCAN_MATCH_MAX_BYTES,
    SCAN_TEXT_MAX_BYTES,
)

from .test_ack import UNKNOWN
from .test_listing import fill
from .world import STATES, World, plain


def stretch(world: World, state: JobState = JobState.READY, *, after: str | None = None, **options: Any) -> Scan:
    settings = {name: options.pop(name) for name in ("limit", "looks", "latest_first") if name in options}
    wanted = JobFilter(**options)
    return world.run(scan_jobs(world.queue, state, wanted, after=after, now_ms=world.now_ms, **settings))


def found(world: World, state: JobState = JobState.READY, **options: Any) -> list[str]:
    """All that match, through as many stretches as it takes."""
    jobs: list[str] = []
    after = None
    for _ in range(1_000):
        part = stretch(world, state, after=after, **options)
        jobs += [job.job_id for job in part.jobs]
        after = part.after
        if after is None:
            return jobs
    raise AssertionError("the scan does not end")


def dead_of(world: World, **errors: str) -> dict[str, str]:
    """A dead job for each, by its error."""
    ids = {}
    for name, error in errors.items():
        ids[name] = world.publish_one()
        world.take_one()
        world.run(fail(world.queue, ids[name], error=error, dead=True, now_ms=world.now_ms))
    return ids


@pytest.mark.parametrize("state", JobState)
def test_without_a_filter_every_job_is_found_once_and_in_order(world: World, state: JobState) -> None:
    ids = fill(world, state, 21)

    for limit, looks in ((1, 1), (7, 500), (1_000, 4), (1_000, 500)):
        assert found(world, state, limit=limit, looks=looks) == ids, (limit, looks)
        assert found(world, state, limit=limit, looks=looks, latest_first=True) == ids[::-1], (limit, looks)


@pytest.mark.parametrize("place", STATES)
def test_looking_changes_nothing(world: World, place: str) -> None:
    world.job_in(place, key="k", attributes={"a": "b"})

    assert not world.changes(lambda: stretch(world, JobState(plain(place)), key="k", attribute="a=b", body="x"))


@pytest.mark.parametrize("place", STATES)
def test_a_job_is_found_in_its_state_by_all_that_it_was_published_with(world: World, place: str) -> None:
    job_id = world.job_in(place, key="order-7", attributes={"tenant": "Acme", "kind": "mail"})
    state = JobState(plain(place))

    for wanted in (
        {"job_id": job_id},
        {"job_id": job_id[-5:].lower()},
        {"key": "ORDER"},
        {"key": "-7"},
        {"attribute": "tenant=acme"},
        {"attribute": "tenant="},
        {"attribute": "ACME"},
        {"attribute": "kin"},
        {"body": "X"},
        {"key": "7", "attribute": "kind=mail", "body": "x", "job_id": job_id[:4]},
    ):
        assert found(world, state, **wanted) == [job_id], wanted
    for unwanted in (
        {"job_id": UNKNOWN},
        {"key": "order-8"},
        {"attribute": "tenant=mail"},
        {"attribute": "Tenant=acme"},
        {"attribute": '"'},
        {"body": "y"},
        {"key": "7", "attribute": "kind=letter"},
    ):
        assert found(world, state, **unwanted) == [], unwanted
    others = [other for other in JobState if other is not state]
    assert all(found(world, other, key="order") == [] for other in others)


def test_patterns_mean_nothing_in_a_text(world: World) -> None:
    job_id = world.publish_one(b"50 % of [a-z]+")
    world.publish_one(b"50 percent of abc")

    assert found(world, body="% of [a-z]+") == [job_id]
    assert found(world, body=".*") == []


def test_texts_beyond_ascii_match_as_they_are(world: World) -> None:
    job_id = world.publish_one("Größe 订单".encode(), attributes={"stadt": "Köln"})
    world.publish_one(b"\xff\xfe\x00")

    assert found(world, body="größe 订单") == [job_id]
    assert found(world, attribute="stadt=köln") == [job_id]
    assert found(world, body="GRÖSSE") == []


def test_the_error_of_the_newest_attempt_counts(world: World) -> None:
    job_id = world.publish_one(tries=2)
    for error in ("first: connection refused", "second: Timeout"):
        world.take_one()
        world.run(fail(world.queue, job_id, error=error, delay_ms=0, now_ms=world.now_ms))

    assert found(world, JobState.DEAD, error="timeout") == [job_id]
    assert found(world, JobState.DEAD, error="refused") == []


def test_errors_are_found_among_others(world: World) -> None:
    ids = dead_of(world, one="boom", two="Disk full", three="", four="disk FULL again")

    assert found(world, JobState.DEAD, error="disk full") == [ids["two"], ids["four"]]
    assert found(world, JobState.DEAD) == list(ids.values())


def test_a_job_that_never_failed_has_no_error(world: World) -> None:
    world.publish_one()

    assert found(world, error="e") == []


def test_a_stretch_says_how_many_it_looked_at_of_how_many(world: World) -> None:
    world.publish(*[b"no"] * 30)
    wanted = world.publish_one(b"yes")

    first = stretch(world, looks=20, body="yes")
    second = stretch(world, after=first.after, looks=20, body="yes")

    assert (first.jobs, first.looked_at, first.size) == ((), 20, 31)
    assert [job.job_id for job in second.jobs] == [wanted]
    assert (second.looked_at, second.size, second.after) == (11, 31, None)


def test_tombstones_are_neither_found_nor_counted(world: World) -> None:
    ids = world.publish(*[b"x"] * 40)
    world.run(delete_jobs(world.queue, ids[3:30], now_ms=world.now_ms))

    whole = stretch(world, body="x")

    assert [job.job_id for job in whole.jobs] == [*ids[:3], *ids[30:]]
    assert (whole.looked_at, whole.size) == (13, 13)


def test_a_scan_that_goes_on_after_changes_neither_repeats_nor_skips(world: World) -> None:
    ids = world.publish(*[b"x"] * 20, delay_ms=9)
    first = stretch(world, JobState.DELAYED, looks=10)
    world.run(ack(world.queue, [ids[9], ids[12]], now_ms=world.now_ms))

    second = stretch(world, JobState.DELAYED, after=first.after)

    assert [job.job_id for job in second.jobs] == [*ids[10:12], *ids[13:]]


def test_huge_jobs_are_looked_at_a_few_at_a_time(world: World) -> None:
    for _ in range(2):
        world.publish(*[b"x" * BODY_MAX_BYTES] * 5)
    wanted = world.publish_one(b"needle")

    first = stretch(world, body="needle")

    assert (first.jobs, first.looked_at) == ((), SCAN_BUDGET_BYTES // BODY_MAX_BYTES)
    assert found(world, body="needle") == [wanted]
    by_id = stretch(world, job_id=wanted)
    assert ([job.job_id for job in by_id.jobs], by_id.looked_at) == ([wanted], 11)


@pytest.mark.parametrize("length", [SCAN_MATCH_MAX_BYTES, SCAN_MATCH_MAX_BYTES + 1, BODY_MAX_BYTES])
def test_bodies_are_searched_to_their_end_and_shown_from_their_beginning(world: World, length: int) -> None:
    body = b"x" * (length - 6) + b"Needle"
    job_id = world.publish_one(body, key="haystack")
    world.publish_one(b"x" * length)

    assert found(world, body="nEEDLE") == found(world, key="HAY", body="needle") == [job_id]
    assert found(world, body="needles") == found(world, body="haystack") == []
    (job,) = stretch(world, body="needle").jobs
    assert (job.body, job.body_bytes) == (body[:PREVIEW_BYTES], length)


def test_a_page_ends_after_its_last_job_though_longer_bodies_follow(world: World) -> None:
    long = b"x" * SCAN_MATCH_MAX_BYTES + b"Needle"
    ids = world.publish(b"needle", long, b"x" * len(long), long, long, b"needle")
    wanted = [ids[0], ids[1], *ids[3:]]

    assert [job.job_id for job in stretch(world, body="needle", limit=2).jobs] == wanted[:2]
    assert [stretch(world, body="needle", limit=limit).looked_at for limit in (1, 2, 3, 5)] == [1, 3, 4, 6]
    assert all(found(world, body="needle", limit=limit) == wanted for limit in range(1, 7))


def test_long_bodies_do_not_fill_a_page(world: World) -> None:
    world.publish(*[b"x" * (SCAN_MATCH_MAX_BYTES + 1)] * 20)
    wanted = world.publish_one(b"needle")

    assert [job.job_id for job in stretch(world, body="needle", limit=1).jobs] == [wanted]


def test_what_is_out_of_range_is_refused(world: World) -> None:
    for limit in (0, 1_001):
        with pytest.raises(InvalidArgumentError, match="invalid limit"):
            stretch(world, limit=limit)
    for looks in (0, SCAN_LOOKS + 1):
        with pytest.raises(InvalidArgumentError, match="invalid looks"):
            stretch(world, looks=looks)
    with pytest.raises(InvalidArgumentError, match="invalid after"):
        stretch(world, after="x")
    for part in ("job_id", "key", "attribute", "error", "body"):
        with pytest.raises(InvalidArgumentError, match="filter text too long"):
            stretch(world, **cast(Any, {part: "é" * (SCAN_TEXT_MAX_BYTES // 2 + 1)}))
