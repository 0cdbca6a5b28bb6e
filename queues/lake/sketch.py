"""Histograms that may be added up, so that percentiles of many days come from all their values, not from percentiles.

A bucket holds the times of a range of milliseconds: below 128 ms one each, from there on 64 to each doubling. What is
said of a value by its bucket's middle is off by less than 1/128 of the value (`RELATIVE_ERROR`); below 128 ms by
nothing. Buckets are of whole numbers and shifts only, so Python, Spark and SQL agree on each border.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

EXACT_BELOW_MS: Final = 128
PER_DOUBLING: Final = 64
RELATIVE_ERROR: Final = 1 / 128
SHIFTS: Final = 35
"""Doublings above EXACT_BELOW_MS: up to 2^42 ms, 139 years. Longer times fall into the last bucket."""

LAST: Final = PER_DOUBLING * SHIFTS + EXACT_BELOW_MS - 1


def bucket_of(ms: int) -> int:
    """The bucket of a time; negative times count as 0."""
    if ms < EXACT_BELOW_MS:
        return max(ms, 0)
    shift = ms.bit_length() - EXACT_BELOW_MS.bit_length() + 1
    return min(PER_DOUBLING * shift + (ms >> shift), LAST)


def bounds(bucket: int) -> tuple[int, int]:
    """The least and the greatest time of a bucket, in ms, both included; of the last one the greatest of its width.

    Raises ValueError if there is no such bucket.
    """
    if not 0 <= bucket <= LAST:
        raise ValueError(f"no such bucket: {bucket} (0 to {LAST})")
    if bucket < EXACT_BELOW_MS:
        return bucket, bucket
    shift = bucket // PER_DOUBLING - 1
    mantissa = bucket - PER_DOUBLING * shift
    return mantissa << shift, ((mantissa + 1) << shift) - 1


def merge(histograms: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """The histogram of all their values: bucket → number."""
    merged: dict[int, int] = {}
    for histogram in histograms:
        for bucket, number in histogram.items():
            merged[bucket] = merged.get(bucket, 0) + number
    return merged


def quantile(histogram: Mapping[int, int], share: float) -> int | None:
    """The middle of the bucket of the least value that at least `share` (0 to 1) of the values do not exceed, in ms.

    Off by less than RELATIVE_ERROR of that value. None of no values.
    """
    total = sum(histogram.values())
    if total <= 0:
        return None
    seen, needed = 0, round(share * total, 6)  # 0.07 × 100 is a little more than 7
    for bucket in sorted(histogram):
        seen += histogram[bucket]
        if seen >= needed and histogram[bucket]:
            low, high = bounds(bucket)
            return (low + high) // 2
    raise AssertionError("shares are at most 1")


def share_within(histogram: Mapping[int, int], limit_ms: int) -> float | None:
    """Which share of the values is at most `limit_ms`: those of the bucket that the limit falls into count whole if the
    limit is its middle or more. None of no values."""
    total = sum(histogram.values())
    if total <= 0:
        return None
    return sum(number for bucket, number in histogram.items() if sum(bounds(bucket)) // 2 <= limit_ms) / total
