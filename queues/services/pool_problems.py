"""What makes a Redis unfit to hold jobs: it must answer, keep every key, and survive a restart."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from queues.engine import StoreInfo
from queues.engine.keys import LAYOUT_VERSION

KEEPS_ALL_KEYS: Final = "noeviction"


class ProblemKind(StrEnum):
    """Stable words for logs and `--json`."""

    UNREACHABLE = "unreachable"
    EVICTS = "evicts"
    NO_AOF = "no_aof"
    LAYOUT = "layout"
    PARTITIONS = "partitions"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolProblem:
    """`text` says what is wrong, `hint` what to do about it. Plain text in English; neither holds a password."""

    kind: ProblemKind
    text: str
    hint: str


def find_problems(store: StoreInfo, *, partitions: int) -> tuple[PoolProblem, ...]:
    """The problems of a pool that is meant to have so many partitions."""
    if not store.reachable:
        return (_unreachable(store),)
    candidates = (_evicts(store), _no_aof(store), _layout(store), _partitions(store, partitions))
    return tuple(problem for problem in candidates if problem is not None)


def _unreachable(store: StoreInfo) -> PoolProblem:
    return PoolProblem(
        kind=ProblemKind.UNREACHABLE,
        text=f"Redis does not answer: {store.error}",
        hint="Start it, or correct the pool's URL. Clients get 503 meanwhile; published jobs are where they were.",
    )


def _evicts(store: StoreInfo) -> PoolProblem | None:
    """A policy without `maxmemory` evicts nothing yet, but does so the day somebody sets a limit."""
    if store.eviction_policy in ("", None, KEEPS_ALL_KEYS):
        return None
    limit = f"at {store.max_memory:,} bytes" if store.max_memory else "as soon as maxmemory is set"
    return PoolProblem(
        kind=ProblemKind.EVICTS,
        text=f"Redis may delete jobs: maxmemory-policy is {store.eviction_policy}, which evicts keys {limit}.",
        hint="Set `maxmemory-policy noeviction` in redis.conf. A full Redis then refuses publishes, and loses nothing.",
    )


def _no_aof(store: StoreInfo) -> PoolProblem | None:
    if store.aof is not False:
        return None
    return PoolProblem(
        kind=ProblemKind.NO_AOF,
        text="Redis forgets jobs when it restarts: its append-only file is off.",
        hint="Set `appendonly yes` in redis.conf (`CONFIG SET appendonly yes` turns it on while Redis runs).",
    )


def _layout(store: StoreInfo) -> PoolProblem | None:
    if store.layout_version in (None, LAYOUT_VERSION):
        return None
    return PoolProblem(
        kind=ProblemKind.LAYOUT,
        text=f"The data has layout version {store.layout_version}; this taskq reads version {LAYOUT_VERSION}.",
        hint="Use the taskq that wrote it, or another Redis database for this pool.",
    )


def _partitions(store: StoreInfo, expected: int) -> PoolProblem | None:
    if store.partitions in (None, expected):
        return None
    return PoolProblem(
        kind=ProblemKind.PARTITIONS,
        text=f"The data is spread over {store.partitions} partitions; this pool is meant to have {expected}.",
        hint=f"Add the pool anew with {store.partitions} partitions, or use another Redis database for it.",
    )
