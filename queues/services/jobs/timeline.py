"""The time line of a job with the time between its points: how long it was delayed, waited and ran, and what of that
was longest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from queues.engine import JobState

from .moments import Moment, MomentKind

LONGEST_MIN_MS: Final = 1_000
"""What is shorter hurts nobody."""

LONGEST_SHARE: Final = 1 / 3
"""Of all the time that a job waited and ran, the longest part is at least so much, or none is marked."""


class GapKind(StrEnum):
    """What a job did between two points: it was not due yet, waited to be taken, waited for another try, or ran."""

    DELAY = "delay"
    WAIT = "wait"
    RETRY = "retry"
    RUN = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """`is_longest`: none took longer, and much of the job's time went into it. `is_open`: it goes on.

    `objective_ms`: the queue's, if a wait is longer than that. `p95_ms`: the queue's at present, if it took longer.
    """

    kind: GapKind
    ms: int
    is_open: bool = False
    is_longest: bool = False
    objective_ms: int | None = None
    p95_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A point, the gap before it, and for an attempt how long it ran."""

    moment: Moment
    gap: Gap | None = None
    run: Gap | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What is usual in the job's queue: its objective, and 95th percentiles of the last minutes by GapKind, in ms."""

    objective_ms: int
    p95_ms: Mapping[GapKind, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLine:
    """`open_gap`: the wait or delay that goes on; of a run that goes on its attempt says so."""

    steps: tuple[Step, ...]
    open_gap: Gap | None


_BEFORE_TRY: Final = frozenset({MomentKind.PUBLISHED, MomentKind.DUE})
_ATTEMPTS: Final = frozenset(
    {MomentKind.FAILED, MomentKind.LEASE_LOST, MomentKind.RELEASED, MomentKind.WORKING, MomentKind.ACKED}
)
_OPEN: Final = {JobState.READY: GapKind.WAIT, JobState.DELAYED: GapKind.DELAY, JobState.RETRY: GapKind.RETRY}


def time_line(past: Sequence[Moment], *, state: JobState, now_ms: int, usual: Usual) -> TimeLine:
    """The points of `past` with the gaps between them."""
    steps: list[Step] = []
    ended_ms: int | None = None
    before: MomentKind | None = None
    for moment in past:
        gap = None
        if ended_ms is not None and moment.at_ms is not None and (kind := _kind_of(before, moment)):
            gap = Gap(kind=kind, ms=max(0, moment.at_ms - ended_ms))
        steps.append(Step(moment=moment, gap=gap, run=_run_of(moment, now_ms)))
        ended_ms = moment.at_ms if moment.kind not in _ATTEMPTS else moment.ended_ms
        before = moment.kind
    open_gap = None
    if state in _OPEN and ended_ms is not None:
        open_gap = Gap(kind=_OPEN[state], ms=max(0, now_ms - ended_ms), is_open=True)
    return _judged(steps, open_gap, usual)


def _kind_of(before: MomentKind | None, moment: Moment) -> GapKind | None:
    if moment.kind is MomentKind.DUE:
        return GapKind.DELAY if before is MomentKind.PUBLISHED else GapKind.RETRY
    if moment.kind in _ATTEMPTS and moment.attempt:
        return GapKind.WAIT if before in _BEFORE_TRY else GapKind.RETRY
    return None


def _run_of(moment: Moment, now_ms: int) -> Gap | None:
    if not moment.attempt or moment.at_ms is None or moment.kind not in _ATTEMPTS:
        return None
    if moment.kind is MomentKind.WORKING:
        return Gap(kind=GapKind.RUN, ms=max(0, now_ms - moment.at_ms), is_open=True)
    return None if moment.run_ms is None else Gap(kind=GapKind.RUN, ms=moment.run_ms)


def _judged(steps: Sequence[Step], open_gap: Gap | None, usual: Usual) -> TimeLine:
    """A delay was wanted, so it is never what hurt."""
    gaps = [gap for step in steps for gap in (step.gap, step.run)] + [open_gap]
    lengths = [gap.ms for gap in gaps if gap is not None and gap.kind is not GapKind.DELAY]
    longest = max(lengths, default=0)
    if longest < LONGEST_MIN_MS or longest < LONGEST_SHARE * sum(lengths):
        longest = -1

    def judge(gap: Gap | None) -> Gap | None:
        if gap is None or gap.kind is GapKind.DELAY:
            return gap
        is_late = gap.kind is GapKind.WAIT and gap.ms > usual.objective_ms
        p95_ms = usual.p95_ms.get(gap.kind)
        is_unusual = p95_ms is not None and gap.ms > p95_ms and gap.ms >= LONGEST_MIN_MS
        return replace(
            gap,
            is_longest=gap.ms == longest,
            objective_ms=usual.objective_ms if is_late else None,
            p95_ms=p95_ms if is_unusual and not is_late else None,
        )

    judged = tuple([replace(step, gap=judge(step.gap), run=judge(step.run)) for step in steps])
    return TimeLine(steps=judged, open_gap=judge(open_gap))
