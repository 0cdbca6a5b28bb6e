"""Which consumers wait at a process, kept as they come and go, with a summary for other processes.

Arriving and leaving cost a few dictionary entries, and the summary is bounded, however many wait. Consumers that left
are remembered for a while: one that polls, or works between two polls, counts as the same consumer.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from .consumers import QueueWaiters, WaitingBeat, WaitingConsumer

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED_S: Final = 300.0
REMEMBERED_MAX: Final = 1_000
"""How long consumers that have left are remembered, and how many of them."""

CONSUMERS_REPORTED: Final = 200
QUEUES_REPORTED: Final = 500
"""How many a process reports, taken from its namespaces in turn, so that none is crowded out."""


class ConsumerKey(NamedTuple):
    """What tells consumers apart: the same name from the same address for the same queues is one consumer."""

    namespace: str
    queues: tuple[str, ...]
    consumer: str
    address: str


class _Presence:
    __slots__ = ("left_at", "since", "waiting")

    def __init__(self, since: float) -> None:
        self.since = since
        self.waiting = 0
        self.left_at = 0.0


class WaitingConsumers:
    """The consumers that wait, and those that did lately. Not to be shared between threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._present: dict[str, dict[ConsumerKey, _Presence]] = {}
        self._remembered: OrderedDict[ConsumerKey, _Presence] = OrderedDict()
        self._counts: dict[str, dict[str, int]] = {}
        self._waiting = 0

    def enter(self, key: ConsumerKey) -> None:
        """Count one more call that waits."""
        here = self._present.setdefault(key.namespace, {})
        presence = here.get(key)
        if presence is None:
            now = self._clock()
            presence = self._remembered.pop(key, None)
            if presence is None or presence.left_at < now - REMEMBERED_S:
                presence = _Presence(now)
            here[key] = presence
        presence.waiting += 1
        self._waiting += 1
        counts = self._counts.setdefault(key.namespace, {})
        for queue in key.queues:
            counts[queue] = counts.get(queue, 0) + 1

    def leave(self, key: ConsumerKey) -> None:
        """Count one fewer."""
        here = self._present[key.namespace]
        presence = here[key]
        presence.waiting -= 1
        self._waiting -= 1
        if not presence.waiting:
            _drop(self._present, key.namespace, key)
            presence.left_at = self._clock()
            self._remembered[key] = presence
            if len(self._remembered) > REMEMBERED_MAX:
                self._remembered.popitem(last=False)
        counts = self._counts[key.namespace]
        for queue in key.queues:
            counts[queue] -= 1
            if not counts[queue]:
                _drop(self._counts, key.namespace, queue)

    def summary(self, process: str) -> WaitingBeat:
        """The report of `process`. Empty once no consumer waits and none is remembered."""
        now = self._clock()
        while self._remembered and next(iter(self._remembered.values())).left_at < now - REMEMBERED_S:
            self._remembered.popitem(last=False)
        known = sum(map(len, self._present.values())) + len(self._remembered)
        presences = [(key, presence) for _, key, presence in islice(_in_turn(self._present), CONSUMERS_REPORTED)]
        presences += islice(reversed(self._remembered.items()), CONSUMERS_REPORTED - len(presences))
        queues = [
            QueueWaiters(namespace=namespace, queue=queue, waiting=waiting)
            for namespace, queue, waiting in islice(_in_turn(self._counts), QUEUES_REPORTED)
        ]
        return WaitingBeat(
            process=process,
            waiting=self._waiting,
            consumers=tuple([_report(key, presence, now) for key, presence in presences]),
            consumers_omitted=known - len(presences),
            queues=tuple(queues),
            queues_omitted=sum(map(len, self._counts.values())) - len(queues),
        )


def _drop(nested: dict[str, dict[K, V]], namespace: str, key: K) -> None:
    """Delete an entry, and what held it if that is empty now."""
    del nested[namespace][key]
    if not nested[namespace]:
        del nested[namespace]


def _in_turn(nested: dict[str, dict[K, V]]) -> Iterator[tuple[str, K, V]]:
    """The first entry of each namespace, the second of each, and so on."""
    lines = deque((namespace, iter(entries.items())) for namespace, entries in nested.items())
    while lines:
        namespace, entries = lines.popleft()
        entry = next(entries, None)
        if entry is not None:
            yield namespace, *entry
            lines.append((namespace, entries))


def _report(key: ConsumerKey, presence: _Presence, now: float) -> WaitingConsumer:
    return WaitingConsumer(
        namespace=key.namespace,
        queues=key.queues,
        consumer=key.consumer,
        address=key.address,
        waiting=presence.waiting,
        since_ms=round((now - presence.since) * 1000),
        left_ms=0 if presence.waiting else round((now - presence.left_at) * 1000),
    )
