"""Pause, resume, destroy, and the list of queues."""

from __future__ import annotations

import pytest

from queues.engine import (
    InvalidArgumentError,
    JobState,
    QueueNotFoundError,
    delete_jobs,
    destroy,
    fail,
    list_queues,
    pause,
    publish,
    resume,
    stats,
)
from queues.engine.constants import DELETE_BATCH

from .world import START_MS, STATES, World, plain


def fill(world: World) -> dict[str, str]:
    """A job in every place, tombstones too. Job id → state."""
    jobs = {world.job_in(place): plain(place) for place in STATES if place not in ("ready", "ready by priority")}
    spare = world.publish(b"1", b"2", b"3")
    jobs |= {world.publish_one(priority=9): "ready", spare[0]: "ready", spare[2]: "ready"}
    world.client.hdel(world.queue.select(("jobs",))[0], spare[1])
    world.client.hset(world.queue.select(("flags",))[0], "t:shop/orders", 1)
    return jobs


def test_pause_and_resume_say_whether_they_changed_anything(world: World) -> None:
    world.publish_one()
    calls = [pause, pause, resume, resume]

    assert [world.run(call(world.queue, now_ms=world.now_ms)) for call in calls] == [True, False, True, False]


def test_a_pause_is_shown_and_outlives_the_jobs(world: World) -> None:
    world.run(pause(world.queue, now_ms=world.now_ms))

    assert world.places() == {}
    assert world.run(stats(world.queue, now_ms=world.now_ms)).paused
    assert world.run(list_queues(world.engine.layout, "shop")).names == ("orders",)
    world.run(resume(world.queue, now_ms=world.now_ms))
    assert not world.run(stats(world.queue, now_ms=world.now_ms)).paused
    assert world.run(list_queues(world.engine.layout, "shop")).names == ()


def test_a_queue_that_does_not_exist_can_be_left_alone_by_a_pause(world: World) -> None:
    with pytest.raises(QueueNotFoundError, match="orders"):
        world.run(pause(world.queue, must_exist=True, now_ms=world.now_ms))
    assert world.run(list_queues(world.engine.layout, "shop")).names == ()

    world.publish_one()
    assert world.run(pause(world.queue, must_exist=True, now_ms=world.now_ms))


def test_a_queue_that_is_empty_for_the_moment_can_be_paused(world: World) -> None:
    job_id = world.publish_one()
    world.run(delete_jobs(world.queue, [job_id], now_ms=world.now_ms))
    assert world.run(list_queues(world.engine.layout, "shop")).names == ()

    assert world.run(pause(world.queue, must_exist=True, now_ms=world.now_ms))


def test_publishing_to_a_paused_queue_goes_on(world: World) -> None:
    world.run(pause(world.queue, now_ms=world.now_ms))

    job_id = world.publish_one()

    assert world.places() == {job_id: "ready"}
    world.run(resume(world.queue, now_ms=world.now_ms))
    assert world.take_one().job_id == job_id


def test_destroy_deletes_ready_jobs_and_only_them(world: World) -> None:
    jobs = fill(world)

    assert world.run(destroy(world.queue, now_ms=world.now_ms)) == 3

    assert world.places() == {job_id: place for job_id, place in jobs.items() if place != "ready"}


@pytest.mark.parametrize("priority", [0, 4])
def test_destroy_forgets_all_about_ready_jobs_that_were_handed_out_before(world: World, priority: int) -> None:
    job_id = world.publish_one(tries=3, priority=priority)
    world.take_one()
    world.run(fail(world.queue, job_id, now_ms=world.now_ms))
    later = world.publish_one(delay_ms=5)

    assert world.run(destroy(world.queue, now_ms=world.now_ms)) == 1

    assert world.places() == {later: "delayed"}


def test_destroy_works_through_more_than_a_batch(world: World) -> None:
    for priority in (0, 3, 0):
        world.publish(*[b"x"] * (DELETE_BATCH - 1), priority=priority)

    assert world.run(destroy(world.queue, now_ms=world.now_ms)) == 3 * (DELETE_BATCH - 1)
    assert world.places() == {}


def test_destroy_everything_leaves_nothing_but_the_pause(world: World) -> None:
    jobs = fill(world)
    world.publish_one(key="k", delay_ms=1)
    world.run(pause(world.queue, now_ms=world.now_ms))

    assert world.run(destroy(world.queue, everything=True, now_ms=world.now_ms)) == len(jobs) + 1

    assert world.places() == {}
    shared = world.content().partition(world.queue.partition)
    assert shared.queues == {"shop/orders"}
    assert shared.flags == {"p:shop/orders": START_MS}


@pytest.mark.parametrize("everything", [False, True])
def test_destroying_nothing_changes_nothing(world: World, everything: bool) -> None:
    assert not world.changes(lambda: world.run(destroy(world.queue, everything=everything, now_ms=world.now_ms)))


def test_destroying_one_queue_leaves_others_of_its_partition(world: World) -> None:
    others = [World(world.engine, world.engine.queue("shop", f"orders{number}")) for number in range(6)]
    for other in others:
        other.publish_one()
    world.publish_one()

    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))

    assert [list(other.places().values()) for other in others] == [["ready"]] * 6


def test_queues_are_listed_by_name_in_pages(world: World) -> None:
    names = [f"q{number:03}" for number in range(25)]
    for name in names:
        world.run(publish(world.engine.queue("shop", name), [b"x"]))
    for stranger in ("shop2", "sho", "shop-", "Shop", "shoq"):
        world.run(publish(world.engine.queue(stranger, "theirs"), [b"x"]))

    seen: list[str] = []
    after = None
    for _ in range(99):
        page = world.run(list_queues(world.engine.layout, "shop", after=after, limit=7))
        seen += page.names
        after = page.after
        if after is None:
            break

    assert seen == names


def test_the_list_of_an_unknown_namespace_is_empty(world: World) -> None:
    world.publish_one()

    page = world.run(list_queues(world.engine.layout, "nobody"))

    assert (page.names, page.after) == ((), None)


@pytest.mark.parametrize("limit", [0, 1_001])
def test_a_limit_out_of_range_is_refused(world: World, limit: int) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid limit"):
        world.run(list_queues(world.engine.layout, "shop", limit=limit))


def test_a_queue_is_listed_exactly_while_it_holds_something(world: World) -> None:
    for place in STATES:
        job_id = world.job_in(place)
        assert world.run(list_queues(world.engine.layout, "shop")).names == ("orders",)
        world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))
        assert world.run(list_queues(world.engine.layout, "shop")).names == (), job_id


def test_every_state_is_counted(world: World) -> None:
    fill(world)
    wanted = {JobState.READY: 3, JobState.DELAYED: 1, JobState.RETRY: 1, JobState.WORKING: 1, JobState.DEAD: 1}

    counts = world.run(stats(world.queue, now_ms=world.now_ms)).counts

    assert counts == wanted | {JobState.COMPLETED: 1, JobState.BLOCKED: 1, JobState.GROUPED: 1}
