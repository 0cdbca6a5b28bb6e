"""Edge N: what a ttl ends, and what it does not. The sweep finds what no consumer comes across."""

from __future__ import annotations

import random

import pytest

from queues.engine import (
    Counts,
    JobFilter,
    JobState,
    destroy,
    detail,
    fail,
    list_jobs,
    pause,
    peek,
    promote_due,
    reclaim_ended,
    release,
    reschedule,
    respawn,
    result,
    scan_jobs,
    stats,
    sweep,
)
from queues.engine.constants import SWEEP_EXPIRE_BATCH, SWEEP_LOOKS
from queues.engine.operations.consume import consume_step, is_again
from queues.engine.operations.survey import survey

from .world import STATES, TTR_MS, World, plain

TTL_MS = 40_000
DAY_MS = 86_400_000


def sweep_all(world: World) -> int:
    """Sweep until there is nothing to do. What was deleted."""
    deleted = 0
    for _ in range(200):
        swept = world.run(sweep(world.engine.layout, now_ms=world.now_ms))
        world.content()
        deleted += swept.jobs
        if not swept.more:
            return deleted
    raise AssertionError("the sweep does not end")


@pytest.mark.parametrize("place", ["ready", "ready by priority", "delayed", "retry"])
def test_the_sweep_deletes_what_has_expired(world: World, place: str) -> None:
    job_id = world.job_in(place, ttl_ms=TTL_MS)
    world.advance(TTL_MS - 1)
    assert sweep_all(world) == 0
    assert world.places() == {job_id: plain(place)}
    world.advance(1)

    assert sweep_all(world) == 1

    assert world.places() == {}


@pytest.mark.parametrize("place", ["working", "dead", "completed"])
def test_working_dead_and_completed_jobs_do_not_expire(world: World, place: str) -> None:
    job_id = world.job_in(place, ttl_ms=TTL_MS)
    world.advance(TTL_MS * 2)

    assert sweep_all(world) == 0
    assert world.places() == {job_id: place}


@pytest.mark.parametrize("place", STATES)
def test_a_job_without_a_ttl_does_not_expire(world: World, place: str) -> None:
    world.job_in(place, ttl_ms=0)
    world.advance(10**12)

    assert sweep_all(world) == 0


def test_a_delayed_job_that_expires_before_it_is_promoted_is_not_handed_out(world: World) -> None:
    world.publish_one(ttl_ms=TTL_MS, delay_ms=TTL_MS)
    world.advance(TTL_MS)
    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))

    assert world.take(count=5) == ()
    assert world.places() == {}


def test_a_lease_that_ends_after_the_ttl_leads_to_expiry_not_to_another_hand_out(world: World) -> None:
    world.publish_one(ttl_ms=TTL_MS, tries=5)
    world.take_one()
    world.advance(TTR_MS)
    world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    assert world.take() == ()
    assert world.places() == {}


def test_the_last_try_of_an_expired_job_still_leads_to_the_dead_letters(world: World) -> None:
    job_id = world.publish_one(ttl_ms=TTL_MS)
    world.take_one()
    world.advance(TTL_MS * 2)

    world.run(fail(world.queue, job_id, now_ms=world.now_ms))

    assert world.places() == {job_id: "dead"}


def test_respawn_gives_a_new_ttl(world: World) -> None:
    job_id = world.job_in("dead", ttl_ms=TTL_MS)
    world.advance(TTL_MS * 2)

    world.run(respawn(world.queue, limit=1, ttl_ms=5_000, now_ms=world.now_ms))

    world.advance(4_999)
    assert sweep_all(world) == 0
    assert world.places() == {job_id: "ready"}
    world.advance(1)
    assert sweep_all(world) == 1


def test_peek_shows_no_expired_job_and_clears_it_away(world: World) -> None:
    world.publish_one(b"old", ttl_ms=TTL_MS)
    world.publish_one(b"old and high", ttl_ms=TTL_MS, priority=1)
    alive = world.publish_one(b"alive")
    world.advance(TTL_MS)

    found = world.run(peek(world.queue, now_ms=world.now_ms))

    assert found is not None
    assert found.body == b"alive"
    assert world.places() == {alive: "ready"}


