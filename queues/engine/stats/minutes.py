"""Reads counts of minutes: rates and percentiles of the last ones (`lua/lib/minute_counts.lua`), and trends.

Trends, of whole minutes, are `lua/lib/trend.lua` and `lua/add_minutes.lua`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from ..values import JobState

PERCENTILE_MINUTES: Final = 5
BUCKETS_PER_OCTAVE: Final = 4
_FIELD = re.compile(rb"(\d+)([pwrfxled])(\d*)\Z")

Minutes = Mapping[int, Mapping[tuple[str, int], int]]
"""minute → (metric, bucket) → count."""


def minutes_of(fields: Sequence[bytes]) -> Minutes:
    """The raw hash (field, value, field, value, ...) as counts per minute."""
    minutes: dict[int, dict[tuple[str, int], int]] = {}
    for name, value in zip(fields[::2], fields[1::2], strict=True):
        if place := _place_of(name):
            minute, counted = place
            minutes.setdefault(minute, {})[counted] = int(value)
    return minutes


@lru_cache(maxsize=4096)
def _place_of(name: bytes) -> tuple[int, tuple[str, int]] | None:
    """Minute, metric and bucket. Remembered: the queues of a pool have the same fields."""
    match = _FIELD.match(name)
    return (int(match[1]), (str(match[2], "ascii"), int(match[3] or 0))) if match else None


Waits = Mapping[int, Mapping[int, int]]
"""minute → bucket → deliveries."""


def waits_of(minutes: Minutes) -> Waits:
    """Of the counts per minute, those of deliveries."""
    return {
        minute: {bucket: count for (metric, bucket), count in counts.items() if metric == "w"}
        for minute, counts in minutes.items()
    }


def rates(minutes: Minutes, now_ms: int) -> dict[str, float]:
    """Events per second over the last 60 s, by metric.

    The sliding window of two minute counters: the running minute's count, and of the minute before the share that lies
    within the window, taking its events as evenly spread.
    """
    minute, into = divmod(now_ms, 60_000)
    share_before = 1 - into / 60_000
    totals = dict.fromkeys("pwrfxled", 0.0)
    for which, share in ((minute, 1.0), (minute - 1, share_before)):
        for (metric, _), count in minutes.get(which, {}).items():
            totals[metric] += count * share
    return {metric: round(total / 60, 3) if total else 0.0 for metric, total in totals.items()}


def percentiles(minutes: Minutes, now_ms: int, metric: str) -> dict[str, float | None]:
    """p50, p95 and p99 in ms over the last five minutes: the geometric middle of the bucket that holds the rank."""
    first = now_ms // 60_000 - PERCENTILE_MINUTES + 1
    buckets: dict[int, int] = {}
    for minute, counts in minutes.items():
        if minute >= first:
            for (name, bucket), count in counts.items():
                if name == metric:
                    buckets[bucket] = buckets.get(bucket, 0) + count
    p50, p95, p99 = percentiles_of(buckets)
    return {"p50": p50, "p95": p95, "p99": p99}


def lately(minutes: Minutes, now_ms: int, metric: str) -> int:
    """Events in the minutes that percentiles look at."""
    first = now_ms // 60_000 - PERCENTILE_MINUTES + 1
    return sum(
        count
        for minute, counts in minutes.items()
        if minute >= first
        for (name, _), count in counts.items()
        if name == metric
    )


def middle_ms(bucket: int) -> float:
    """The geometric middle of a bucket's bounds."""
    return 0.5 if bucket == 0 else round(2.0 ** ((bucket - 0.5) / BUCKETS_PER_OCTAVE), 1)


def _at_rank(buckets: Mapping[int, int], rank: float) -> float:
    seen = 0
    bucket = 0
    for bucket in sorted(buckets):
        seen += buckets[bucket]
        if seen >= rank:
            break
    return middle_ms(bucket)


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
    """What happened in the minute that begins at `at_ms`, or in `minutes` of them. Percentiles (50, 95, 99) in ms.

    `jobs`: by state at the end of the minute; None: not known. `recorded`: there was something to record. A sum over
    queues has histograms (bucket → jobs) of waits and runs, `waits` and `runs`, instead of percentiles, which cannot be
    added up.
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
    minutes: int = 1
    waits: Mapping[int, int] = field(default_factory=dict)
    runs: Mapping[int, int] = field(default_factory=dict)

    @property
    def end_ms(self) -> int:
        return self.at_ms + self.minutes * MINUTE_MS

    def measured(self) -> Minute:
        """With the percentiles of its histograms."""
        return replace(self, wait_ms=percentiles_of(self.waits), run_ms=percentiles_of(self.runs))


def percentiles_of(buckets: Mapping[int, int]) -> Percentiles:
    """Of a histogram."""
    if not buckets:
        return NO_PERCENTILES
    total = sum(buckets.values())
    p50, p95, p99 = (_at_rank(buckets, total * percent / 100) for percent in (50, 95, 99))
    return p50, p95, p99


def pack_durations(counts: Mapping[tuple[str, int], int]) -> str:
    """Waits and runs of one minute, as lua/add_minutes.lua takes them."""
    return " ".join(f"{metric}{bucket}:{count}" for (metric, bucket), count in counts.items() if metric in "wr")


def _unpack_durations(text: str) -> tuple[dict[int, int], dict[int, int]]:
    """Waits and runs."""
    found: dict[str, dict[int, int]] = {"w": {}, "r": {}}
    for part in text.split():
        place, _, count = part.partition(":")
        found[place[0]][int(place[1:])] = int(count)
    return found["w"], found["r"]


def read_minute(at_ms: int, row: bytes, minutes: int = 1) -> Minute:
    """A row as Redis holds it."""
    numbers, _, durations = row.decode().partition("|")
    fields = numbers.split(",")
    waits, runs = _unpack_durations(durations)
    published, consumed, acked, failed, leases_lost, died, expired = [int(number or 0) for number in fields[:_COUNTS]]
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
        minutes=minutes,
        waits=waits,
        runs=runs,
    )


def read_minutes(
    end_ms: int, rows: Sequence[bytes | None], jobs_last_seen: bytes | None, *, step: int = 1, is_sum: bool = False
) -> tuple[Minute, ...]:
    """One for each row, of `step` minutes, the last of which ends at `end_ms`.

    A minute without a row changed nothing: its jobs by state are those of the one before. If no row is left, they are
    what they were when last seen. To a sum over queues they are written when they change: so a row without them has
    those of the one before, too.
    """
    first = end_ms - len(rows) * step * MINUTE_MS
    jobs = None
    if jobs_last_seen is not None and not any(rows):
        jobs = _by_state(jobs_last_seen.decode().split(","))
    found: list[Minute] = []
    for place, row in enumerate(rows):
        at_ms = first + place * step * MINUTE_MS
        quiet = Minute(at_ms=at_ms, jobs=jobs, recorded=False, minutes=step)
        minute = quiet if row is None else read_minute(at_ms, row, step)
        if is_sum and minute.jobs is None:
            minute = replace(minute, jobs=jobs)
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
