"""Heartbeats: the record that each pump and each pusher writes to its pool's Redis once a second.

A record holds durations only, so that no host's clock matters: the Redis server's clock says when it was written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any, Final

PUSHER_RECORD_MAX_BYTES: Final = 32 * 1024
OTHER_ENDPOINTS: Final = ""
"""Stands for the endpoints that found no room in a beat, added up."""

_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Errors of reading a record that another version of taskq has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleBeat:
    """A role on one pool. `tick_age_ms`: since its latest turn ended. `late_ms`: how much later than its interval says
    that turn began. Since the process began: `ticks` turns, in which `jobs` were moved."""

    tick_age_ms: int
    late_ms: int
    ticks: int
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PumpBeat:
    """A pump process. `age_ms`: since its beat; 0 when it is sent. `up_ms`: since the process began."""

    pump: str
    up_ms: int
    roles: Mapping[str, RoleBeat]
    age_ms: int = 0


def pack_beat(beat: PumpBeat) -> bytes:
    """The record as lua/beat.lua keeps it."""
    roles = {name: asdict(role) for name, role in beat.roles.items()}
    return json.dumps({"up_ms": beat.up_ms, "roles": roles}, separators=(",", ":")).encode()


def unpack_beat(pump: bytes, entry: bytes, now_ms: int) -> PumpBeat | None:
    """An entry of lua/list_pumps.lua; None if this version cannot read it. Ages are as of `now_ms`."""
    try:
        age_ms, content = _read(entry, now_ms)
        roles = {
            name: RoleBeat(
                tick_age_ms=role["tick_age_ms"] + age_ms,
                late_ms=role["late_ms"],
                ticks=role["ticks"],
                jobs=role["jobs"],
            )
            for name, role in content["roles"].items()
        }
        name = pump.decode("utf-8", "replace")
        return PumpBeat(pump=name, up_ms=content["up_ms"] + age_ms, roles=roles, age_ms=age_ms)
    except _UNREADABLE:
        return None


def _read(entry: bytes, now_ms: int) -> tuple[int, dict[str, Any]]:
    """How old an entry is, and what its record says."""
    at, _, record = entry.partition(b" ")
    return max(0, now_ms - int(at)), json.loads(record)


@dataclass(frozen=True, slots=True)
class PushCounts:
    """Of one endpoint, or several. `in_flight`: requests now. Since the process began: deliveries that succeeded and
    failed, jobs given back without an outcome, and the sum of the time that deliveries took, in ms."""

    in_flight: int = 0
    delivered: int = 0
    failed: int = 0
    returned: int = 0
    run_ms: int = 0

    def plus(self, other: PushCounts) -> PushCounts:
        """Both together."""
        return PushCounts(*[one + another for one, another in zip(astuple(self), astuple(other), strict=True)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PusherBeat:
    """A pusher process. `age_ms`: since its beat; 0 when it is sent. `queues`: namespace/queue → counts."""

    pusher: str
    up_ms: int
    endpoints: int
    queues: Mapping[str, PushCounts] = field(default_factory=dict)
    age_ms: int = 0


def pack_pusher(beat: PusherBeat) -> bytes:
    """The record as lua/beat.lua keeps it. Endpoints that find no room in it are added up as OTHER_ENDPOINTS."""
    kept: dict[str, tuple[int, ...]] = {}
    other = PushCounts()
    room = PUSHER_RECORD_MAX_BYTES
    for name, counts in beat.queues.items():
        room -= len(name) + 60
        if room > 0 and name != OTHER_ENDPOINTS:
            kept[name] = astuple(counts)
        else:
            other = other.plus(counts)
    if other != PushCounts():
        kept[OTHER_ENDPOINTS] = astuple(other)
    content = {"up_ms": beat.up_ms, "endpoints": beat.endpoints, "queues": kept}
    return json.dumps(content, separators=(",", ":")).encode()


def unpack_pusher(pusher: bytes, entry: bytes, now_ms: int) -> PusherBeat | None:
    """An entry of lua/list_pumps.lua; None if this version cannot read it."""
    try:
        age_ms, content = _read(entry, now_ms)
        return PusherBeat(
            pusher=pusher.decode("utf-8", "replace"),
            up_ms=int(content["up_ms"]) + age_ms,
            endpoints=int(content["endpoints"]),
            queues={str(name): PushCounts(*map(int, counts)) for name, counts in content["queues"].items()},
            age_ms=age_ms,
        )
    except _UNREADABLE:
        return None