def test_the_sweep_takes_what_expired_between_living_jobs_and_the_count_stays_exact(world: World) -> None:
    alive = []
    for number in range(120):
        alive += [world.publish_one(b"%d" % number)]
        world.publish(b"a", b"b", ttl_ms=TTL_MS, priority=number % 2)
    world.advance(TTL_MS)

    assert sweep_all(world) == 240

    assert world.places() == dict.fromkeys(alive, "ready")
    assert [job.job_id for job in world.take(count=500)] == alive
    assert world.state().ready == []


def test_the_sweep_comes_round_to_every_queue(world: World) -> None:
    worlds = [World(world.engine, world.engine.queue("ns", f"q{number}")) for number in range(12)]
    for other in worlds:
        other.publish_one(ttl_ms=TTL_MS)
        other.publish_one(ttl_ms=0)
    world.advance(TTL_MS)

    for _ in range(40):
        world.run(sweep(world.engine.layout, now_ms=world.now_ms))

    assert [len(other.places()) for other in worlds] == [1] * 12


def test_the_sweep_says_that_there_is_likely_more(world: World) -> None:
    world.publish(*[b"x"] * 600, ttl_ms=TTL_MS)
    world.advance(TTL_MS)

    first: Counts = world.run(sweep(world.engine.layout, now_ms=world.now_ms))

    assert first.more
    assert 0 < first.jobs < 600


def test_an_expired_job_of_a_paused_queue_is_swept_and_the_pause_stays(world: World) -> None:
    world.publish_one(ttl_ms=TTL_MS)
    world.run(pause(world.queue, now_ms=world.now_ms))
    world.advance(TTL_MS)

    sweep_all(world)

    assert world.places() == {}
    assert world.content().partition(world.queue.partition).queues == {"shop/orders"}


WAITING = [place for place in STATES if plain(place) in ("ready", "delayed", "retry")]


@pytest.mark.parametrize("place", WAITING)
def test_no_read_shows_an_expired_job_before_it_is_swept(world: World, place: str) -> None:
    job_id = world.job_in(place, ttl_ms=TTL_MS)
    state = JobState(plain(place))
    world.advance(TTL_MS)

    assert world.run(detail(world.queue, job_id, now_ms=world.now_ms)) is None
    assert world.run(result(world.queue, job_id, now_ms=world.now_ms)).state is None
    assert world.run(list_jobs(world.queue, state, now_ms=world.now_ms)).jobs == ()
    assert world.run(scan_jobs(world.queue, state, JobFilter(), now_ms=world.now_ms)).jobs == ()


@pytest.mark.parametrize("place", ["working", "dead", "completed"])
def test_reads_show_jobs_that_outlived_their_ttl_where_none_counts(world: World, place: str) -> None:
    job_id = world.job_in(place, ttl_ms=TTL_MS)
    world.advance(TTL_MS * 2)

    assert world.run(detail(world.queue, job_id, now_ms=world.now_ms)) is not None
    assert len(world.run(list_jobs(world.queue, JobState(place), now_ms=world.now_ms)).jobs) == 1


def test_a_queue_in_which_nothing_expires_is_visited_every_ten_minutes_at_the_most(world: World) -> None:
    world.publish(*[b"x"] * 20, ttl_ms=24 * 3_600_000)
    world.publish(*[b"x"] * 20, ttl_ms=0)

    visits = 0
    for _ in range(60):
        world.advance(59_999)
        visits += world.run(sweep(world.engine.layout, now_ms=world.now_ms)).queues

    assert visits <= 6


def test_a_queue_that_has_become_empty_is_forgotten_by_the_sweeper(world: World) -> None:
    world.publish_one(ttl_ms=TTL_MS)
    world.run(destroy(world.queue, now_ms=world.now_ms))
    world.advance(600_000)

    sweep_all(world)

    assert world.content().partition(world.queue.partition).sweeps == {}


