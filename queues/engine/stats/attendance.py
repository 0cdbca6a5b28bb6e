"""Which consumers wait at a process: kept as they come and go, told to others now and then.

To come and to go costs a few dictionary entries, and a summary is bounded, however many wait. Who has left is
remembered for a while: a consumer that polls, or works between two polls, is the same one all along.
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

LINGERS_S: Final = 300.0
LINGERING_MAX: Final = 1_000
"""How long, and how many of those, that have left are remembered."""

CONSUMERS_TOLD: Final = 200
QUEUES_TOLD: Final = 500
"""How many a process tells of, taken from its namespaces in turn, so that none is crowded out."""


class Place(NamedTuple):
    """Where somebody waits. Who gives the same name from the same address for the same queues is counted as one."""

    namespace: str
    queues: tuple[str, ...]
    consumer: str
    address: str


class _Stay:
    __slots__ = ("left_at", "since", "waiting")

    def __init__(self, since: float) -> None:
        self.since = since
        self.waiting = 0
        self.left_at = 0.0


class Attendance:
    """Those who wait, and those who did lately. Not to be shared between threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._present: dict[str, dict[Place, _Stay]] = {}
        self._lingering: OrderedDict[Place, _Stay] = OrderedDict()
        self._counts: dict[str, dict[str, int]] = {}
        self._waiting = 0

    def enter(self, place: Place) -> None:
        """One more waits."""
        here = self._present.setdefault(place.namespace, {})
        stay = here.get(place)
        if stay is None:
            now = self._clock()
            stay = self._lingering.pop(place, None)
            if stay is None or stay.left_at < now - LINGERS_S:
                stay = _Stay(now)
            here[place] = stay
        stay.waiting += 1
        self._waiting += 1
        counts = self._counts.setdefault(place.namespace, {})
        for queue in place.queues:
            counts[queue] = counts.get(queue, 0) + 1

    def leave(self, place: Place) -> None:
        """One fewer."""
        here = self._present[place.namespace]
        stay = here[place]
        stay.waiting -= 1
        self._waiting -= 1
        if not stay.waiting:
            _drop(self._present, place.namespace, place)
            stay.left_at = self._clock()
            self._lingering[place] = stay
            if len(self._lingering) > LINGERING_MAX:
                self._lingering.popitem(last=False)
        counts = self._counts[place.namespace]
        for queue in place.queues:
            counts[queue] -= 1
            if not counts[queue]:
                _drop(self._counts, place.namespace, queue)

    def summary(self, process: str) -> WaitingBeat:
        """What to tell of `process`. Empty once nobody waits and nobody is remembered."""
        now = self._clock()
        while self._lingering and next(iter(self._lingering.values())).left_at < now - LINGERS_S:
            self._lingering.popitem(last=False)
        known = sum(map(len, self._present.values())) + len(self._lingering)
        stays = [(place, stay) for _, place, stay in islice(_in_turn(self._present), CONSUMERS_TOLD)]
        stays += islice(reversed(self._lingering.items()), CONSUMERS_TOLD - len(stays))
        queues = [
            QueueWaiters(namespace=namespace, queue=queue, waiting=waiting)
            for namespace, queue, waiting in islice(_in_turn(self._counts), QUEUES_TOLD)
        ]
        return WaitingBeat(
            process=process,
            waiting=self._waiting,
            consumers=tuple([_tell(place, stay, now) for place, stay in stays]),
            consumers_untold=known - len(stays),
            queues=tuple(queues),
            queues_untold=sum(map(len, self._counts.values())) - len(queues),
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


def _tell(place: Place, stay: _Stay, now: float) -> WaitingConsumer:
    return WaitingConsumer(
        namespace=place.namespace,
        queues=place.queues,
        consumer=place.consumer,
        address=place.address,
        waiting=stay.waiting,
        since_ms=round((now - stay.since) * 1000),
        left_ms=0 if stay.waiting else round((now - stay.left_at) * 1000),
    )
