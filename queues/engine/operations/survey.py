"""Surveys: a pump goes round all queues of a pool, records their minutes, and puts down what it found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from .. import limits
from ..errors import InvalidArgumentError
from ..keys import Layout, QueueKeys, partition_keys, rollup_key, survey_key, survey_turn_key
from ..operation import Argument, Operation, Reply
from ..reply import clock_argument, expect_ok, tag_of, unexpected
from ..scripts import load
from ..stats.found_queues import FoundQueue, StoreLoad, found_queue, pack_queues
from ..stats.minutes import Minute, read_minutes
from .inspect import queue_stats

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
class SurveyedQueue:
    """`recorded`: rows of minutes that this survey was the first to record, by minute; for `add_minutes`."""

    found: FoundQueue
    now_ms: int
    recorded: Mapping[int, bytes]


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
        return SurveyedQueue(found=found, now_ms=fields[0], recorded=rows)

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
    jobs: Sequence[int] | None = None,
    now_ms: int | None = None,
) -> Operation[int]:
    """Add to the sums of a namespace, or of WHOLE_POOL. `rows`: seven counts by minute. `jobs`: six numbers, now."""
    args: list[Argument] = [clock_argument(now_ms), limits.ROLLUP_MINUTES, _line(jobs or ())]
    for minute, counts in rows.items():
        args += [minute, _line(counts)]
    return Operation(_ADD, (rollup_key(namespace),), tuple(args), lambda reply: int(expect_ok(_ADD, reply)[0]))


def namespace_minutes(namespace: str, *, count: int, now_ms: int | None = None) -> Operation[tuple[Minute, ...]]:
    """The last `count` whole minutes of all queues of a namespace, or of WHOLE_POOL; at most limits.ROLLUP_MINUTES."""
    return _minutes(rollup_key(namespace), count, limits.ROLLUP_MINUTES, now_ms)


def queue_minutes(queue: QueueKeys, *, count: int, now_ms: int | None = None) -> Operation[tuple[Minute, ...]]:
    """The last `count` whole minutes of a queue, at most limits.TREND_MINUTES."""
    return _minutes(queue.select(("trend",))[0], count, limits.TREND_MINUTES, now_ms)


def _minutes(key: bytes, count: int, most: int, now_ms: int | None) -> Operation[tuple[Minute, ...]]:
    if not 1 <= count <= most:
        raise InvalidArgumentError("invalid number of minutes")

    def decode(reply: Reply) -> tuple[Minute, ...]:
        now, last_seen, rows = expect_ok(_MINUTES, reply)
        return read_minutes(now, rows, last_seen)

    return Operation(_MINUTES, (key,), (clock_argument(now_ms), count), decode)


def _line(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _head_of(content: bytes) -> SurveyHead | None:
    """None also for what another version wrote."""
    try:
        fields = json.loads(content)
        return SurveyHead(**fields | {"store": StoreLoad(**fields["store"])})
    except (ValueError, TypeError, KeyError):
        return None
