"""Which consumers wait at a web process, and the summary that it writes every few seconds to their pool's Redis.

Arriving and leaving cost a few dictionary entries, and the summary is bounded, however many wait. Consumers that left
are remembered for a while: one that polls, or works between two polls, counts as the same consumer. Durations only, so
that no host's clock matters: the Redis server's clock says when it was reported.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from ..names import clean_line

RECORD_MAX_BYTES: Final = 128 * 1024
QUEUES_NAMED: Final = 8
"""Of a consumer that waits on more, how many are named."""

ADDRESS_MAX_BYTES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingConsumer:
    """A consumer that waits, or did lately. `waiting`: its calls; 0: none now, the last ended `left_ms` ago.

    `since_ms`: how long ago it was first seen; `queues_unnamed`: further queues that it waits on.
    """

    namespace: str
    queues: tuple[str, ...]
    consumer: str
    address: str
    waiting: int
    since_ms: int
    left_ms: int = 0
    queues_unnamed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWaiters:
    """A queue on which consumers wait, and the number of their calls."""

    namespace: str
    queue: str
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingBeat:
    """The report of a process, `age_ms` ago (0 when it is sent). `waiting`: calls that wait there, listed or not."""

    process: str
    waiting: int
    consumers: tuple[WaitingConsumer, ...]
    consumers_omitted: int
    queues: tuple[QueueWaiters, ...]
    queues_omitted: int
    age_ms: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say."""
        return not self.consumers and not self.queues


def pack_waiting(beat: WaitingBeat) -> bytes:
    """The record as lua/tell_waiting.lua keeps it, of at most RECORD_MAX_BYTES; b"" if there is nothing to say."""
    if beat.is_empty:
        return b""
    budget = RECORD_MAX_BYTES - 1024
    rows, counts = list[bytes](), list[bytes]()
    for one in beat.consumers:
        rows.append(_row(one))
        budget -= len(rows[-1]) + 1
        if budget < RECORD_MAX_BYTES // 3:  # the rest is for the counts
            break
    for queue in beat.queues:
        counts.append(json.dumps([queue.namespace, queue.queue, queue.waiting]).encode())
        budget -= len(counts[-1]) + 1
        if budget < 0:
            counts.pop()
            break
    head = {
        "waiting": beat.waiting,
        "consumers_untold": beat.consumers_omitted + len(beat.consumers) - len(rows),
        "queues_untold": beat.queues_omitted + len(beat.queues) - len(counts),
    }
    return b'{"head":%b,"consumers":[%b],"queues":[%b]}' % (
        json.dumps(head).encode(),
        b",".join(rows),
        b",".join(counts),
    )


def unpack_waiting(process: bytes, record: bytes, age_ms: int) -> WaitingBeat | None:
    """A record of lua/list_waiting.lua; None if this version cannot read it. Durations are as of `age_ms` later."""
    try:
        content: dict[str, Any] = json.loads(record)
        return WaitingBeat(
            process=process.decode("utf-8", "replace"),
            waiting=content["head"]["waiting"],
            consumers=tuple([_read(row, age_ms) for row in content["consumers"]]),
            consumers_omitted=content["head"]["consumers_untold"],
            queues=tuple([QueueWaiters(namespace=ns, queue=name, waiting=n) for ns, name, n in content["queues"]]),
            queues_omitted=content["head"]["queues_untold"],
            age_ms=age_ms,
        )
    except (ValueError, KeyError, TypeError):
        return None


def _row(one: WaitingConsumer) -> bytes:
    return json.dumps(
        [
            one.namespace,
            one.queues[:QUEUES_NAMED],
            clean_line(one.consumer).decode(),
            clean_line(one.address, ADDRESS_MAX_BYTES).decode(),
            one.waiting,
            one.since_ms,
            one.left_ms,
            one.queues_unnamed + max(0, len(one.queues) - QUEUES_NAMED),
        ],
        ensure_ascii=False,
    ).encode()


def _read(row: list[Any], age_ms: int) -> WaitingConsumer:
    namespace, queues, consumer, address, waiting, since_ms, left_ms, unnamed = row
    return WaitingConsumer(
        namespace=namespace,
        queues=tuple(queues),
        consumer=consumer,
        address=address,
        waiting=waiting,
        since_ms=since_ms + age_ms,
        left_ms=0 if waiting else left_ms + age_ms,
        queues_unnamed=unnamed,
    )


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
