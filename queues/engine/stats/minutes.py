"""Reads what was recorded of whole minutes (lua/lib/trend.lua, lua/add_minutes.lua)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..values import JobState
from .histogram import middle_ms

MINUTE_MS: Final = 60_000
STATES: Final = (
    JobState.READY,
    JobState.DELAYED,
    JobState.RETRY,
    JobState.WORKING,
    JobState.DEAD,
    JobState.COMPLETED,
)
_COUNTS: Final = 7
_UNKNOWN: Final = "-"

Percentiles = tuple[float | None, float | None, float | None]
NO_PERCENTILES: Final[Percentiles] = (None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """What happened in the minute that begins at `at_ms`. Percentiles (50, 95, 99) in ms; of a sum there are none.

    `jobs`: by state at the end of the minute; None: not known. `recorded`: there was something to record.
    """

    at_ms: int
    published: int = 0
    consumed: int = 0
    acked: int = 0
    failed: int = 0
    leases_lost: int = 0
    died: int = 0
    expired: int = 0
    jobs: Mapping[JobState, int] | None = None
    wait_ms: Percentiles = NO_PERCENTILES
    run_ms: Percentiles = NO_PERCENTILES
    recorded: bool = True


def read_minute(at_ms: int, row: bytes) -> Minute:
    """A row as Redis holds it."""
    fields = row.decode().split(",")
    published, consumed, acked, failed, leases_lost, died, expired = [int(field or 0) for field in fields[:_COUNTS]]
    states, ranks = fields[_COUNTS : _COUNTS + 6], fields[_COUNTS + 6 :]
    return Minute(
        at_ms=at_ms,
        published=published,
        consumed=consumed,
        acked=acked,
        failed=failed,
        leases_lost=leases_lost,
        died=died,
        expired=expired,
        jobs=None if states[0] == _UNKNOWN else _by_state(states),
        wait_ms=_percentiles(ranks[:3]),
        run_ms=_percentiles(ranks[3:6]),
    )


def read_minutes(now_ms: int, rows: Sequence[bytes | None], jobs_last_seen: bytes | None) -> tuple[Minute, ...]:
    """One for each row, the last of which is of the latest whole minute.

    A minute without a row changed nothing: its jobs by state are those of the one before. If no row is left, they are
    what they were when last seen.
    """
    first = (now_ms // MINUTE_MS - len(rows)) * MINUTE_MS
    jobs = None
    if jobs_last_seen is not None and not any(rows):
        jobs = _by_state(jobs_last_seen.decode().split(","))
    found: list[Minute] = []
    for place, row in enumerate(rows):
        at_ms = first + place * MINUTE_MS
        minute = Minute(at_ms=at_ms, jobs=jobs, recorded=False) if row is None else read_minute(at_ms, row)
        jobs = minute.jobs
        found.append(minute)
    return tuple(found)


def _by_state(states: Sequence[str]) -> Mapping[JobState, int]:
    return {state: int(number or 0) for state, number in zip(STATES, states, strict=True)}


def _percentiles(ranks: Sequence[str]) -> Percentiles:
    """Of three buckets, counted from 1."""
    if len(ranks) < 3 or not ranks[0]:
        return NO_PERCENTILES
    p50, p95, p99 = (middle_ms(int(rank) - 1) for rank in ranks)
    return p50, p95, p99
