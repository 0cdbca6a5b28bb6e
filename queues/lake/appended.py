"""How many events Redis has appended to a pool's streams on a day, by its own count: a file for each pool and day.

    LAKE/_appended/date=2026-11-21/POOL.json    {"pool": "POOL", "events": 12, "partitions": [5, 7]}

It is written when the day is over, and says what a report holds the lake against (`reconciliation`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from .names import day_dir, pool_in_name
from .storage import Storage

APPENDED: Final = "_appended"
_SUFFIX: Final = ".json"


class AppendedOnDay(NamedTuple):
    """`events` by pool, as file names have it; `damaged`: files that do not say it, and why."""

    events: Mapping[str, int]
    damaged: Sequence[tuple[str, str]]


def write_appended(storage: Storage, pool: str, day: date, partitions: Sequence[int]) -> bool:
    """Note how many events each partition of a pool has appended on a day. False: that has been noted. Raises
    LakeError."""
    content = {"pool": pool, "events": sum(partitions), "partitions": list(partitions)}
    return storage.put(f"{appended_dir(day)}/{pool_in_name(pool)}{_SUFFIX}", json.dumps(content).encode())


def read_appended(storage: Storage, day: date) -> AppendedOnDay:
    """What was noted of a day. Raises LakeError if the lake cannot be read."""
    events: dict[str, int] = {}
    damaged: list[tuple[str, str]] = []
    for entry in storage.list(appended_dir(day)):
        if entry.name.startswith(".") or not entry.name.endswith(_SUFFIX):
            continue
        path, pool = f"{appended_dir(day)}/{entry.name}", entry.name.removesuffix(_SUFFIX)
        try:
            events[pool] = _events_in(json.loads(storage.read(path)), pool)
        except FileNotFoundError:
            continue
        except (ValueError, TypeError, KeyError):
            damaged.append((storage.url(path), "is damaged: it does not say how many events there were"))
    return AppendedOnDay(events, damaged)


def appended_dir(day: date) -> str:
    """Where the files of a day are, below the lake."""
    return f"{APPENDED}/{day_dir(day)}"


def _events_in(content: Any, pool: str) -> int:
    """The number is there twice, as a sum and in parts. Raises ValueError, TypeError, KeyError."""
    events, parts = content["events"], content["partitions"]
    if pool_in_name(content["pool"]) != pool or sum(parts) != events or not all(type(part) is int for part in parts):
        raise ValueError(content)
    return int(events)
