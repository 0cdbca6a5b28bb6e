"""Notes on the deliveries of push endpoints, and the delay of a failure without a backoff."""

from __future__ import annotations

import pytest

from queues.engine import JobState, PublishOptions, consume, fail, parse_backoff, publish
from queues.engine.errors import InvalidArgumentError
from queues.engine.operations.push import DELIVERIES_KEPT, KEPT_MS, DeliveryNotes, note_deliveries, read_deliveries

from .world import START_MS, World


def note(world: World, *outcomes: bool, endpoint: int = 1, now_ms: int = START_MS, first: int = 0) -> None:
    """Note deliveries one after the other, True being a failure; the records are numbers."""
    for number, failed in enumerate(outcomes, first):
        notes = DeliveryNotes(
            delivered=int(not failed), failed=int(failed), streak=int(failed), records=[(failed, str(number).encode())]
        )
        world.engine.run(note_deliveries(world.queue, endpoint, notes, now_ms=now_ms))


def test_counts_and_the_streak_are_kept(world: World) -> None:
    note(world, True, False, True, True)
    world.engine.run(note_deliveries(world.queue, 1, DeliveryNotes(returned=2), now_ms=START_MS + 5))

    found = world.engine.run(read_deliveries(world.queue, 1, now_ms=START_MS + 10))

    health = found.health
    assert (health.delivered, health.failed, health.returned, health.streak) == (1, 3, 2, 2)
    assert (health.now_ms, health.ok_at_ms, health.failed_at_ms) == (START_MS + 10, START_MS, START_MS)
    assert found.recent == (b"3", b"2", b"1", b"0")
    assert found.failures == (b"3", b"2", b"0")


def test_a_success_within_the_batch_ends_the_streak_before(world: World) -> None:
    note(world, True, True)
    world.engine.run(note_deliveries(world.queue, 1, DeliveryNotes(delivered=1, failed=2, streak=1)))

    assert world.engine.run(read_deliveries(world.queue, 1, most=0)).health.streak == 1


def test_the_lists_are_bounded_and_failures_outlast_successes(world: World) -> None:
    note(world, True, *[False] * 50)

    found = world.engine.run(read_deliveries(world.queue, 1))

    assert len(found.recent) == DELIVERIES_KEPT
    assert found.recent[0] == b"50"
    assert found.failures == (b"0",)


def test_endpoints_do_not_see_each_other_and_all_is_forgotten_in_time(world: World) -> None:
    note(world, False, endpoint=1)

    assert world.engine.run(read_deliveries(world.queue, 2)).recent == ()
    keys = [key for key in world.engine.client.keys("*push*") if isinstance(key, bytes)]
    assert len(keys) == 2, "no list of failures without any"
    assert all(0 < world.engine.client.pttl(key) <= KEPT_MS for key in keys)


@pytest.mark.parametrize(
    ("backoff", "delay_ms", "fallback_ms", "waits_ms"),
    [
        ("none", None, 5_000, 5_000),
        ("none", None, None, 0),
        ("none", 700, 5_000, 700),
        ("none", 0, 5_000, 0),
        ("fixed:2", None, 5_000, 2_000),
        ("fixed:2@failures", None, 5_000, 2_000),
        ("none@failures", None, 5_000, 5_000),
    ],
)
def test_a_fallback_takes_the_place_of_no_backoff(
    world: World, backoff: str, delay_ms: int | None, fallback_ms: int | None, waits_ms: int
) -> None:
    options = PublishOptions(tries=3, backoff=parse_backoff(backoff))
    (job_id,) = world.engine.run(publish(world.queue, [b"job"], options, now_ms=START_MS)).job_ids
    world.engine.run(consume(world.queue, ttr_ms=1_000, now_ms=START_MS))

    failed = world.engine.run(
        fail(world.queue, job_id, delay_ms=delay_ms, fallback_delay_ms=fallback_ms, now_ms=START_MS)
    )

    if waits_ms:
        assert (failed.state, failed.due_ms) == (JobState.RETRY, START_MS + waits_ms)
    else:
        assert failed.state is JobState.READY


def test_a_fallback_that_is_no_delay_is_refused(world: World) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid delay"):
        fail(world.queue, "x", fallback_delay_ms=-1)
