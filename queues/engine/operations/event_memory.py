"""Divides a pool's memory for events among its partitions, so that one hot queue may use what others leave unused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..keys import partition_keys
from ..operation import Operation, Reply, expect_ok
from ..scripts import load

_LEND = load("lend_events")

HOT_PART: Final = 4
"""A partition whose events take that part of its equal share gets more than that share."""

KEPT_PART: Final = 2
"""That part of its equal share is kept for each partition, whatever the others need. `lua/lib/events.lua` relies
on it: until then it does not look for another cap."""


def divide_events_memory(held: Sequence[int], *, share: int) -> list[int] | None:
    """Bytes that the events of each partition of one server may take; None: each its equal `share`.

    `held`: bytes that they take now. The answers add up to no more than the shares do, and none is less than what its
    partition holds (as long as all together hold no more), so that lending drops no event.
    """
    hot = [size >= max(1, share // HOT_PART) for size in held]
    if not any(hot):
        return None
    kept = share // KEPT_PART
    beyond = [max(0, size - kept) for size in held]
    spare = max(0, (share - kept) * len(held) - sum(beyond)) // sum(hot)
    return [kept + more + (spare if is_hot else 0) for more, is_hot in zip(beyond, hot, strict=True)]


def lend_events_memory(partition: int, most: int | None) -> Operation[None]:
    """Let a partition's events take `most` bytes, until it is told otherwise; None: its equal share."""

    def decode(reply: Reply) -> None:
        expect_ok(_LEND, reply)

    keys = partition_keys(partition)
    args = ("" if most is None else most,)
    return Operation(_LEND, tuple(keys[name] for name in _LEND.keys), args, decode)
