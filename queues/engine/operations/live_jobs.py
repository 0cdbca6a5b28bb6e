"""How many jobs a queue has by Redis's own count, and which event that count follows on."""

from __future__ import annotations

from dataclasses import dataclass

from ..keys import QueueKeys, partition_keys
from ..operation import Operation, Reply, clock_argument, expect_ok
from ..scripts import load

_LIVE = load("live_jobs")
_END = load("stream_end")


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveJobs:
    """`jobs`: neither dead nor completed; None: there are batches, so events count otherwise than Redis.

    `entry`: id of the partition's newest event (`ms-seq`) when they were counted.
    """

    now_ms: int
    jobs: int | None
    entry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnd:
    """Id of a partition's newest event; `0-0`: there was none yet."""

    now_ms: int
    entry: str


def count_live_jobs(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[LiveJobs]:
    """The jobs of a queue and the newest event, of one moment."""

    def decode(reply: Reply) -> LiveJobs:
        now, jobs, entry = expect_ok(_LIVE, reply)
        return LiveJobs(now_ms=now, jobs=None if jobs < 0 else jobs, entry=entry.decode())

    return Operation(_LIVE, queue.select(_LIVE.keys), (clock_argument(now_ms), queue.name), decode)


def stream_end(partition: int, *, now_ms: int | None = None) -> Operation[StreamEnd]:
    """The newest event of a partition."""

    def decode(reply: Reply) -> StreamEnd:
        now, entry = expect_ok(_END, reply)
        return StreamEnd(now_ms=now, entry=entry.decode())

    keys = partition_keys(partition)
    return Operation(_END, tuple(keys[name] for name in _END.keys), (clock_argument(now_ms),), decode)
