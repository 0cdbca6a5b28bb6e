"""Taking events out of the streams, for the lake. `docs/lake.md` says how the steps make that happen exactly once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, NamedTuple

from ..keys import partition_keys
from ..operation import Operation, Plan, Reply, clock_argument, expect_ok, tag_of, unexpected
from ..scripts import Script, load

READ_BATCH: Final = 500
TRIM_BATCH: Final = 250
"""Entries that one script call reads or takes out."""

_STATE = load("drain_state")
_READ = load("read_events")
_PLAN = load("plan_drain")
_TRIM = load("trim_drained")
_APPENDED = load("appended_events")

_FIRST_DAY: Final = date(1970, 1, 1)


class EntryRange(NamedTuple):
    """Ids of the first and last of some entries of a stream, as Redis writes them (`ms-seq`)."""

    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainState:
    """Of a partition: entries of its stream and the bytes they take, id of the oldest entry, the plan under way.

    `most`: bytes that they may take; None: the partition's equal share.
    `idle_ms`: since a process last worked on the plan.
    """

    now_ms: int
    entries: int
    bytes: int
    most: int | None
    oldest: str | None
    plan: EntryRange | None
    idle_ms: int


class StreamEntries(NamedTuple):
    """Entries of a stream, oldest first: of each its id, the time in ms, `namespace/queue` and its lines, as written.

    One sequence each: there are many.
    """

    ids: Sequence[bytes]
    times: Sequence[bytes]
    queues: Sequence[bytes]
    lines: Sequence[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainPlan:
    """What is to be written to the lake next. `is_new`: it was put down just now, and by this call.

    `gap`: so many events were dropped before any drain took them, between the entry `done` (None: not known) and the
    first one of the plan.
    """

    entries: EntryRange
    gap: int
    done: str | None
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """Events that were taken out, and whether there are more."""

    events: int
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedEvents:
    """How many events a partition has appended, by UTC day: days without events, and those forgotten, are not there."""

    now_ms: int
    by_day: Mapping[date, int]


def drain_state(partition: int, *, now_ms: int | None = None) -> Operation[DrainState]:
    """What there is to drain."""

    def decode(reply: Reply) -> DrainState:
        now, entries, size, most, oldest, first, last, idle = expect_ok(_STATE, reply)
        return DrainState(
            now_ms=now,
            entries=entries,
            bytes=size,
            most=most or None,
            oldest=oldest.decode() or None,
            plan=EntryRange(first.decode(), last.decode()) if first else None,
            idle_ms=idle,
        )

    return Operation(_STATE, _keys(_STATE, partition), (clock_argument(now_ms),), decode)


def read_events(
    partition: int, *, after: str | None = None, until: str | None = None, limit: int = READ_BATCH
) -> Operation[StreamEntries]:
    """A page of a stream: what comes behind the entry `after`, up to the entry `until`."""

    def decode(reply: Reply) -> StreamEntries:
        found = expect_ok(_READ, reply)
        return StreamEntries(found[0::4], found[1::4], found[2::4], found[3::4])

    args = ("-" if after is None else f"({after}", "+" if until is None else until, limit)
    return Operation(_READ, _keys(_READ, partition), args, decode)


def plan_drain(
    partition: int, last: str, *, instead: EntryRange | None = None, now_ms: int | None = None
) -> Operation[DrainPlan | None]:
    """Put down that all up to the entry `last` is to be written next, unless there is a plan already: then that one.

    None: there is no plan, and that entry is gone. `instead`: the plan that this one replaces, if it still stands.
    """

    def decode(reply: Reply) -> DrainPlan | None:
        tag = tag_of(reply)
        if tag == "gone":
            return None
        if tag not in ("ok", "planned"):
            raise unexpected(_PLAN, reply)
        _, first, last, gap, done = reply
        planned = EntryRange(first.decode(), last.decode())
        return DrainPlan(entries=planned, gap=gap, done=done.decode() or None, is_new=tag == "ok")

    replaced = "" if instead is None else f"{instead.first} {instead.last}"
    args = (clock_argument(now_ms), last, replaced)
    return Operation(_PLAN, _keys(_PLAN, partition), args, decode)


def trim_drained(
    partition: int, entries: EntryRange, *, written: int, limit: int = TRIM_BATCH, now_ms: int | None = None
) -> Operation[Trimmed | None]:
    """Take a batch of what is in the lake out of the stream, with the last of it the plan. None: no such plan (now).

    `written`: events of the plan that are in the lake.
    """

    def decode(reply: Reply) -> Trimmed | None:
        tag = tag_of(reply)
        if tag == "gone":
            return None
        if tag != "ok":
            raise unexpected(_TRIM, reply)
        return Trimmed(events=reply[1], more=bool(reply[2]))

    args = (clock_argument(now_ms), entries.first, entries.last, written, limit)
    return Operation(_TRIM, _keys(_TRIM, partition), args, decode)


def finish_drain(partition: int, entries: EntryRange, *, written: int, now_ms: int | None = None) -> Plan[int]:
    """Take all that is in the lake out of the stream, and the plan with it. How many events this call has taken out."""
    taken = 0
    while True:
        trimmed: Trimmed | None
        (trimmed,) = yield [trim_drained(partition, entries, written=written, now_ms=now_ms)]
        if trimmed is None:
            return taken
        taken += trimmed.events
        if not trimmed.more:
            return taken


def appended_events(partition: int, *, since: date, now_ms: int | None = None) -> Operation[AppendedEvents]:
    """Events by day, from `since` on. What was counted of earlier days is forgotten."""

    def decode(reply: Reply) -> AppendedEvents:
        now, *counts = expect_ok(_APPENDED, reply)
        by_day = {
            _FIRST_DAY + timedelta(days=day): events for day, events in zip(counts[::2], counts[1::2], strict=True)
        }
        return AppendedEvents(now_ms=now, by_day=by_day)

    args = (clock_argument(now_ms), (since - _FIRST_DAY).days)
    return Operation(_APPENDED, _keys(_APPENDED, partition), args, decode)


def _keys(script: Script, partition: int) -> tuple[bytes, ...]:
    keys = partition_keys(partition)
    return tuple(keys[name] for name in script.keys)
