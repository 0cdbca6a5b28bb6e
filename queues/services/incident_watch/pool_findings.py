"""What is wrong with a pool, by its latest survey, or because it has none.

| kind | facts |
| --- | --- |
| redis_away, redis_unusable | `trouble`: what the error says; for superusers |
| redis_full | `percent` |
| pump_away | `silent_s`: since a pump was last heard of; 0: never |
| pump_late | `behind_s` |
| events_dropped | `ago_s` |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from queues.engine import FoundQueue
from queues.engine.errors import StoreUnavailableError, TaskqError
from queues.models import IncidentKind

from ..incidents.findings import Finding, Look
from ..incidents.queue_findings import QUEUE_KINDS, find_in_queues
from ..queues.muted_letters import read_muted
from ..queues.objectives import read_objectives
from ..queues.visible_queues import PoolSurvey

PUMP_LATE_MS: Final = 5_000

MEMORY_SHARE: Final = 0.9
"""Of the bound that is set for a Redis, if one is."""

EVENTS_DROPPED_MS: Final = 86_400_000
"""For so long after events were dropped they are an incident: the day's report lacks them. After so long without drops
`events_dropped_lately` begins anew (queues/engine/lua/lib/events.lua)."""

REDIS_KINDS: Final = frozenset({IncidentKind.REDIS_AWAY, IncidentKind.REDIS_UNUSABLE})
PUMP_KINDS: Final = frozenset({IncidentKind.PUMP_AWAY, IncidentKind.PUMP_LATE, IncidentKind.EVENTS_DROPPED})
SURVEYED_KINDS: Final = frozenset({IncidentKind.REDIS_FULL, *QUEUE_KINDS})
"""Only a survey that is current says anything about these."""


def look_at_pool(*, pool: str, survey: PoolSurvey | TaskqError, now: datetime, known_jobs: int = 0) -> Look:
    """What is wrong with a pool and all its queues. `known_jobs`: how many it had when it last answered.

    Raises MetadataUnavailableError.
    """
    if isinstance(survey, TaskqError):
        is_away = isinstance(survey, StoreUnavailableError)
        finding = finding_of_silence(pool=pool, is_away=is_away, trouble=str(survey), now=now, known_jobs=known_jobs)
        return Look(pool=pool, kinds=REDIS_KINDS, findings=(finding,))
    kinds = REDIS_KINDS | PUMP_KINDS
    findings = [*find_in_pool(survey, now=now)]
    if survey.is_current:
        kinds |= SURVEYED_KINDS
        for queues in survey.queues.values():
            findings += find_in_surveyed(survey, queues, now=now)
    return Look(pool=pool, kinds=kinds, findings=tuple(findings))


def find_in_surveyed(survey: PoolSurvey, queues: Iterable[FoundQueue], *, now: datetime) -> Iterator[Finding]:
    """What is wrong with some of a pool's queues. Nothing if the survey is old: that is what is wrong then."""
    if not survey.is_current:
        return iter(())
    objectives = read_objectives(pool=survey.pool)
    return find_in_queues(
        queues,
        pool=survey.pool,
        read_at_ms=survey.read_at_ms,
        now=now,
        objective=objectives.of,
        muted=read_muted(pool=survey.pool).of,
    )


def finding_of_silence(*, pool: str, is_away: bool, trouble: str, now: datetime, known_jobs: int = 0) -> Finding:
    """Of a pool whose Redis does not answer (`is_away`), or answers with a fault."""
    return Finding(
        kind=IncidentKind.REDIS_AWAY if is_away else IncidentKind.REDIS_UNUSABLE,
        pool=pool,
        size=known_jobs,
        since=now,
        facts={"trouble": trouble},
    )


def find_in_pool(survey: PoolSurvey, *, now: datetime) -> Iterator[Finding]:
    """What is wrong with a pool that answers, apart from its queues."""
    pool = survey.pool
    if not survey.live_pumps:
        silent_ms = min((pump.age_ms for pump in survey.pumps), default=0)
        waiting = sum(all_.delayed + all_.retry + all_.working for all_ in survey.totals.values())
        yield Finding(
            kind=IncidentKind.PUMP_AWAY,
            pool=pool,
            size=waiting,
            since=now - timedelta(milliseconds=silent_ms),
            facts={"silent_s": silent_ms // 1_000},
        )
    elif survey.behind_ms > PUMP_LATE_MS:
        yield Finding(
            kind=IncidentKind.PUMP_LATE,
            pool=pool,
            size=0,
            since=now - timedelta(milliseconds=survey.behind_ms),
            facts={"behind_s": survey.behind_ms // 1_000},
        )
    store = survey.store
    if store is not None and store.max_memory and store.used_memory > MEMORY_SHARE * store.max_memory:
        share = store.used_memory / store.max_memory
        yield Finding(
            kind=IncidentKind.REDIS_FULL,
            pool=pool,
            size=sum(all_.jobs for all_ in survey.totals.values()),
            share=(share - MEMORY_SHARE) / (1 - MEMORY_SHARE),
            since=now,
            facts={"percent": int(share * 100)},
        )
    dropped = [
        part
        for part in survey.partitions
        if part.events_dropped_at_ms and survey.read_at_ms - part.events_dropped_at_ms < EVENTS_DROPPED_MS
    ]
    if dropped:
        ago_ms = max(0, survey.read_at_ms - max(part.events_dropped_at_ms for part in dropped))
        yield Finding(
            kind=IncidentKind.EVENTS_DROPPED,
            pool=pool,
            size=sum(part.events_dropped_lately for part in dropped),
            since=now - timedelta(milliseconds=ago_ms),
            facts={"ago_s": ago_ms // 1_000},
        )
