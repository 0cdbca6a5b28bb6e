"""What a pump says of itself, once a second, in its pool's Redis.

Durations only, so that no host's clock matters: when a beat came is for the Redis server's clock to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


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
    at, _, record = entry.partition(b" ")
    try:
        age_ms = max(0, now_ms - int(at))
        content: dict[str, Any] = json.loads(record)
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
    except (ValueError, KeyError, TypeError):
        return None