@pytest.mark.parametrize("place", WAITING)
def test_an_expired_job_is_found_among_many_that_live_longer(world: World, place: str) -> None:
    """It was published before the others, or after them, or while a scan was under way."""
    many = SWEEP_LOOKS * 2
    options = {"delay_ms": 30_000} if place == "delayed" else {}
    early = world.job_in(place, ttl_ms=TTL_MS)
    world.publish(*[b"x"] * (many // 2), ttl_ms=TTL_MS * 3, **options)
    world.publish(*[b"x"] * (many // 2), ttl_ms=TTL_MS * 1000, **options)
    late = world.publish_one(ttl_ms=TTL_MS)
    world.advance(TTL_MS)

    assert sweep_all(world) == 2
    assert not {early, late} & world.places().keys()
    world.advance(TTL_MS * 2)
    world.run(sweep(world.engine.layout, now_ms=world.now_ms))
    meanwhile = world.publish_one(ttl_ms=1)
    assert sweep_all(world) > 0
    world.advance(1)
    sweep_all(world)

    assert len(world.places()) == many // 2
    assert meanwhile not in world.places()


def test_a_job_that_waits_again_after_its_time_goes_at_once(world: World) -> None:
    world.publish(*[b"x"] * 3, ttl_ms=TTL_MS, tries=5)
    first, second, third = (world.take_one() for _ in range(3))
    world.publish(b"lives", ttl_ms=TTL_MS * 9)
    world.advance(TTL_MS + 1)
    world.run(release(world.queue, first.job_id, now_ms=world.now_ms))
    world.run(release(world.queue, second.job_id, delay_ms=TTL_MS, now_ms=world.now_ms))
    world.run(fail(world.queue, third.job_id, delay_ms=TTL_MS, now_ms=world.now_ms))

    assert sweep_all(world) == 3


def test_a_rescheduled_job_expires_at_its_time(world: World) -> None:
    job_id = world.job_in("delayed", ttl_ms=TTL_MS)
    world.run(reschedule(world.queue, [job_id], at_ms=world.now_ms, now_ms=world.now_ms))
    world.advance(TTL_MS)

    assert sweep_all(world) == 1


@pytest.mark.parametrize("place", ["delayed", "retry"])
def test_a_job_that_is_due_behind_the_horizon_of_a_short_scan_is_not_forgotten(world: World, place: str) -> None:
    """The scan sees everything in one step and does not look at this one: it is due long after."""
    world.publish_one(ttl_ms=TTL_MS, delay_ms=1)
    if place == "delayed":
        world.publish_one(ttl_ms=DAY_MS, delay_ms=1_200_000)
    else:
        world.publish_one(ttl_ms=DAY_MS, tries=2)
        world.run(fail(world.queue, world.take_one().job_id, delay_ms=1_200_000, now_ms=world.now_ms))
    world.advance(TTL_MS)
    assert sweep_all(world) == 1

    world.advance(1_200_000)
    world.run(promote_due(world.engine.layout, now_ms=world.now_ms))
    assert sweep_all(world) == 0
    world.advance(DAY_MS)

    assert sweep_all(world) == 1


def test_a_day_with_long_delays_takes_few_visits(world: World) -> None:
    world.publish_one(ttl_ms=TTL_MS)
    world.publish_one(ttl_ms=DAY_MS * 3, delay_ms=DAY_MS)
    world.advance(TTL_MS)
    sweep_all(world)

    assert world.content().partition(world.queue.partition).flags["h:shop/orders"] == world.now_ms - TTL_MS + DAY_MS


def test_a_visit_looks_at_fewer_jobs_when_their_histories_are_long(world: World) -> None:
    world.publish_one(ttl_ms=TTL_MS, delay_ms=1)
    world.publish(*[b"x"] * 150, ttl_ms=DAY_MS, tries=20)
    for delay_ms in (*[0] * 9, DAY_MS // 1000):
        jobs = world.take(count=150)
        world.engine.batch(
            [fail(world.queue, job.job_id, error="e" * 1024, delay_ms=delay_ms, now_ms=world.now_ms) for job in jobs]
        )
    world.advance(TTL_MS)

    assert world.run(sweep(world.engine.layout, now_ms=world.now_ms)).more
    assert world.content().partition(world.queue.partition).scans
    sweep_all(world)
    assert set(world.places().values()) == {"retry"}
    world.advance(DAY_MS)
    assert sweep_all(world) == 150


def test_a_visit_deletes_fewer_jobs_when_they_are_large(world: World) -> None:
    for _ in range(4):
        world.publish(*[b"x" * 300_000] * 10, ttl_ms=TTL_MS)
    world.advance(TTL_MS)

    first = world.run(sweep(world.engine.layout, now_ms=world.now_ms))

    assert 0 < first.jobs <= SWEEP_EXPIRE_BATCH // 15
    assert first.more
    assert sweep_all(world) == 40 - first.jobs


def test_the_record_of_a_large_job_is_not_read_but_for_its_body(world: World) -> None:
    """Rubbish in its place changes nothing."""
    ids = [world.publish_one(b"x" * 5_000, ttl_ms=TTL_MS, priority=priority) for priority in (-3, 0, 0, 7)]
    world.advance(10)
    names = world.queue.select(("jobs",))

    def looks() -> tuple[object, object]:
        now_ms = world.now_ms
        return world.run(stats(world.queue, now_ms=now_ms)), world.run(survey(world.queue, now_ms=now_ms))

    before = looks()
    world.client.hset(names[0], mapping=dict.fromkeys(ids, b""" """ * 5_000))

    assert looks() == before
    world.advance(TTL_MS)
    assert world.take() == ()
    assert world.places() == {}


@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_during_a_scan_nothing_that_expires_is_forgotten(world: World, seed: int) -> None:
    chance = random.Random(seed)
    ttls = (0, 1, 500, 20_000, 600_000, 3_600_000)
    for ttl_ms in (1_000, 3_600_000, 0):
        delay_ms = chance.choice((0, 400))
        world.publish(*[b"x"] * SWEEP_LOOKS, ttl_ms=ttl_ms, delay_ms=delay_ms, tries=9, priority=chance.choice((0, 2)))
    for _ in range(50):
        world.advance(chance.choice((0, 1, 100, 700, 60_000)))
        now_ms = world.now_ms
        match chance.randrange(7):
            case 0:
                delay_ms, ttl_ms = chance.choice((0, 0, 400)), chance.choice(ttls)
                world.publish(*[b"x"] * 40, ttl_ms=ttl_ms and ttl_ms + delay_ms, delay_ms=delay_ms, tries=9)
            case 1:
                for job in world.take(count=20):
                    world.run(release(world.queue, job.job_id, delay_ms=chance.choice((0, 900)), now_ms=now_ms))
            case 2:
                for job in world.take(count=20):
                    world.run(fail(world.queue, job.job_id, delay_ms=chance.choice((0, 900)), now_ms=now_ms))
            case 3:
                world.take(count=20, ttr_ms=50)
                world.run(reclaim_ended(world.engine.layout, now_ms=now_ms + 60))
            case 4:
                world.run(promote_due(world.engine.layout, now_ms=now_ms))
            case _:
                world.run(sweep(world.engine.layout, now_ms=now_ms))
        world.content()
    world.advance(3_600_000 * 2)
    world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    sweep_all(world)

    content = world.state()
    assert [job_id for job_id in content.jobs if content.expiry_of(job_id)] == []


def publish_many_that_expire(world: World, *, ttl_ms: int = TTL_MS) -> None:
    for _ in range(3):
        world.publish(*[b"x"] * SWEEP_LOOKS, ttl_ms=ttl_ms)


def at_the_end_of_the_ttl(world: World) -> None:
    """The sweeper has taken its turns until now, but none since the jobs expired."""
    world.advance(TTL_MS - 1)
    assert sweep_all(world) == 0
    world.advance(1)


def test_a_consumer_learns_at_once_that_all_of_many_have_expired(world: World) -> None:
    head = world.publish_one(ttl_ms=0)
    publish_many_that_expire(world)
    at_the_end_of_the_ttl(world)

    first, second = (world.run(consume_step(world.queue, ttr_ms=TTR_MS, now_ms=world.now_ms)) for _ in range(2))

    assert [job.job_id for job in first.jobs] == [head]
    assert not second.jobs
    assert not is_again(second)
    assert len(world.state().line) > SWEEP_LOOKS, "most are left to the sweeper"
    sweep_all(world)
    assert world.state().line == []


@pytest.mark.parametrize("place", ["ready", "ready by priority"])
def test_a_job_that_lives_is_found_behind_many_that_are_known_to_have_expired(world: World, place: str) -> None:
    publish_many_that_expire(world)
    job_id = world.job_in(place, ttl_ms=0)
    at_the_end_of_the_ttl(world)

    assert [job.job_id for job in world.take(count=9)] == [job_id]


def test_expired_jobs_elsewhere_do_not_hide_one_that_is_ready(world: World) -> None:
    for _ in range(3):
        world.publish(*[b"x"] * SWEEP_LOOKS, ttl_ms=TTL_MS, delay_ms=TTL_MS)
    publish_many_that_expire(world)
    job_id = world.publish_one(ttl_ms=0)
    at_the_end_of_the_ttl(world)

    assert [job.job_id for job in world.take(count=9)] == [job_id]
