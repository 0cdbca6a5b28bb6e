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
"""The longest error text that a job keeps (queues.engine.constants.ERROR_MAX_BYTES)."""

TRIES: Final = 4_000
ROUNDS: Final = 60
KEPT: Final = 25
CHANGED: Final = 4
"""Changed copies of each kept text per round."""

LETTERS: Final = 2_000
PARTS: Final = (
    "a", "1", "f", ".", "-", "@", " ", ":", "0x", "x", "_", "+", "aaaaaaaa", "aaaaaa", "1111", "g", "T", "2026-01-01",
    "\n", "\r", "\u3000", "\x85", ",", "deadbeef-1234-1234-", "deadbeef-1234-1234-1234-1234567890ab ", "1.1.1.", "1.",
    "1.1.1.1 ", "10:10", "ä", "🙂", "7Z", "a@b.c ", "0x1 ", "1a", "a1", "12345678a ", "0123456789abcdefghjkmnpqrs ",
    "2026-01-01 10:10:10.1+01:00 ", "<n>", "<", ">", "Traceback (most recent call last):",
)  # fmt: skip

Parts = tuple[str, ...]


def figures(settings: Settings) -> Sequence[Figure]:
    """The search goes by what it measures, so its texts differ a little from run to run."""
    searches = [_worst_texts(settings.scaled(TRIES)) for _ in range(settings.runs)]
    worst = [max(_pattern_us(text, times=100) for text in texts) for texts in searches]
    letters = [searches[0][number % KEPT] for number in range(LETTERS)]
    grouped = [sum(_pattern_us(text, times=1) for text in letters) / 1_000 for _ in range(settings.runs)]
    return [
        Figure(name="pattern of the worst error of 1 KiB", unit="µs", runs=worst, bar=Bar(sense="≤", value=20)),
        Figure(name="patterns of 2,000 of the worst errors", unit="ms", runs=grouped),
    ]


def _worst_texts(tries: int) -> list[str]:
    """The slowest of random texts, changed at random for as many rounds as are set: the slowest go on to the next."""
    random_ = random.Random(12)
    first = [
        *((part,) for part in PARTS),
        *(tuple(random_.choices(PARTS, k=random_.randint(1, 8))) for _ in range(tries)),
    ]
    kept = _slowest(first)
    for _ in range(ROUNDS):
        kept = _slowest([*kept, *(_changed(parts, kept, random_) for parts in kept for _ in range(CHANGED))])
    return [_text(parts) for parts in kept]


def _slowest(candidates: Sequence[Parts]) -> list[Parts]:
    us = {parts: _pattern_us(_text(parts), times=5) for parts in candidates}
    return sorted(us, key=us.__getitem__, reverse=True)[:KEPT]


def _changed(parts: Parts, others: Sequence[Parts], random_: random.Random) -> Parts:
    """With a part put in, replaced or taken out, or with the end of another."""
    changed = list(parts)
    for _ in range(random_.randint(1, 3)):
        at = random_.randrange(len(changed) + 1)
        put = random_.choice([[], [random_.choice(PARTS)]])
        changed[at : at + random_.randint(0, 1)] = put
        if random_.random() < 0.25:
            other = random_.choice(others)
            changed[at:] = other[random_.randrange(len(other)) :]
    return tuple(changed[:60]) or parts


def _text(parts: Parts) -> str:
    unit = "".join(parts)
    return (unit * (TEXT_BYTES // len(unit) + 1)).encode()[:TEXT_BYTES].decode(errors="ignore")


def _pattern_us(text: str, *, times: int) -> float:
    """The best of so many."""
    best = float("inf")
    for _ in range(times):
        began = time.thread_time()
        pattern_of(error=text, outcome="failed")
        best = min(best, time.thread_time() - began)
    return best * 1_000_000
