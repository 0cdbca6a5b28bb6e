"""Which fires a schedule has now: its due times that have passed, by its catch-up rule. Pure: no database, no Redis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from queues.models import CatchUp, FireOutcome, Overlap

from .timing import Timing

GRACE_MS: Final = 60_000
"""A fire that is later than this was missed, to a schedule that catches up with nothing. A restart takes less."""

COUNTED_MAX: Final = 100
"""Due times in a row that were missed are counted up to here."""

KEY_PERIODS: Final = 60
KEY_TTL_MIN_S: Final = 3_600
KEY_TTL_MAX_S: Final = 7 * 86_400
"""For how long the idempotency key of a fire is kept: as many periods of the schedule, within these bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFire:
    """`outcome`: pending, if it is to be published; else missed or skipped. `count` due times, the last is `until`."""

    outcome: FireOutcome
    due_ms: int
    until_ms: int | None = None
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`next_due_ms`: when the schedule is due again; None: never."""

    fires: tuple[PlannedFire, ...]
    next_due_ms: int | None
    key_ttl_s: int


def plan_fires(
    *,
    timing: Timing,
    due_ms: int,
    now_ms: int,
    catch_up: CatchUp,
    catch_up_max: int,
    overlap: Overlap,
    is_job_there: bool,
) -> Plan:
    """What to do with the due times from `due_ms`, which has come, to `now_ms`.

    `is_job_there`: the job of the fire before is neither done, dead nor deleted.
    """
    newest = _newest(timing, due_ms, now_ms)
    chosen = _chosen(timing, due_ms, newest, now_ms, catch_up, catch_up_max)
    fires = list(_run(timing, FireOutcome.MISSED, due_ms, (chosen[0] - 1) if chosen else newest))
    if overlap is not Overlap.ALLOW and chosen:
        # Of several at once each would meet the job of the one before it.
        fires += _run(timing, FireOutcome.SKIPPED, chosen[0], chosen[-1] - 1)
        chosen = chosen[-1:]
        if overlap is Overlap.SKIP and is_job_there:
            fires.append(PlannedFire(outcome=FireOutcome.SKIPPED, due_ms=chosen[0]))
            chosen = []
    fires += [PlannedFire(outcome=FireOutcome.PENDING, due_ms=due) for due in chosen]
    next_due = timing.next_after(newest)
    return Plan(fires=tuple(fires), next_due_ms=next_due, key_ttl_s=key_ttl_s(newest, next_due))


def key_ttl_s(due_ms: int, next_due_ms: int | None) -> int:
    """For how long the key of a fire is kept."""
    if next_due_ms is None:
        return KEY_TTL_MAX_S
    return min(KEY_TTL_MAX_S, max(KEY_TTL_MIN_S, KEY_PERIODS * (next_due_ms - due_ms) // 1000))


def _newest(timing: Timing, due_ms: int, now_ms: int) -> int:
    """The last due time whose fire has come. Jitter is shorter than the time between two: only one can be too new."""
    following = timing.next_after(due_ms)
    if following is None or following > now_ms:
        return due_ms  # as nearly always
    newest = timing.latest(due_ms, now_ms) or due_ms
    if newest > due_ms and timing.fire_at(newest) > now_ms:
        newest = timing.latest(due_ms, newest - 1) or due_ms
    return newest


def _chosen(timing: Timing, due_ms: int, newest: int, now_ms: int, catch_up: CatchUp, catch_up_max: int) -> list[int]:
    if catch_up is CatchUp.ALL:
        first = timing.following(due_ms - 1, catch_up_max + 1)
        in_time = [due for due in first if due <= newest]
        return in_time if len(in_time) <= catch_up_max else timing.newest(due_ms, newest, catch_up_max)
    if catch_up is CatchUp.NONE and now_ms - timing.fire_at(newest) > GRACE_MS:
        return []
    return [newest]


def _run(timing: Timing, outcome: FireOutcome, low_ms: int, high_ms: int) -> list[PlannedFire]:
    """The due times within `low_ms`..`high_ms` as one row, if there are any; `low_ms` is one of them."""
    if high_ms < low_ms:
        return []
    count = timing.count_within(low_ms, high_ms, most=COUNTED_MAX)
    until = timing.latest(low_ms, high_ms) if count > 1 else None
    return [PlannedFire(outcome=outcome, due_ms=low_ms, until_ms=until, count=max(1, count))]
