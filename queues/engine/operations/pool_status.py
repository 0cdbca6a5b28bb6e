"""What dashboards and metrics ask of a whole pool: its pumps, its partitions, which queues there are and how full.

Each operation is O(1) or a page; how many of them are run is up to the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..keys import Layout, QueueKeys, partition_keys, pumps_key
from ..operation import Operation, Reply, clock_argument, expect_ok
from ..scripts import load
from ..stats.heartbeats import PumpBeat, pack_beat, unpack_beat
from ..values import JobState

FORGET_PUMP_MS: Final = 600_000
PUMPS_MAX: Final = 64
"""A pump is known for ten minutes after its last beat; of more than so many only the latest are."""

_BEAT = load("beat")
_PUMPS = load("list_pumps")
_PARTITION = load("partition_load")
_COUNT = load("count_jobs")
_LIST = load("list_queues")
_PROBE = load("write_probe")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLoad:
    """`due_behind_ms`, `ends_behind_ms`: how long ago the earliest due time, or end of a lease or retention, was
    and has not been attended to; 0 if there is none. `events_*`: memory that its stream takes, in bytes; how many
    events its cap has dropped, how many of them since the latest day on which it dropped none (`lately`), and when the
    last of them (0: never); age of the oldest one that was not drained."""

    queues: int
    due_behind_ms: int
    ends_behind_ms: int
    events_bytes: int
    events_dropped: int
    events_dropped_lately: int
    events_dropped_at_ms: int
    events_oldest_ms: int


def beat(pulse: PumpBeat, *, now_ms: int | None = None) -> Operation[int]:
    """Note that a pump lives. The number of pumps that are known."""
    args = (clock_argument(now_ms), pulse.pump, pack_beat(pulse), FORGET_PUMP_MS, PUMPS_MAX)
    return Operation(_BEAT, (pumps_key(),), args, lambda reply: int(expect_ok(_BEAT, reply)[0]))


def list_pumps(*, now_ms: int | None = None) -> Operation[tuple[PumpBeat, ...]]:
    """The pumps that were heard of in the last ten minutes, by id."""

    def decode(reply: Reply) -> tuple[PumpBeat, ...]:
        now, fields = expect_ok(_PUMPS, reply)
        beats = [unpack_beat(pump, entry, now) for pump, entry in zip(fields[::2], fields[1::2], strict=True)]
        return tuple(sorted((one for one in beats if one is not None), key=lambda one: one.pump))

    return Operation(_PUMPS, (pumps_key(),), (clock_argument(now_ms),), decode)


def partition_load(partition: int, *, now_ms: int | None = None) -> Operation[PartitionLoad]:
    """How one partition is doing."""

    def decode(reply: Reply) -> PartitionLoad:
        _, queues, due_behind, ends_behind, held, dropped, lately, dropped_at, oldest = expect_ok(_PARTITION, reply)
        return PartitionLoad(
            queues=queues,
            due_behind_ms=due_behind,
            ends_behind_ms=ends_behind,
            events_bytes=held,
            events_dropped=dropped,
            events_dropped_lately=lately,
            events_dropped_at_ms=dropped_at,
            events_oldest_ms=oldest,
        )

    keys = partition_keys(partition)
    return Operation(_PARTITION, tuple(keys[name] for name in _PARTITION.keys), (clock_argument(now_ms),), decode)


def server_time(*, now_ms: int | None = None) -> Operation[int]:
    """The time by the server's clock, in ms since the epoch; tests give `now_ms`."""
    keys = partition_keys(0)
    return Operation(
        _PARTITION,
        tuple(keys[name] for name in _PARTITION.keys),
        (clock_argument(now_ms),),
        lambda reply: int(expect_ok(_PARTITION, reply)[0]),
    )


def list_partition(layout: Layout, partition: int, *, after: bytes | None, limit: int) -> Operation[list[QueueKeys]]:
    """A page of a partition's queues, in order of their names; `after` is the name of the page's predecessor."""

    def decode(reply: Reply) -> list[QueueKeys]:
        return [layout.named(name) for name in expect_ok(_LIST, reply)]

    low = b"-" if after is None else b"(" + after
    return Operation(_LIST, (partition_keys(partition)["queues"],), (low, "+", limit), decode)


_STATES: Final = (
    JobState.READY,
    JobState.DELAYED,
    JobState.RETRY,
    JobState.WORKING,
    JobState.DEAD,
    JobState.COMPLETED,
    JobState.BLOCKED,
    JobState.GROUPED,
)


def count_jobs(queue: QueueKeys) -> Operation[Mapping[JobState, int]]:
    """Jobs by state."""

    def decode(reply: Reply) -> Mapping[JobState, int]:
        return dict(zip(_STATES, expect_ok(_COUNT, reply), strict=True))

    return Operation(_COUNT, queue.select(_COUNT.keys), (queue.name,), decode)


def write_probe(partition: int, *, as_publish: bool = False) -> Operation[bool]:
    """Write where the partition lies, since a server that can be reached may take no writes. True: it did.

    Raises StoreUnavailableError if a consume would; with `as_publish` StoreFullError and NotReplicatedError, too, if a
    publish would.
    """

    def decode(reply: Reply) -> bool:
        expect_ok(_PROBE, reply)
        return True

    keys, args = (partition_keys(partition)["probe"],), (0 if as_publish else 1,)
    return Operation(_PROBE, keys, args, decode, replicated=as_publish)
