"""Reads the per-minute counts that `lua/lib/stats.lua` keeps: rates and percentiles of the last minutes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

PERCENTILE_MINUTES: Final = 5
BUCKETS_PER_OCTAVE: Final = 4
_FIELD = re.compile(rb"(\d+)([pwrfxled])(\d*)\Z")

Minutes = Mapping[int, Mapping[tuple[str, int], int]]
"""minute → (metric, bucket) → count."""


def minutes_of(fields: Sequence[bytes]) -> Minutes:
    """The raw hash (field, value, field, value, ...) as counts per minute."""
    minutes: dict[int, dict[tuple[str, int], int]] = {}
    for field, value in zip(fields[::2], fields[1::2], strict=True):
        if place := _place_of(field):
            minute, counted = place
            minutes.setdefault(minute, {})[counted] = int(value)
    return minutes


@lru_cache(maxsize=4096)
def _place_of(field: bytes) -> tuple[int, tuple[str, int]] | None:
    """Minute, metric and bucket. Remembered: the queues of a pool have the same fields."""
    match = _FIELD.match(field)
    return (int(match[1]), (str(match[2], "ascii"), int(match[3] or 0))) if match else None


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
    if not buckets:
        return {"p50": None, "p95": None, "p99": None}
    total = sum(buckets.values())
    return {f"p{percent}": _at_rank(buckets, total * percent / 100) for percent in (50, 95, 99)}


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
