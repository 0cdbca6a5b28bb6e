"""What makes a Redis unfit to hold jobs: it must answer, keep every key, and survive a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from django.utils.translation import gettext, gettext_noop

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
    TOO_FEW_REPLICAS = "too_few_replicas"


class AdviceKind(StrEnum):
    """What could be better, though the pool is fit to hold jobs."""

    ALLOCATOR = "allocator"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolProblem:
    """What is wrong, or could be better, and what to do about it: texts in English with places for `facts`.

    None holds a password.

    `text` and `hint` are English, for logs, commands and programs; `shown_text` and `shown_hint` the reader's language.
    """

    kind: ProblemKind | AdviceKind
    wrong: str
    advice: str
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.wrong % self.facts

    @property
    def hint(self) -> str:
        return self.advice % self.facts

    @property
    def shown_text(self) -> str:
        return gettext(self.wrong) % self.facts

    @property
    def shown_hint(self) -> str:
        return gettext(self.advice) % self.facts


def find_problems(store: StoreInfo, *, partitions: int, min_replicas: int) -> tuple[PoolProblem, ...]:
    """The problems of a pool that is meant to have so many partitions, and replicas that confirm publishes."""
    if not store.reachable:
        return (_unreachable(store),)
    candidates = (
        _evicts(store),
        _no_aof(store),
        _layout(store),
        _partitions(store, partitions),
        _too_few_replicas(store, min_replicas),
    )
    return tuple(problem for problem in candidates if problem is not None)


def find_advice(store: StoreInfo) -> tuple[PoolProblem, ...]:
    """What would make a Redis better that is fit, or not, as it is."""
    if store.allocator != "libc":
        return ()
    return (
        PoolProblem(
            kind=AdviceKind.ALLOCATOR,
            wrong=gettext_noop(
                "Redis uses the C library's memory allocator: it hardly ever gives memory back to the system, and "
                "freeing a large key at once (UNLINK, FLUSHDB) can stop it for seconds."
            ),
            advice=gettext_noop(
                "taskq frees in small steps. For other users of this Redis: take one built with jemalloc, or start it "
                "with GLIBC_TUNABLES=glibc.malloc.mxfast=0 in its environment."
            ),
        ),
    )


def _unreachable(store: StoreInfo) -> PoolProblem:
    return PoolProblem(
        kind=ProblemKind.UNREACHABLE,
        wrong=gettext_noop("Redis does not answer: %(error)s"),
        advice=gettext_noop(
            "Start it, or correct the pool's URL. Clients get 503 until then; no published job is lost."
        ),
        facts={"error": store.error},
    )


def _evicts(store: StoreInfo) -> PoolProblem | None:
    """A policy without `maxmemory` evicts nothing yet, but does so the day somebody sets a limit."""
    if store.eviction_policy in ("", None, KEEPS_ALL_KEYS):
        return None
    now = gettext_noop("Redis may delete jobs: maxmemory-policy is %(policy)s, which evicts keys at %(most)s bytes.")
    later = gettext_noop(
        "Redis may delete jobs: maxmemory-policy is %(policy)s, which evicts keys as soon as maxmemory is set."
    )
    return PoolProblem(
        kind=ProblemKind.EVICTS,
        wrong=now if store.max_memory else later,
        advice=gettext_noop(
            "Set `maxmemory-policy noeviction` in redis.conf. A full Redis then refuses publishes, and loses nothing."
        ),
        facts={"policy": store.eviction_policy, "most": f"{store.max_memory or 0:,}"},
    )


def _no_aof(store: StoreInfo) -> PoolProblem | None:
    if store.aof is not False:
        return None
    return PoolProblem(
        kind=ProblemKind.NO_AOF,
        wrong=gettext_noop("Redis forgets jobs when it restarts: its append-only file is off."),
        advice=gettext_noop(
            "Set `appendonly yes` in redis.conf (`CONFIG SET appendonly yes` turns it on while Redis runs)."
        ),
    )


def _layout(store: StoreInfo) -> PoolProblem | None:
    if store.layout_version in (None, LAYOUT_VERSION):
        return None
    return PoolProblem(
        kind=ProblemKind.LAYOUT,
        wrong=gettext_noop("The data has layout version %(found)s; this taskq reads version %(known)s."),
        advice=gettext_noop("Use the taskq that wrote it, or another Redis database for this pool."),
        facts={"found": store.layout_version, "known": LAYOUT_VERSION},
    )


def _partitions(store: StoreInfo, expected: int) -> PoolProblem | None:
    if store.partitions in (None, expected):
        return None
    return PoolProblem(
        kind=ProblemKind.PARTITIONS,
        wrong=gettext_noop("The data is spread over %(found)s partitions; this pool is meant to have %(meant)s."),
        advice=gettext_noop("Add the pool anew with %(found)s partitions, or use another Redis database for it."),
        facts={"found": store.partitions, "meant": expected},
    )


def _too_few_replicas(store: StoreInfo, wanted: int) -> PoolProblem | None:
    if store.replicas is None or store.replicas >= wanted:
        return None
    return PoolProblem(
        kind=ProblemKind.TOO_FEW_REPLICAS,
        wrong=gettext_noop(
            "Too few replicas, so publishes are answered 503: %(wanted)s must confirm each, %(found)s connected."
        ),
        advice=gettext_noop(
            "Connect more replicas (`INFO replication` lists them), or lower the pool's minimum of replicas."
        ),
        facts={"wanted": wanted, "found": store.replicas},
    )
