"""Processor time of the patterns of the worst errors that a search finds."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Final

from queues.lake.error_patterns import pattern_of

from ..report import Bar, Figure
from ..settings import Settings

TEXT_BYTES: Final = 1_024
"""The longest error text that a job keeps (queues.engine.limits.ERROR_MAX_BYTES)."""

TRIES: Final = 4_000
LETTERS: Final = 2_000
PARTS: Final = (
    "a", "1", "f", ".", "-", "@", " ", ":", "0x", "x", "_", "+", "aaaaaaaa", "1111", "g", "T", "2026-01-01", "\n", ",",
    "deadbeef-1234-1234-", "1.1.1.", "10:10", "ä", "7Z", "a@b.c ", "0x1 ", "1a", "Traceback (most recent call last):",
)  # fmt: skip


def figures(settings: Settings) -> Sequence[Figure]:
    """The same texts in every run."""
    texts = _texts(settings.scaled(TRIES))
    worst = [sorted(_pattern_us(text, times=20) for text in texts)[-1] for _ in range(settings.runs)]
    slowest = sorted(texts, key=lambda text: _pattern_us(text, times=3))[-100:]
    letters = [slowest[number % len(slowest)] for number in range(LETTERS)]
    grouped = [sum(_pattern_us(text, times=1) for text in letters) / 1_000 for _ in range(settings.runs)]
    return [
        Figure(name="pattern of the worst error of 1 KiB", unit="µs", runs=worst, bar=Bar(sense="≤", value=20)),
        Figure(name="patterns of 2,000 of the worst errors", unit="ms", runs=grouped),
    ]


def _texts(number: int) -> list[str]:
    random_ = random.Random(12)
    units = [*PARTS, *("".join(random_.choices(PARTS, k=random_.randint(1, 6))) for _ in range(number))]
    return [(unit * TEXT_BYTES)[:TEXT_BYTES] for unit in units]


def _pattern_us(text: str, *, times: int) -> float:
    """The best of so many."""
    best = float("inf")
    for _ in range(times):
        began = time.thread_time()
        pattern_of(error=text, outcome="failed")
        best = min(best, time.thread_time() - began)
    return best * 1_000_000
