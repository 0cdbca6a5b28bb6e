"""Jobs that are deleted behind one that lives: the ready list stays short, and in order."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from queues.engine import delete_jobs, destroy, fail, list_jobs, peek, release, sweep
from queues.engine.constants import SKIP_BATCH, SWEEP_LOOKS
from queues.engine.operations.consume import consume_step, is_again
from queues.engine.values import Consumed, JobState

from .test_expiry import sweep_all
from .world import World

MANY = SWEEP_LOOKS * 3


def publish_many(world: World, count: int = MANY) -> list[str]:
    return [job_id for _ in range(0, count, 500) for job_id in world.publish(*[b"x"] * 500)]


def delete(world: World, ids: list[str]) -> None:
    for first in range(0, len(ids), 500):
        world.run(delete_jobs(world.queue, ids[first : first + 500], now_ms=world.now_ms))


def take_all(world: World) -> list[str]:
    """Ids in the order in which they come. An answer may be short where many tombstones are."""
    ids: list[str] = []
    while jobs := world.take(count=1_000):
        ids += [job.job_id for job in jobs]
    return ids


def half_compacted(world: World) -> list[str]:
    """The ids of the jobs that live, in order, of a queue in which the sweeper has begun to take out tombstones."""
    ids = publish_many(world)
    alive = ids[::3]
    delete(world, [job_id for job_id in ids if job_id not in set(alive)])
    world.run(sweep(world.engine.layout, now_ms=world.now_ms))
    assert world.state().front
    return alive


def test_tombstones_behind_a_job_that_lives_are_taken_out(world: World) -> None:
    first, *others = publish_many(world)
    last = world.publish_one()
    delete(world, others)
    assert len(world.state().line) > MANY

    sweep_all(world)

    assert world.state().line == [first, last]
    assert [job.job_id for job in world.take(count=9)] == [first, last]


def test_expired_jobs_behind_one_that_lives_are_taken_out(world: World) -> None:
    first = world.publish_one(ttl_ms=0)
    for _ in range(0, MANY, 500):
        world.publish(*[b"x"] * 500, ttl_ms=5)
    last = world.publish_one(ttl_ms=0)
    world.advance(5)

    sweep_all(world)

    assert world.state().line == [first, last]


def test_few_tombstones_are_left_alone(world: World) -> None:
    first, *others = publish_many(world, 500)
    delete(world, others[:400])

    assert sweep_all(world) == 0
    assert len(world.state().line) == 500
    assert world.take_one().job_id == first


def test_they_are_taken_out_too_when_those_that_live_leave_before_them(world: World) -> None:
    ids = publish_many(world)
    delete(world, ids[-600:])
    sweep_all(world)
    assert len(world.state().line) == MANY
    world.take(count=MANY - 700)
    world.advance(10_000)

    sweep_all(world)

    assert len(world.state().line) == 100


def test_a_half_compacted_list_is_one_line_to_every_reader(world: World) -> None:
    alive = half_compacted(world)

    found = world.run(peek(world.queue, now_ms=world.now_ms))
    listed: list[str] = []
    after: str | None = None
    while True:
        page = world.run(list_jobs(world.queue, JobState.READY, after=after, limit=100, now_ms=world.now_ms))
        listed += [job.job_id for job in page.jobs]
        after = page.after
        if after is None:
            break

    assert found is not None
    assert found.job_id == alive[0]
    assert listed == alive
    taken = world.take_one()
    world.run(release(world.queue, taken.job_id, now_ms=world.now_ms))
    assert take_all(world) == alive


@pytest.mark.parametrize("everything", [True, False])
def test_a_half_compacted_list_is_destroyed_as_a_whole(world: World, everything: bool) -> None:
    alive = half_compacted(world)

    assert world.run(destroy(world.queue, everything=everything, now_ms=world.now_ms)) == len(alive)

    assert world.places() == {}
    assert world.state().line == []


def test_deleting_what_lives_empties_both_parts(world: World) -> None:
    alive = half_compacted(world)
    world.publish_one(delay_ms=50)

    delete(world, alive)

    assert world.state().line == []


def test_one_call_steps_over_a_bounded_number(world: World) -> None:
    _, *others = publish_many(world)
    delete(world, others)
    last = world.publish_one()
    world.take_one()

    calls = list(consumes(world))

    assert len(calls) >= MANY // SKIP_BATCH
    assert [job.job_id for job in calls[-1].jobs] == [last]


def consumes(world: World) -> Iterator[Consumed]:
    """Script calls until one says something else than `call again`."""
    while True:
        step = world.run(consume_step(world.queue, ttr_ms=1_000, now_ms=world.now_ms))
        yield step
        if not is_again(step):
            return


@pytest.mark.parametrize("seed", range(3))
def test_order_is_kept_while_tombstones_are_taken_out_among_all_else(world: World, seed: int) -> None:
    """Beside a list of those that live: whatever comes between two steps, the line is the same."""
    chance = random.Random(seed)
    line = half_compacted(world)
    for _ in range(120):
        match chance.randrange(6):
            case 0:
                line += world.publish(*[b"x"] * chance.randrange(1, 30))
            case 1:
                taken = [job.job_id for job in world.take(count=chance.randrange(1, 30))]
                assert taken == line[: len(taken)]
                line = line[len(taken) :]
            case 2 if line:
                (taken_one,) = world.take()
                world.run(release(world.queue, taken_one.job_id, now_ms=world.now_ms))
            case 3 if line:
                (taken_one,) = world.take()
                world.run(fail(world.queue, taken_one.job_id, now_ms=world.now_ms))
                line = line[1:]
            case 4:
                doomed = chance.sample(line, min(len(line), 40))
                delete(world, doomed)
                line = [job_id for job_id in line if job_id not in set(doomed)]
            case _:
                world.run(sweep(world.engine.layout, now_ms=world.now_ms))
    content = world.state()

    assert [job_id for job_id in content.line if job_id in content.jobs] == line
    assert take_all(world) == line


@pytest.mark.parametrize("priority", [0, 5, -5])
@pytest.mark.parametrize("body", [b"x", b"x" * 5_000], ids=["short", "long"])
def test_one_job_behind_many_dead_entries_is_found_with_few_commands(world: World, priority: int, body: bytes) -> None:
    expired = world.publish(*[body] * 300, ttl_ms=1_000, priority=priority)
    living = [job for _ in range(30) for job in world.publish(body, body, ttl_ms=50_000, priority=priority)]
    last = world.publish_one(body, ttl_ms=0, priority=priority)
    delete(world, [*expired[50:60], *living[20:25]])
    world.advance(2_000)
    world.client.config_resetstat()

    taken = [world.take_one().job_id]

    commands = world.client.info("commandstats")
    assert commands.get("cmdstat_lpop", commands.get("cmdstat_zrem", {"calls": 0}))["calls"] < 300 / 16
    assert world.state().working.keys() == set(taken)
    while jobs := world.take():
        taken += [job.job_id for job in jobs]
        assert world.state().working.keys() == set(taken)
    assert taken == [*living[:20], *living[25:], last]


@pytest.mark.parametrize("priority", [0, 5, -5])
def test_expired_jobs_behind_the_one_that_is_handed_out_stay_for_their_turn(world: World, priority: int) -> None:
    """The dead entry at the head makes the consume take many ids off the queue at once."""
    behind = world.publish_one(ttl_ms=1_000, priority=priority, tries=2)
    assert world.take_one().job_id == behind
    world.publish_one(ttl_ms=1_000, priority=priority)
    living = world.publish(b"1", b"2", ttl_ms=0, priority=priority)
    world.run(fail(world.queue, behind, delay_ms=0, now_ms=world.now_ms))
    world.advance(2_000)

    taken = world.take_one()

    content = world.state()
    assert taken.job_id == living[0]
    assert content.jobs.keys() == {*living, behind}
    line = [*sorted(content.prio, key=lambda job_id: content.prio[job_id]), *content.line]
    assert [job_id for job_id in line if job_id in content.jobs] == [living[1], behind]
