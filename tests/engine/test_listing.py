"""Pages of jobs in any state, details, results: reading changes nothing."""

from __future__ import annotations

from itertools import product

import pytest

from queues.engine import (
    Dependency,
    InvalidArgumentError,
    JobDetail,
    JobState,
    ack,
    delete_jobs,
    detail,
    extend,
    fail,
    list_jobs,
    parse_backoff,
    promote_due,
    release,
    result,
)
from queues.engine.constants import BODY_MAX_BYTES, PREVIEW_BYTES
from tests.support.rows import in_one_test

from .test_ack import UNKNOWN
from .world import START_MS, STATES, TTR_MS, World, plain


def pages(world: World, state: JobState, limit: int, *, latest_first: bool = False) -> list[list[str]]:
    """All pages, as ids."""
    found, after = [], None
    for _ in range(1_000):
        page = world.run(
            list_jobs(world.queue, state, after=after, limit=limit, latest_first=latest_first, now_ms=world.now_ms)
        )
        found.append([job.job_id for job in page.jobs])
        after = page.after
        if after is None:
            return found
    raise AssertionError("the pages do not end")


def detail_of(world: World, job_id: str) -> JobDetail:
    found = world.run(detail(world.queue, job_id, now_ms=world.now_ms))
    assert found is not None
    return found


