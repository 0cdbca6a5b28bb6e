"""What a survey writes down: of each queue, and how much the pool's Redis holds.

Queues are packed: a page of thousands of them has to be read in milliseconds.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..queue_values import QueueStats
from ..values import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLoad:
    """Of a cluster, the sum over its masters. Sizes in bytes; `max_memory` 0: no bound. `keys`: of all databases.

    `version`: what the server is (`queues.engine.store.server_version`), or what they are where they differ.
    """

    used_memory: int
    max_memory: int
    keys: int
    connected_clients: int
    blocked_clients: int
    version: str = ""


_LEVEL = 1
"""Of compression: the rows are much alike, so the fastest makes a fifth of them."""


class FoundQueue(NamedTuple):
    """A queue as a survey found it: a tuple, for there are thousands of them. Percentiles: (50, 95, 99), ms.

    `oldest_due_ms`: when the ready job that is due longest became due. `waited_for`: a consumer waits on it.
    `died`, `leases_lost`, `acked`: in the last five minutes. `dropped`: dead letters that bounds dropped
    (`QueueStats.dropped`).
    """

    namespace: str
    queue: str
    paused: bool
    waited_for: bool
    ready: int
    delayed: int
    retry: int
    working: int
    dead: int
    completed: int
    blocked: int
    grouped: int
    oldest_due_ms: int | None
    published_per_s: float
    consumed_per_s: float
    acked_per_s: float
    failed_per_s: float
    died: int
    leases_lost: int
    dropped: int
    wait_p50: float | None
    wait_p95: float | None
    wait_p99: float | None
    run_p50: float | None
    run_p95: float | None
    run_p99: float | None
    acked: int

    @property
    def size(self) -> int:
        """Jobs in all states."""
        waiting = self.ready + self.delayed + self.retry + self.blocked + self.grouped
        return waiting + self.working + self.dead + self.completed

    def oldest_ready_ms(self, now_ms: int) -> int | None:
        """How long the oldest ready job has been due."""
        return None if self.oldest_due_ms is None else max(0, now_ms - self.oldest_due_ms)


def found_queue(stats: QueueStats, *, waited_for: bool) -> FoundQueue:
    """The short form of a queue's statistics."""
    counts, wait, run = stats.counts, stats.wait_ms, stats.run_ms
    return FoundQueue(
        stats.namespace,
        stats.queue,
        stats.paused,
        waited_for,
        counts[JobState.READY],
        counts[JobState.DELAYED],
        counts[JobState.RETRY],
        counts[JobState.WORKING],
        counts[JobState.DEAD],
        counts[JobState.COMPLETED],
        counts[JobState.BLOCKED],
        counts[JobState.GROUPED],
        None if stats.oldest_ready_ms is None else max(0, stats.now_ms - stats.oldest_ready_ms),
        stats.published_per_s,
        stats.consumed_per_s,
        stats.acked_per_s,
        stats.failed_per_s,
        stats.died,
        stats.leases_lost,
        sum(stats.dropped.values()),
        wait["p50"],
        wait["p95"],
        wait["p99"],
        run["p50"],
        run["p95"],
        run["p99"],
        stats.acked,
    )


def pack_queues(queues: Iterable[FoundQueue]) -> bytes:
    """The queues of one namespace, as a field of lua/write_survey.lua."""
    rows = [[int(value) if isinstance(value, bool) else value for value in queue[1:]] for queue in queues]
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), _LEVEL)


def unpack_queues(namespace: str, content: bytes) -> Sequence[FoundQueue]:
    """The same back. None of them, if another version wrote it: the next survey writes it anew."""
    try:
        rows: list[list[Any]] = json.loads(zlib.decompress(content))
        return [FoundQueue(namespace, row[0], bool(row[1]), bool(row[2]), *row[3:]) for row in rows]
    except (ValueError, TypeError, IndexError, zlib.error):
        return []
