"""The time between the points of a job's life, and which of it hurt."""

from __future__ import annotations

import pytest

from queues.engine import JobState
from queues.services.jobs.moments import Moment, MomentKind
from queues.services.jobs.timeline import Gap, GapKind, Usual, time_line

USUAL = Usual(objective_ms=300_000, p95_ms={GapKind.WAIT: 1_000.0, GapKind.RUN: 2_000.0})


def attempt(kind: MomentKind, number: int, at_ms: int, ended_ms: int | None) -> Moment:
    return Moment(kind=kind, at_ms=at_ms, ended_ms=ended_ms, attempt=number)


def gaps(past: list[Moment], state: JobState, now_ms: int = 10**7) -> list[Gap]:
    """In order, runs among them."""
    life = time_line(past, state=state, now_ms=now_ms, usual=USUAL)
    return [gap for step in life.steps for gap in (step.gap, step.run) if gap] + (
        [life.open_gap] if life.open_gap else []
    )


def test_waits_runs_and_retries_are_told_and_the_longest_is_marked() -> None:
    past = [
        Moment(kind=MomentKind.PUBLISHED, at_ms=0),
        attempt(MomentKind.FAILED, 1, 2_000, 3_000),
        attempt(MomentKind.FAILED, 2, 63_000, 63_500),
        Moment(kind=MomentKind.DEAD, at_ms=63_500),
    ]

    found = gaps(past, JobState.DEAD)

    assert [(gap.kind.value, gap.ms) for gap in found] == [
        ("wait", 2_000), ("run", 1_000), ("retry", 60_000), ("run", 500),
    ]  # fmt: skip
    assert [gap.is_longest for gap in found] == [False, False, True, False]


def test_a_wait_is_held_against_the_objective_and_what_is_usual() -> None:
    past = [Moment(kind=MomentKind.PUBLISHED, at_ms=0), attempt(MomentKind.ACKED, 1, 400_000, 405_000)]

    wait, run = gaps(past, JobState.COMPLETED)

    assert (wait.objective_ms, wait.p95_ms, wait.is_longest) == (300_000, None, True)
    assert (run.objective_ms, run.p95_ms, run.is_longest) == (None, 2_000.0, False)


def test_a_delay_was_wanted_and_hurts_nobody() -> None:
    past = [
        Moment(kind=MomentKind.PUBLISHED, at_ms=0),
        Moment(kind=MomentKind.DUE, at_ms=900_000),
        attempt(MomentKind.ACKED, 1, 900_100, 900_200),
    ]

    found = gaps(past, JobState.COMPLETED)

    assert [gap.kind for gap in found] == [GapKind.DELAY, GapKind.WAIT, GapKind.RUN]
    assert not any(gap.is_longest for gap in found), "what is short hurts nobody either"


@pytest.mark.parametrize(
    ("state", "kind"),
    [(JobState.READY, GapKind.WAIT), (JobState.DELAYED, GapKind.DELAY), (JobState.RETRY, GapKind.RETRY)],
)
def test_what_goes_on_is_told_as_far_as_it_is(state: JobState, kind: GapKind) -> None:
    (gap,) = gaps([Moment(kind=MomentKind.PUBLISHED, at_ms=1_000)], state, now_ms=61_000)

    assert (gap.kind, gap.ms, gap.is_open) == (kind, 60_000, True)


def test_a_run_that_goes_on_is_one() -> None:
    past = [Moment(kind=MomentKind.PUBLISHED, at_ms=0), attempt(MomentKind.WORKING, 1, 0, None)]

    _wait, run = gaps(past, JobState.WORKING, now_ms=90_000)

    assert (run.ms, run.is_open, run.is_longest) == (90_000, True, True)
