"""Surveys: a pump goes round all queues of a pool, records their minutes, and writes down what it found.

What it writes is packed: a page of thousands of queues has to be read in milliseconds.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

from queues.engine.queue_values import QueueStats
from queues.engine.values import JobState

from .. import constants
from ..errors import InvalidArgumentError
from ..keys import Layout, QueueKeys, partition_keys, rollup_key, survey_key, survey_turn_key
from ..operation import Argument, Operation, Reply, clock_argument, expect_ok, tag_of, unexpected
from ..scripts import load
from ..stats.minutes import Minute, minutes_of, pack_durations, read_minutes
from .inspect import queue_stats

_LEVEL = 1
"""Of compression: the rows are much alike, so the fastest makes a fifth of them."""

WHOLE_POOL: Final = ""
"""Stands for all namespaces, where minutes are summed up."""

_SURVEY = load("survey")
_ACTIVE = load("list_active")
_TAKE = load("take_survey")
_WRITE = load("write_survey")
_READ = load("read_survey")
_ADD = load("add_minutes")
_MINUTES = load("read_minutes")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedQueue:
    """`recorded`: rows of minutes that this survey was the first to record, by minute; `durations`: how many jobs
    waited and ran how long in them. Both for `add_minutes`."""

    found: FoundQueue
    now_ms: int
    recorded: Mapping[int, bytes]
    durations: Mapping[int, Mapping[tuple[str, int], int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyHead:
    """About a survey as a whole: when it ended, how long it took, how many queues there are, and Redis itself.

    `left_out`: queues beyond those that a survey puts down.
    """

    taken_at_ms: int
    took_ms: int
    queues: int
    left_out: int
    store: StoreLoad


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSurvey:
    """What is in Redis. `head` None: no survey was ever finished. `contents`: by namespace (`unpack_queues`)."""

    now_ms: int
    head: SurveyHead | None
    contents: Mapping[str, bytes]


def survey(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[SurveyedQueue]:
    """Look at a queue, and record its whole minutes since the last survey."""

    def decode(reply: Reply) -> SurveyedQueue:
        *fields, waited, recorded = expect_ok(_SURVEY, reply)
        found = found_queue(queue_stats(queue, fields), waited_for=bool(waited))
        rows = dict(zip(recorded[::2], recorded[1::2], strict=True))
        counted = minutes_of(fields[-1]) if rows else {}
        durations = {minute: counted[minute] for minute in rows if minute in counted}
        return SurveyedQueue(found=found, now_ms=fields[0], recorded=rows, durations=durations)

    return Operation(_SURVEY, queue.select(_SURVEY.keys), (clock_argument(now_ms), queue.name), decode)


def list_active(
    layout: Layout, partition: int, *, start: int, limit: int, now_ms: int | None = None
) -> Operation[list[QueueKeys]]:
    """Queues with counts of the last minutes, from place `start` on. Places change while work is done."""

    def decode(reply: Reply) -> list[QueueKeys]:
        return [layout.named(name) for name in expect_ok(_ACTIVE, reply)]

    keys = (partition_keys(partition)["active"],)
    return Operation(_ACTIVE, keys, (clock_argument(now_ms), start, limit), decode)


def take_survey(pump: str, *, hold_ms: int) -> Operation[bool]:
    """Whether this pump is the one that surveys, for the next `hold_ms`."""

    def decode(reply: Reply) -> bool:
        if tag_of(reply) not in ("ok", "taken"):
            raise unexpected(_TAKE, reply)
        return tag_of(reply) == "ok"

    return Operation(_TAKE, (survey_turn_key(),), (pump, hold_ms), decode)


def write_survey(
    queues: Mapping[str, Sequence[FoundQueue]], *, head: SurveyHead | None = None, gone: Sequence[str] = ()
) -> Operation[int]:
    """Put down the queues of some namespaces, forget those that are `gone`. How many there are (and the head) then."""
    args: list[Argument] = ["" if head is None else json.dumps(asdict(head), separators=(",", ":"))]
    for namespace, found in queues.items():
        args += [namespace, pack_queues(found)]
    for namespace in gone:
        args += [namespace, ""]
    return Operation(_WRITE, (survey_key(),), tuple(args), lambda reply: int(expect_ok(_WRITE, reply)[0]))


def read_survey(*, now_ms: int | None = None) -> Operation[WrittenSurvey]:
    """What the latest survey found."""

    def decode(reply: Reply) -> WrittenSurvey:
        now, fields = expect_ok(_READ, reply)
        contents = {name.decode(): content for name, content in zip(fields[::2], fields[1::2], strict=True)}
        return WrittenSurvey(now_ms=now, head=_head_of(contents.pop("", b"")), contents=contents)

    return Operation(_READ, (survey_key(),), (clock_argument(now_ms),), decode)


def add_minutes(
    namespace: str,
    rows: Mapping[int, Sequence[int]],
    *,
    durations: Mapping[int, Mapping[tuple[str, int], int]] | None = None,
    jobs: Sequence[int] | None = None,
    now_ms: int | None = None,
) -> Operation[int]:
    """Add to the sums of a namespace, or of WHOLE_POOL. `rows`: seven counts by minute; `durations`: (metric, bucket) →
    jobs, of the same minutes. `jobs`: six numbers, now."""
    args: list[Argument] = [clock_argument(now_ms), constants.ROLLUP_MINUTES, _line(jobs or ())]
    for minute, counts in rows.items():
        args += [minute, _line(counts), pack_durations((durations or {}).get(minute, {}))]
    return Operation(_ADD, (rollup_key(namespace),), tuple(args), lambda reply: int(expect_ok(_ADD, reply)[0]))


def namespace_minutes(
    namespace: str, *, count: int, step: int = 1, until_ms: int | None = None, now_ms: int | None = None
) -> Operation[tuple[Minute, ...]]:
    """`count` times `step` (1 or 5) whole minutes of all queues of a namespace, or of WHOLE_POOL: the last ones, or
    those before `until_ms`. Together at most limits.ROLLUP_MINUTES."""
    if step not in (1, constants.ROLLUP_STEP_MINUTES):
        raise InvalidArgumentError("invalid step")
    return _minutes(rollup_key(namespace), count, constants.ROLLUP_MINUTES // step, step, until_ms, now_ms, is_sum=True)


def queue_minutes(queue: QueueKeys, *, count: int, now_ms: int | None = None) -> Operation[tuple[Minute, ...]]:
    """The last `count` whole minutes of a queue, at most limits.TREND_MINUTES."""
    return _minutes(queue.select(("trend",))[0], count, constants.TREND_MINUTES, 1, None, now_ms)


def _minutes(
    key: bytes, count: int, most: int, step: int, until_ms: int | None, now_ms: int | None, *, is_sum: bool = False
) -> Operation[tuple[Minute, ...]]:
    if not 1 <= count <= most:
        raise InvalidArgumentError("invalid number of minutes")

    def decode(reply: Reply) -> tuple[Minute, ...]:
        end_ms, last_seen, rows = expect_ok(_MINUTES, reply)
        return read_minutes(end_ms, rows, last_seen, step=step, is_sum=is_sum)

    args = (clock_argument(now_ms), count, step, "" if until_ms is None else until_ms)
    return Operation(_MINUTES, (key,), args, decode)


def _line(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _head_of(content: bytes) -> SurveyHead | None:
    """None also for what another version wrote."""
    try:
        fields = json.loads(content)
        return SurveyHead(**fields | {"store": StoreLoad(**fields["store"])})
    except (ValueError, TypeError, KeyError):
        return None
