"""What a pusher says of itself, once a second, in its pool's Redis. Durations only, as of pumps (`heartbeat`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Final

RECORD_MAX_BYTES: Final = 32 * 1024
OTHER: Final = ""
"""Stands for the endpoints that found no room in a beat, added up."""


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
    """The record as lua/beat.lua keeps it. Endpoints that find no room in it are added up as OTHER."""
    kept: dict[str, tuple[int, ...]] = {}
    other = PushCounts()
    room = RECORD_MAX_BYTES
    for name, counts in beat.queues.items():
        room -= len(name) + 60
        if room > 0 and name != OTHER:
            kept[name] = astuple(counts)
        else:
            other = other.plus(counts)
    if other != PushCounts():
        kept[OTHER] = astuple(other)
    content = {"up_ms": beat.up_ms, "endpoints": beat.endpoints, "queues": kept}
    return json.dumps(content, separators=(",", ":")).encode()


def unpack_pusher(pusher: bytes, entry: bytes, now_ms: int) -> PusherBeat | None:
    """An entry of lua/list_pumps.lua; None if this version cannot read it."""
    at, _, record = entry.partition(b" ")
    try:
        age_ms = max(0, now_ms - int(at))
        content: dict[str, Any] = json.loads(record)
        beat = PusherBeat(
            pusher=pusher.decode("utf-8", "replace"),
            up_ms=int(content["up_ms"]) + age_ms,
            endpoints=int(content["endpoints"]),
            queues={str(name): PushCounts(*map(int, counts)) for name, counts in content["queues"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return replace(beat, age_ms=age_ms)
