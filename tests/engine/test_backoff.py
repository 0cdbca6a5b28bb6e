"""Backoff policies: the delays that the scripts compute are those that `queues.engine.backoff` documents."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from queues.engine import (
    Backoff,
    BackoffKind,
    InvalidArgumentError,
    delete_jobs,
    fail,
    parse_backoff,
    preview_backoff,
    reclaim_ended,
    respawn,
)
from queues.engine.backoff import DEFAULT_CAP_S
from queues.engine.constants import SECONDS_MAX
from tests.support.rows import in_one_test

from .world import World

LONGEST_MS = SECONDS_MAX * 1000
ATTEMPTS = (1, 2, 3, 4, 10, 25, 1_000, 65_534)


def set_attempt(world: World, job_id: str, attempt: int) -> None:
    """As if the job had been delivered so often: the first two bytes of its run."""
    (runs,) = world.queue.select(("runs",))
    raw = world.client.hget(runs, job_id)
    world.client.hset(runs, job_id, struct.pack(">IH", attempt, attempt) + raw[6:])


def delay_after(world: World, backoff: Backoff, attempt: int) -> int:
    """The delay that a new job gets whose attempt of this number fails."""
    job_id = world.publish_one(tries=65_535, backoff=backoff)
    world.take_one()
    set_attempt(world, job_id, attempt)
    due_ms = world.run(fail(world.queue, job_id, now_ms=world.now_ms)).due_ms
    world.run(delete_jobs(world.queue, [job_id], now_ms=world.now_ms))
    return due_ms - world.now_ms if due_ms else 0


def bounds(backoff: Backoff, attempt: int) -> tuple[float, float]:
    """The range that the documentation promises, ms."""
    if backoff.kind is BackoffKind.FIXED:
        return backoff.base_ms, backoff.base_ms
    if backoff.kind is BackoffKind.LINEAR:
        exact = min(backoff.base_ms * attempt, LONGEST_MS)
        return exact, exact
    if backoff.kind is BackoffKind.EXPONENTIAL:
        full = min(backoff.cap_ms, backoff.base_ms * 2 ** (attempt - 1))
        return full // 2, full
    retries = attempt - 1
    low = (retries**4 + 15) * 1000
    return min(low, LONGEST_MS), min(low + 30 * (retries + 1) * 1000, LONGEST_MS)


@in_one_test(
    "text", ["fixed:0.25", "fixed:4294967295", "linear:1.5", "linear:9999999", "exponential:1", "exponential:3:7",
             "exponential:0.001:4294967295", "sidekiq"]
)  # fmt: skip
@in_one_test("attempt", ATTEMPTS)
def test_the_delay_is_in_its_documented_range(world: World, text: str, attempt: int) -> None:
    backoff = parse_backoff(text)
    low, high = bounds(backoff, attempt)

    for _ in range(3):
        assert low <= delay_after(world, backoff, attempt) <= high


@in_one_test("text", ["fixed:0.25", "linear:1.5", "linear:9999999", "exponential:3:7", "sidekiq"])
def test_a_preview_has_the_ranges_of_the_delays(world: World, text: str) -> None:
    backoff = parse_backoff(text)

    ranges = world.run(preview_backoff(backoff, attempts=25))

    assert list(ranges) == [bounds(backoff, attempt) for attempt in range(1, 26)]


@pytest.mark.parametrize("attempts", [0, 101])
def test_a_preview_is_of_some_attempts_and_not_too_many(attempts: int) -> None:
    with pytest.raises(InvalidArgumentError):
        preview_backoff(parse_backoff("sidekiq"), attempts=attempts)


def test_no_backoff_means_no_delay(world: World) -> None:
    assert {delay_after(world, parse_backoff("none"), attempt) for attempt in ATTEMPTS} == {0}


@pytest.mark.parametrize(("text", "attempt"), [("exponential:100", 3), ("sidekiq", 3)])
def test_jitter_differs_from_job_to_job_and_fills_its_range(world: World, text: str, attempt: int) -> None:
    backoff = parse_backoff(text)
    low, high = bounds(backoff, attempt)

    delays = [delay_after(world, backoff, attempt) for _ in range(60)]

    assert len(set(delays)) > 50
    assert min(delays) < low + (high - low) * 0.25
    assert max(delays) > low + (high - low) * 0.75


def test_jitter_differs_within_one_call(world: World) -> None:
    world.publish(*[b"x"] * 60, tries=2, backoff=parse_backoff("exponential:100"))
    world.take(count=60, ttr_ms=1)
    world.advance(1)

    world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    delays = [due_ms - world.now_ms for due_ms in world.state().retry.values()]
    assert len(set(delays)) > 57
    assert min(delays) < 62_500
    assert max(delays) > 87_500


def test_the_last_attempt_that_can_be_counted_leads_to_the_dead_letters(world: World) -> None:
    job_id = world.publish_one(tries=65_535, backoff=parse_backoff("sidekiq"))
    world.take_one()
    set_attempt(world, job_id, 65_535)

    world.run(fail(world.queue, job_id, attempt=65_535, now_ms=world.now_ms))

    assert world.places() == {job_id: "dead"}


def test_a_job_at_the_last_countable_attempt_can_still_be_respawned_taken_and_ended(world: World) -> None:
    job_id = world.job_in("dead")
    set_attempt(world, job_id, 65_535)
    world.run(respawn(world.queue, limit=1, ttl_ms=0, now_ms=world.now_ms))

    job = world.take_one()
    world.run(fail(world.queue, job_id, attempt=job.attempt, now_ms=world.now_ms))

    assert world.client.zcard(world.queue.select(("dead",))[0]) == 1


@in_one_test(
    ("text", "backoff"),
    [
        ("none", Backoff()),
        ("fixed:2", Backoff(kind=BackoffKind.FIXED, base_ms=2_000)),
        (" Linear:0.5 ", Backoff(kind=BackoffKind.LINEAR, base_ms=500)),
        ("exponential:1", Backoff(kind=BackoffKind.EXPONENTIAL, base_ms=1_000, cap_ms=round(DEFAULT_CAP_S * 1000))),
        ("exponential:9000", Backoff(kind=BackoffKind.EXPONENTIAL, base_ms=9_000_000, cap_ms=9_000_000)),
        ("exponential:1:60", Backoff(kind=BackoffKind.EXPONENTIAL, base_ms=1_000, cap_ms=60_000)),
        ("sidekiq", Backoff(kind=BackoffKind.SIDEKIQ)),
    ],
)
def test_policies_are_read_and_written_in_the_same_form(text: str, backoff: Backoff) -> None:
    assert parse_backoff(text) == backoff
    assert parse_backoff(str(backoff)) == backoff


@in_one_test(
    "text",
    ["", "fixed", "fixed:", "fixed:0", "fixed:-1", "fixed:1:2", "fixed:x", "fixed:1e3", "fixed:inf", "fixed:nan",
     "fixed:4294967296", "fixed:²", "fixed:1_0", "exponential", "exponential:1:2:3", "sidekiq:1", "none:1", "often"],
)  # fmt: skip
def test_what_is_no_policy_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid backoff"):
        parse_backoff(text)


@pytest.mark.parametrize("kind", [kind for kind in BackoffKind if kind is not BackoffKind.NONE])
def test_a_backoff_for_failures_only_spares_jobs_whose_lease_ran_out(world: World, kind: BackoffKind) -> None:
    backoff = Backoff(kind=kind, base_ms=5_000, cap_ms=5_000, failures_only=True)
    job_id = world.publish_one(tries=3, backoff=backoff)
    world.take_one(ttr_ms=1_000)
    world.advance(1_000)
    world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    assert world.places() == {job_id: "ready"}
    world.take_one()
    world.run(fail(world.queue, job_id, now_ms=world.now_ms))
    assert world.places() == {job_id: "retry"}
    assert world.state().jobs[job_id].options.backoff == backoff
    assert parse_backoff("sidekiq@failures") == Backoff(kind=BackoffKind.SIDEKIQ, failures_only=True)
    assert str(parse_backoff("exponential:1:60@failures")) == "exponential:1:60@failures"


@pytest.mark.parametrize("backoff", ["fixed:5", "fixed:5@failures"])
@pytest.mark.parametrize("tied", [{"limit_key": "acme"}, {"group": "acme", "group_max_size": 1}, {}])
def test_limit_key_and_group_leave_the_backoff_as_it_is(world: World, backoff: str, tied: dict[str, Any]) -> None:
    world.publish_one(tries=3, backoff=parse_backoff(backoff), **tied)
    (job_id,) = world.places()
    world.take_one(ttr_ms=1_000)
    world.advance(1_000)
    world.run(reclaim_ended(world.engine.layout, now_ms=world.now_ms))

    spared = backoff.endswith("@failures")
    assert world.places()[job_id] == ("ready" if spared else "retry")
    if not spared:
        world.advance(5_000)
    world.take_one()
    world.run(fail(world.queue, job_id, now_ms=world.now_ms))

    assert world.state().retry == {job_id: world.now_ms + 5_000}
