"""What a pump records of whole minutes, and what it puts down for others to read."""

from __future__ import annotations

import pytest

from queues.engine import (
    WHOLE_POOL,
    InvalidArgumentError,
    JobState,
    Minute,
    StoreLoad,
    SurveyHead,
    ack,
    add_minutes,
    consume_any,
    destroy,
    fail,
    list_active,
    namespace_minutes,
    pause,
    queue_minutes,
    read_survey,
    stats,
    survey,
    take_survey,
    unpack_queues,
    write_survey,
)
from queues.engine.constants import ROLLUP_MINUTES, TREND_MINUTES
from queues.engine.keys import rollup_key, survey_key
from queues.engine.operations.maintain import reclaim
from queues.engine.operations.survey import SurveyedQueue
from queues.engine.stats.minutes import STATES as STATES_OF_MINUTES

from .world import START_MS, World

MINUTE_MS = 60_000
BEGIN_MS = START_MS - START_MS % MINUTE_MS
STORE = StoreLoad(used_memory=1, max_memory=0, keys=2, connected_clients=3, blocked_clients=0, version="7.2.4")


@pytest.fixture(autouse=True)
def at_the_beginning_of_a_minute(world: World) -> None:
    world.now_ms = BEGIN_MS


def look(world: World) -> SurveyedQueue:
    return world.run(survey(world.queue, now_ms=world.now_ms))


def minutes(world: World, count: int = 10) -> tuple[Minute, ...]:
    return world.run(queue_minutes(world.queue, count=count, now_ms=world.now_ms))


def work_a_minute(world: World) -> None:
    """Three jobs: one acked after 2 s, one dead, one lost; each waited for a second."""
    world.publish(b"a", b"b", b"c")
    world.advance(1_000)
    acked, failed, _lost = world.take(count=3, ttr_ms=5_000)
    world.advance(2_000)
    world.run(ack(world.queue, [acked.job_id], now_ms=world.now_ms))
    world.run(fail(world.queue, failed.job_id, dead=True, now_ms=world.now_ms))
    world.advance(4_000)
    world.run(reclaim(world.queue, now_ms=world.now_ms))
    world.advance(MINUTE_MS - 7_000)


def test_a_survey_says_what_stats_says(world: World) -> None:
    work_a_minute(world)
    world.publish(b"x", b"y")
    world.publish_one(delay_ms=1_000)
    world.advance(500)

    known = world.run(stats(world.queue, now_ms=world.now_ms))
    found = look(world).found

    assert (found.namespace, found.queue) == ("shop", "orders")
    assert (found.ready, found.delayed, found.retry, found.working, found.dead, found.completed) == (2, 1, 0, 0, 2, 0)
    assert found.size == 5
    assert found.oldest_ready_ms(world.now_ms) == known.oldest_ready_ms == 500
    assert (found.published_per_s, found.acked_per_s) == (known.published_per_s, known.acked_per_s)
    assert (found.wait_p50, found.run_p99) == (known.wait_ms["p50"], known.run_ms["p99"])
    assert (found.died, found.leases_lost) == (known.died, known.leases_lost) == (2, 1)
    assert not found.paused


def test_a_queue_is_waited_for_while_a_consumer_found_it_empty_lately(world: World) -> None:
    assert not look(world).found.waited_for
    world.run(consume_any([world.queue], ttr_ms=1, mark_ms=3_000, now_ms=world.now_ms))

    assert look(world).found.waited_for
    world.advance(3_000)
    assert not look(world).found.waited_for


def test_a_paused_queue_is_found_paused(world: World) -> None:
    world.run(pause(world.queue, now_ms=world.now_ms))

    assert look(world).found.paused


def test_a_minute_that_is_over_is_recorded(world: World) -> None:
    work_a_minute(world)
    look(world)

    *before, latest = minutes(world)

    assert latest == Minute(
        at_ms=BEGIN_MS,
        published=3,
        consumed=3,
        acked=1,
        failed=2,
        leases_lost=1,
        died=2,
        jobs=dict.fromkeys(STATES_OF_MINUTES, 0) | {JobState.DEAD: 2},
        wait_ms=latest.wait_ms,
        run_ms=latest.run_ms,
    )
    assert latest.wait_ms == pytest.approx((1_000,) * 3, rel=0.09)
    assert latest.run_ms == pytest.approx((2_000,) * 3, rel=0.09)
    assert not any(minute.recorded for minute in before)


