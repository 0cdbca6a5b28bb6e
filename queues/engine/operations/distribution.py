"""How waits and runs of a queue's last minutes are spread."""

from __future__ import annotations

from ..keys import QueueKeys
from ..operation import Operation, Reply
from ..reply import clock_argument, expect_ok
from ..scripts import load
from ..stats.minutes import BUCKETS_PER_OCTAVE, Minutes, minutes_of
from ..values import Distributions, Spread

_STATS = load("stats")


def distributions(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[Distributions]:
    """Of a queue that does not exist, nothing."""

    def decode(reply: Reply) -> Distributions:
        minutes = minutes_of(expect_ok(_STATS, reply)[-1])
        return Distributions(wait=_spread(minutes, "w"), run=_spread(minutes, "r"))

    return Operation(_STATS, queue.select(_STATS.keys), (clock_argument(now_ms), queue.name), decode)


def _spread(minutes: Minutes, wanted: str) -> Spread:
    """Four buckets make one span: bucket b ends at 2^(b/4) ms, so span s, of buckets 4s-3 to 4s, ends at 2^s ms."""
    spans: dict[int, int] = {}
    for counts in minutes.values():
        for (metric, bucket), count in counts.items():
            if metric == wanted:
                span = -(-bucket // BUCKETS_PER_OCTAVE)
                spans[span] = spans.get(span, 0) + count
    if not spans:
        return Spread()
    every = range(min(spans), max(spans) + 1)
    return Spread(bounds_ms=tuple(2.0**span for span in every), counts=tuple(spans.get(span, 0) for span in every))
