"""Replies that come when their callers have been told that there are none: what they brought is taken back.

A Redis that is paused (SIGSTOP, CLIENT PAUSE, a frozen machine) carries out afterwards what was in its sockets. By then
the callers have got StoreUnavailableError, and a job that such a consume delivers would have no consumer until its
lease ends, with a try burned. So the connection stays open (see `resp_protocol`), and the late reply is undone as for a
cancelled caller. A reply that never comes (this process ended, the connection was cut) leaves it to the lease.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..operation import Operation, Reply
from .merging import Call, MergedCall, spread

logger = logging.getLogger("taskq.engine")

TakeBack: TypeAlias = Callable[[Operation[Any], Reply], None]


class LateCalls:
    """The calls of one batch, and how they were merged."""

    __slots__ = ("_batch", "_merged", "_take_back")

    def __init__(self, batch: Sequence[Call], merged: Sequence[MergedCall], take_back: TakeBack) -> None:
        self._batch = batch
        self._merged = merged
        self._take_back = take_back

    def of(self, sent: Sequence[Operation[Any]]) -> LateBatch:
        """What takes late replies to those of the merged operations that were sent together."""
        return LateBatch(self, sent)

    def can_be_undone(self) -> bool:
        """Whether any of the calls brings something that can be taken back."""
        return any(operation.undo is not None for operation, _ in self._batch)

    def undo(self, sent: Sequence[Operation[Any]], replies: list[Reply]) -> None:
        """Take back what late replies brought. What was taken last is put back first: each job goes to the head.

        Callers that ask the same may share one operation, though each makes its own call.
        """
        merged_of: dict[int, deque[MergedCall]] = {}
        for call in self._merged:
            merged_of.setdefault(id(call.operation), deque()).append(call)
        merged = [merged_of[id(operation)].popleft() for operation in sent]
        parts = spread(merged, replies, len(self._batch))
        places = [place for one in merged for place in one.places]
        logger.info("late replies are taken back", extra={"action": "undo_late", "calls": len(places)})
        for place in reversed(places):
            self._take_back(self._batch[place][0], parts[place])


class LateBatch:
    """`protocol.LateReplies` of what was sent in one write."""

    __slots__ = ("_calls", "_sent")

    def __init__(self, calls: LateCalls, sent: Sequence[Operation[Any]]) -> None:
        self._calls = calls
        self._sent = sent

    def are_needed(self) -> bool:
        return self._calls.can_be_undone()

    def take(self, replies: list[Reply]) -> None:
        self._calls.undo(self._sent, replies)