def test_percentiles_of_a_minute_are_those_that_stats_has_of_it(world: World) -> None:
    world.publish(*[b"x"] * 100)
    for _ in range(100):
        world.advance(137)
        world.take_one()
    known = world.run(stats(world.queue, now_ms=world.now_ms)).wait_ms
    world.now_ms = BEGIN_MS + MINUTE_MS

    look(world)

    assert minutes(world)[-1].wait_ms == (known["p50"], known["p95"], known["p99"])


def test_the_running_minute_is_not_recorded_yet(world: World) -> None:
    world.publish_one()
    world.advance(MINUTE_MS - 1)

    assert look(world).recorded == {}
    world.advance(1)
    assert len(look(world).recorded) == 1


def test_of_two_surveys_of_a_minute_one_is_told_what_was_recorded(world: World) -> None:
    work_a_minute(world)

    first, second = look(world), look(world)

    assert list(first.recorded) == [BEGIN_MS // MINUTE_MS]
    assert first.recorded[BEGIN_MS // MINUTE_MS].startswith(b"3,3,1,2,1,2,,")
    assert second.recorded == {}


def test_minutes_that_no_survey_saw_are_recorded_by_the_next_without_their_jobs_by_state(world: World) -> None:
    for _ in range(3):
        world.publish_one()
        world.advance(MINUTE_MS)
    look(world)

    found = minutes(world, 3)

    assert [minute.published for minute in found] == [1, 1, 1]
    assert found[0].jobs is None
    assert found[2].jobs is not None
    assert found[2].jobs[JobState.READY] == 3


def test_where_nothing_happens_nothing_is_written(world: World) -> None:
    world.publish_one(ttl_ms=0)
    world.advance(20 * MINUTE_MS)
    world.client.delete(world.queue.select(("stats",))[0])
    look(world)
    world.advance(MINUTE_MS)

    assert not world.changes(lambda: look(world))
    found = minutes(world, 2)
    assert [minute.recorded for minute in found] == [True, False]
    assert [minute.jobs and minute.jobs[JobState.READY] for minute in found] == [1, 1], "as in the minute before"


def test_a_survey_of_a_queue_that_is_not_there_writes_nothing(world: World) -> None:
    assert not world.changes(lambda: look(world))


def test_what_a_quiet_queue_held_is_known_after_its_rows_are_gone(world: World) -> None:
    world.publish_one(ttl_ms=0)
    world.advance(MINUTE_MS)
    look(world)
    world.advance(100 * MINUTE_MS)

    (latest,) = minutes(world, 1)

    assert latest.jobs is not None
    assert latest.jobs[JobState.READY] == 1


def test_a_trend_is_bounded_and_ends_by_itself(world: World) -> None:
    for _ in range(TREND_MINUTES + 20):
        world.publish_one(ttl_ms=1)
        world.advance(MINUTE_MS)
        look(world)

    (key,) = world.queue.select(("trend",))
    assert world.client.hlen(key) == TREND_MINUTES + 2, "and which minute was the latest, and what there was"
    assert 0 < world.client.ttl(key) <= TREND_MINUTES * 60
    assert all(minute.published == 1 for minute in minutes(world, TREND_MINUTES))


def test_after_a_long_silence_old_rows_go(world: World) -> None:
    for _ in range(5):
        world.publish_one(ttl_ms=0)
        world.advance(MINUTE_MS)
        look(world)
    world.advance((TREND_MINUTES - 2) * MINUTE_MS)
    world.publish_one(ttl_ms=0)
    world.advance(MINUTE_MS)
    look(world)

    recorded = [minute for minute in minutes(world, TREND_MINUTES) if minute.recorded]
    assert len(recorded) == world.client.hlen(world.queue.select(("trend",))[0]) - 2


def test_a_destroyed_queue_leaves_no_trend_and_is_not_active(world: World) -> None:
    work_a_minute(world)
    look(world)
    world.run(destroy(world.queue, everything=True, now_ms=world.now_ms))

    content = world.content()

    assert content.queue("shop/orders").trend == {}
    assert all(not shared.active for shared in content.shared.values())


def test_a_survey_goes_on_when_redis_is_full(world: World) -> None:
    work_a_minute(world)
    world.client.config_set("maxmemory-policy", "noeviction")
    world.client.config_set("maxmemory", 1)
    try:
        assert look(world).recorded
        world.run(take_survey("one", hold_ms=1_000))
        world.run(write_survey({"shop": [look(world).found]}, head=head()))
        world.run(add_minutes("shop", {}, jobs=[1] * 6, now_ms=world.now_ms))
    finally:
        world.client.config_set("maxmemory", 0)


def test_a_queue_whose_jobs_are_taken_at_once_is_active_though_it_holds_nothing(world: World) -> None:
    world.publish_one()
    job = world.take_one()
    world.run(ack(world.queue, [job.job_id], now_ms=world.now_ms))

    assert active(world) == ["orders"]
    world.advance(10 * MINUTE_MS)
    assert active(world) == []
    assert all(not shared.active for shared in world.content().shared.values())


def active(world: World, start: int = 0) -> list[str]:
    operation = list_active(world.engine.layout, world.queue.partition, start=start, limit=10, now_ms=world.now_ms)
    return [queue.queue for queue in world.run(operation)]


def head(queues: int = 1) -> SurveyHead:
    return SurveyHead(taken_at_ms=BEGIN_MS, took_ms=12, queues=queues, left_out=0, store=STORE)


def test_what_was_put_down_is_read_back(world: World) -> None:
    work_a_minute(world)
    world.publish_one()
    found = look(world).found

    assert world.run(write_survey({"shop": [found], "bank": []}, head=head())) == 3
    written = world.run(read_survey(now_ms=world.now_ms))

    assert written.now_ms == world.now_ms
    assert written.head == head()
    assert set(written.contents) == {"shop", "bank"}
    assert unpack_queues("shop", written.contents["shop"]) == [found]


def test_before_the_first_survey_there_is_no_head(world: World) -> None:
    written = world.run(read_survey(now_ms=world.now_ms))

    assert (written.head, written.contents) == (None, {})


def test_a_namespace_that_is_gone_is_forgotten(world: World) -> None:
    world.run(write_survey({"shop": [], "bank": []}))

    assert world.run(write_survey({}, gone=["bank"])) == 1


def test_what_is_written_already_is_not_written_again(world: World) -> None:
    world.publish_one()
    found = look(world).found
    world.run(write_survey({"shop": [found]}))
    changes = world.client.info("persistence")["rdb_changes_since_last_save"]

    world.run(write_survey({"shop": [found]}))

    assert world.client.info("persistence")["rdb_changes_since_last_save"] == changes


def test_what_another_version_put_down_is_left_out(world: World) -> None:
    world.client.hset(survey_key(), mapping={"": b'{"of": "the future"}', "shop": b"\x00not packed"})

    written = world.run(read_survey(now_ms=world.now_ms))

    assert written.head is None
    assert unpack_queues("shop", written.contents["shop"]) == []


def test_one_pump_surveys_until_it_is_silent(world: World) -> None:
    assert world.run(take_survey("one", hold_ms=60_000))
    assert not world.run(take_survey("two", hold_ms=60_000))
    assert world.run(take_survey("one", hold_ms=1))
    while world.client.exists(b"{tqsurvey}:turn"):
        pass

    assert world.run(take_survey("two", hold_ms=60_000))


def test_minutes_of_a_namespace_add_up(world: World) -> None:
    minute = BEGIN_MS // MINUTE_MS
    world.run(add_minutes("shop", {minute: [1, 2, 3, 4, 5, 6, 7]}, jobs=[9, 0, 0, 0, 1, 0], now_ms=world.now_ms))
    world.run(add_minutes("shop", {minute: [1] * 7}, now_ms=world.now_ms))
    world.run(add_minutes("shop", {}, jobs=[8, 0, 0, 0, 2, 0], now_ms=world.now_ms))
    world.advance(2 * MINUTE_MS)

    before, found, after = world.run(namespace_minutes("shop", count=3, now_ms=world.now_ms))

    assert not before.recorded
    assert (found.published, found.consumed, found.acked, found.expired) == (2, 3, 4, 8)
    assert found.jobs == dict.fromkeys(STATES_OF_MINUTES, 0) | {JobState.READY: 8, JobState.DEAD: 2}
    assert (after.recorded, after.jobs) == (False, found.jobs)


def test_sums_are_bounded_to_a_day_and_end_by_themselves(world: World) -> None:
    for _ in range(ROLLUP_MINUTES + 10):
        world.run(add_minutes(WHOLE_POOL, {}, jobs=[1] * 6, now_ms=world.now_ms))
        world.advance(MINUTE_MS)

    key = rollup_key(WHOLE_POOL)
    fives = ROLLUP_MINUTES // 5
    assert world.client.hlen(key) - ROLLUP_MINUTES - 2 in (fives, fives + 1)
    assert 0 < world.client.ttl(key) <= ROLLUP_MINUTES * 60
    found = world.run(namespace_minutes(WHOLE_POOL, count=ROLLUP_MINUTES, now_ms=world.now_ms))
    assert all(minute.recorded for minute in found)


def test_durations_add_up_over_minutes_and_five_of_them(world: World) -> None:
    minute = world.now_ms // MINUTE_MS // 5 * 5
    for _ in range(2):
        rows = {minute + 1: [1] * 7, minute + 3: [1] * 7}
        durations = {minute + 1: {("w", 4): 2, ("r", 8): 1, ("l", 3): 9}, minute + 3: {("w", 4): 1, ("w", 40): 5}}
        world.run(add_minutes("shop", rows, durations=durations, now_ms=world.now_ms))
    world.now_ms = (minute + 5) * MINUTE_MS

    (five,) = world.run(namespace_minutes("shop", count=1, step=5, now_ms=world.now_ms))
    _0, first, _2, third, _4 = world.run(namespace_minutes("shop", count=5, now_ms=world.now_ms))

    assert (five.at_ms, five.minutes, five.published) == (minute * MINUTE_MS, 5, 4)
    assert (five.waits, five.runs) == ({4: 6, 40: 10}, {8: 2})
    assert (first.waits, first.runs, third.waits) == ({4: 4}, {8: 2}, {4: 2, 40: 10})
    assert five.measured().wait_ms == pytest.approx((2 ** (39.5 / 4),) * 3, rel=0.01)
    assert five.measured().run_ms == pytest.approx((2 ** (7.5 / 4),) * 3, rel=0.02)


def test_five_minutes_that_are_not_over_are_not_read(world: World) -> None:
    begin = world.now_ms // (5 * MINUTE_MS) * 5
    world.now_ms = (begin + 9) * MINUTE_MS
    world.run(add_minutes("shop", {begin + 1: [1] * 7, begin + 6: [1] * 7}, now_ms=world.now_ms))

    (latest,) = world.run(namespace_minutes("shop", count=1, step=5, now_ms=world.now_ms))
    assert (latest.end_ms, latest.published) == ((begin + 5) * MINUTE_MS, 1)


def test_minutes_of_the_past_are_read_up_to_a_moment(world: World) -> None:
    minute = world.now_ms // MINUTE_MS
    world.run(add_minutes("shop", {minute: [1] * 7}, jobs=[4] + [0] * 5, now_ms=world.now_ms))
    world.advance(200 * MINUTE_MS)
    until_ms = (minute + 2) * MINUTE_MS + 1

    asked = namespace_minutes("shop", count=3, until_ms=until_ms, now_ms=world.now_ms)
    before, found, after = world.run(asked)

    assert (before.recorded, before.jobs, found.published) == (False, None, 1)
    assert after.jobs is not None
    assert (after.end_ms, after.jobs[JobState.READY]) == ((minute + 2) * MINUTE_MS, 4)
    ahead = namespace_minutes("shop", count=1, until_ms=world.now_ms + 10**9, now_ms=world.now_ms)
    assert world.run(ahead)[0].end_ms <= world.now_ms


def test_sums_are_kept_of_one_and_five_minutes_only() -> None:
    with pytest.raises(InvalidArgumentError, match="invalid step"):
        namespace_minutes("shop", count=1, step=7)


@pytest.mark.parametrize("count", [0, TREND_MINUTES + 1])
def test_no_more_minutes_can_be_asked_for_than_are_kept(world: World, count: int) -> None:
    with pytest.raises(InvalidArgumentError):
        minutes(world, count)