def fill(world: World, state: JobState, number: int) -> list[str]:
    """That many jobs in one state, in the order in which a listing shows them."""
    if state is JobState.READY:
        high = list(world.publish(*[b"h"] * (number // 3), priority=8))
        low = list(world.publish(*[b"l"] * (number // 3), priority=-8))
        return [*high, *world.publish(*[b"n"] * (number - 2 * (number // 3))), *low]
    if state is JobState.BLOCKED:
        never = Dependency(queue="orders", key="never")
        return list(world.publish(*[b"x"] * number, depends_on=(never,)))
    if state is JobState.GROUPED:
        return list(world.publish(*[b"x"] * number, group="mails"))
    if state is JobState.DELAYED:
        return list(world.publish(*[b"x"] * number, delay_ms=100))
    ids = list(world.publish(*[b"x"] * number, tries=2, retention_ms=50_000))
    world.take(count=number)
    for job_id in ids if state is not JobState.WORKING else ():
        if state is JobState.COMPLETED:
            world.run(ack(world.queue, [job_id], now_ms=world.now_ms))
        else:
            world.run(fail(world.queue, job_id, delay_ms=500, dead=state is JobState.DEAD, now_ms=world.now_ms))
    return ids


@pytest.mark.parametrize("state", JobState)
def test_pages_show_every_job_of_a_state_once_and_in_order_and_begin_at_the_end_if_asked(
    world: World, state: JobState
) -> None:
    ids = fill(world, state, 21)

    for limit in (1, 7, 20, 21, 1_000):
        shown = pages(world, state, limit)
        backwards = pages(world, state, limit, latest_first=True)

        assert [job_id for page in shown for job_id in page] == ids, limit
        assert [job_id for page in backwards for job_id in page] == ids[::-1], limit
        assert all(len(page) <= limit for page in [*shown, *backwards])


def test_more_jobs_than_are_read_at_once_begin_at_the_end(world: World) -> None:
    """Some of which have gone to the front, and some are tombstones."""
    ids = list(world.publish(*[b"x"] * 250))
    taken = world.take(count=3)
    for job in taken:
        world.run(release(world.queue, job.job_id, now_ms=world.now_ms))
    world.run(delete_jobs(world.queue, ids[40:220], now_ms=world.now_ms))
    in_order = [job_id for page in pages(world, JobState.READY, 1_000) for job_id in page]

    shown = pages(world, JobState.READY, 30, latest_first=True)

    assert len(in_order) == 70
    assert [job_id for page in shown for job_id in page] == in_order[::-1]


@pytest.mark.parametrize("state", JobState)
def test_a_page_from_the_end_neither_repeats_nor_skips(world: World, state: JobState) -> None:
    """Though jobs of the first page are gone, and one that is older than all of the second."""
    ids = fill(world, state, 30)
    first = world.run(list_jobs(world.queue, state, limit=10, latest_first=True, now_ms=world.now_ms))
    world.run(delete_jobs(world.queue, [ids[20], ids[24], ids[15]], now_ms=world.now_ms))
    if state is JobState.READY:
        world.take()  # the first of the line: all others move up

    second = world.run(
        list_jobs(world.queue, state, after=first.after, limit=1_000, latest_first=True, now_ms=world.now_ms)
    )

    assert [job.job_id for job in first.jobs] == ids[:19:-1]
    gone = {ids[15], ids[0]} if state is JobState.READY else {ids[15]}
    assert [job.job_id for job in second.jobs] == [job_id for job_id in ids[19::-1] if job_id not in gone]


@pytest.mark.parametrize("state", JobState)
def test_other_states_are_not_shown(world: World, state: JobState) -> None:
    ids = {plain(place): world.job_in(place) for place in STATES if place not in ("ready", "ready by priority")}
    ids["ready"] = world.publish_one()

    assert pages(world, state, 10) == [[ids[state]]]


@pytest.mark.parametrize("state", JobState)
def test_a_page_that_follows_a_job_that_has_gone_neither_repeats_nor_skips(world: World, state: JobState) -> None:
    ids = fill(world, state, 30)
    first = world.run(list_jobs(world.queue, state, limit=10, now_ms=world.now_ms))
    world.run(delete_jobs(world.queue, [ids[9], ids[4], ids[15]], now_ms=world.now_ms))

    second = world.run(list_jobs(world.queue, state, after=first.after, limit=1_000, now_ms=world.now_ms))

    assert [job.job_id for job in first.jobs] == ids[:10]
    assert [job.job_id for job in second.jobs] == [*ids[10:15], *ids[16:]]


def test_a_page_finds_its_place_in_a_line_that_moved_on(world: World) -> None:
    ids = world.publish(*[b"x"] * 30)
    first = world.run(list_jobs(world.queue, JobState.READY, limit=10, now_ms=world.now_ms))
    world.take(count=6)

    second = world.run(list_jobs(world.queue, JobState.READY, after=first.after, limit=1_000, now_ms=world.now_ms))

    assert [job.job_id for job in second.jobs] == list(ids[10:])


def test_a_page_whose_place_the_line_has_passed_skips_nothing(world: World) -> None:
    ids = world.publish(*[b"x"] * 30)
    first = world.run(list_jobs(world.queue, JobState.READY, limit=10, now_ms=world.now_ms))
    world.take(count=13)

    second = world.run(list_jobs(world.queue, JobState.READY, after=first.after, limit=1_000, now_ms=world.now_ms))

    assert [job.job_id for job in second.jobs] == list(ids[13:])


def test_whoever_deletes_page_after_page_meets_every_job(world: World) -> None:
    ids = world.publish(*[b"x"] * 100)
    after, met = None, list[str]()
    while len(met) < 100:
        page = world.run(list_jobs(world.queue, JobState.READY, after=after, limit=30, now_ms=world.now_ms))
        chosen = [job.job_id for job in page.jobs]
        met += chosen
        world.run(delete_jobs(world.queue, chosen, now_ms=world.now_ms))
        after = page.after
        assert chosen, "the pages ended before their time"

    assert met == list(ids)
    assert world.places() == {}


def test_tombstones_are_not_shown(world: World) -> None:
    ids = world.publish(*[b"x"] * 40)
    world.run(delete_jobs(world.queue, ids[3:30], now_ms=world.now_ms))

    assert [job_id for page in pages(world, JobState.READY, 5) for job_id in page] == [*ids[:3], *ids[30:]]


def test_a_page_reads_so_many_tombstones_and_no_more(world: World) -> None:
    ids = [job_id for _ in range(12) for job_id in world.publish(*[b"x"] * 1_000)]
    for start in range(1, len(ids) - 1, 1_000):
        world.run(delete_jobs(world.queue, ids[start : min(start + 1_000, len(ids) - 1)], now_ms=world.now_ms))

    shown = pages(world, JobState.READY, 50)

    assert shown == [[ids[0]], [ids[-1]]]


def test_a_page_follows_its_place_not_a_job_that_moved(world: World) -> None:
    ids = fill(world, JobState.WORKING, 10)
    first = world.run(list_jobs(world.queue, JobState.WORKING, limit=5, now_ms=world.now_ms))
    world.run(extend(world.queue, ids[4], ttr_ms=TTR_MS * 2, now_ms=world.now_ms))

    second = world.run(list_jobs(world.queue, JobState.WORKING, after=first.after, now_ms=world.now_ms))

    assert [job.job_id for job in second.jobs] == [*ids[5:], ids[4]]


def test_bodies_are_cut_to_a_preview_with_their_whole_size(world: World) -> None:
    world.publish(b"s" * PREVIEW_BYTES, b"l" * (PREVIEW_BYTES + 1), attributes={"a": "b"})

    small, large = world.run(list_jobs(world.queue, JobState.READY, now_ms=world.now_ms)).jobs

    assert (small.body, small.body_bytes) == (b"s" * PREVIEW_BYTES, PREVIEW_BYTES)
    assert (large.body, large.body_bytes) == (b"l" * PREVIEW_BYTES, PREVIEW_BYTES + 1)
    assert large.attributes == {"a": "b"}


@pytest.mark.parametrize("state", [JobState.READY, JobState.DELAYED])
def test_pages_of_huge_jobs_are_short_but_complete(world: World, state: JobState) -> None:
    ids: list[str] = []
    for _ in range(2):
        delay_ms = 0 if state is JobState.READY else 5
        ids += world.publish(*[b"x" * BODY_MAX_BYTES] * 10, delay_ms=delay_ms)

    shown = pages(world, state, 1_000)

    assert sorted(job_id for page in shown for job_id in page) == sorted(ids)
    assert max(len(page) for page in shown) < 10


@in_one_test(
    "after",
    [
        "x",
        "list",
        "list:1",
        "list:1:x",
        f"list:1.5:{UNKNOWN}",
        f"list:-3:{UNKNOWN}",
        f"list:99999999999999999999:{UNKNOWN}",
        f"other 1 {UNKNOWN}",
        f"list:1:{UNKNOWN}\n",
        "list:1:" + "é" * 26,
        f"list:²:{UNKNOWN}",
    ],
)
@in_one_test("state", JobState)
def test_what_is_no_cursor_is_refused(world: World, state: JobState, after: str) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid after"):
        list_jobs(world.queue, state, after=after)


@pytest.mark.parametrize("state", JobState)
def test_a_cursor_of_another_listing_does_no_harm(world: World, state: JobState) -> None:
    fill(world, state, 4)

    for segment, place in product(("high", "list", "low", "delayed", "dead"), ("0", "5", "9999999999999999")):
        page = world.run(list_jobs(world.queue, state, after=f"{segment}:{place}:{UNKNOWN}"))

        assert len(page.jobs) <= 4, (segment, place)


@pytest.mark.parametrize("limit", [0, -1, 1_001])
def test_a_limit_out_of_range_is_refused(world: World, limit: int) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid limit"):
        list_jobs(world.queue, JobState.READY, limit=limit)


@pytest.mark.parametrize("place", STATES)
def test_looking_changes_nothing(world: World, place: str) -> None:
    job_id = world.job_in(place)

    def look() -> None:
        world.run(detail(world.queue, job_id, now_ms=world.now_ms))
        world.run(result(world.queue, job_id))
        for state in JobState:
            world.run(list_jobs(world.queue, state, now_ms=world.now_ms))

    assert not world.changes(look)


@pytest.mark.parametrize("place", STATES)
def test_details_say_where_the_job_is_and_since_when(world: World, place: str) -> None:
    job_id = world.job_in(place, ttl_ms=7_200_000, attributes={"a": "b"})
    world.advance(1)

    found = detail_of(world, job_id)

    assert (found.state, found.job_id) == (plain(place), job_id)
    assert (found.namespace, found.queue, found.body, found.body_bytes) == ("shop", "orders", b"x", 1)
    assert (found.published_ms, found.now_ms) == (START_MS, START_MS + 1)
    assert found.expires_ms == (0 if place in ("dead", "completed") else START_MS + 7_200_000)
    assert found.due_ms == START_MS + {"delayed": 30_000, "retry": 10_000}.get(place, 0)
    assert found.lease_end_ms == (START_MS + TTR_MS if place == "working" else None)
    assert found.died_ms == (START_MS if place == "dead" else None)
    assert found.kept_until_ms == (START_MS + 3_600_000 if place == "completed" else None)
    never_taken = ("ready", "ready by priority", "delayed", "blocked", "grouped")
    assert found.taken_ms == (None if place in never_taken else START_MS)
    assert found.result_bytes == (4 if place == "completed" else None)
    assert found.priority == (5 if place == "ready by priority" else 0)
    assert found.attributes == {"a": "b"}
    assert len(found.history) == (place in ("retry", "dead"))


def test_details_show_the_options_the_job_was_published_with(world: World) -> None:
    job_id = world.publish_one(key="k", retention_ms=5, backoff=parse_backoff("exponential:1:9"), priority=-3, tries=4)

    found = detail_of(world, job_id)

    assert (found.key, found.retention_ms, str(found.backoff)) == ("k", 5, "exponential:1:9")
    assert (found.priority, found.tries, found.attempt) == (-3, 4, 0)
    assert found.as_delivery().remain_tries == 4


def test_a_delayed_job_that_became_ready_was_due_when_it_should_have_been(world: World) -> None:
    job_id = world.publish_one(delay_ms=50)
    world.advance(80)
    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert detail_of(world, job_id).due_ms == START_MS + 50


def test_details_can_leave_the_body_out(world: World) -> None:
    job_id = world.publish_one(b"x" * 1_000, attributes={"a": "b"})

    found = world.run(detail(world.queue, job_id, preview=0, now_ms=world.now_ms))

    assert found is not None
    assert (found.body, found.body_bytes, found.attributes) == (b"", 1_000, {"a": "b"})


def test_there_are_no_details_of_an_unknown_job(world: World) -> None:
    assert world.run(detail(world.queue, UNKNOWN)) is None
    assert world.run(result(world.queue, UNKNOWN)).state is None


@pytest.mark.parametrize("place", [place for place in STATES if place != "completed"])
def test_there_is_no_result_before_the_job_is_completed(world: World, place: str) -> None:
    job_id = world.job_in(place)

    found = world.run(result(world.queue, job_id, now_ms=world.now_ms))

    assert (found.state, found.body) == (plain(place), None)
