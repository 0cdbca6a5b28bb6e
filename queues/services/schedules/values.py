"""What a schedule consists of, as callers give it and as it is shown. Times in ms since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from queues.engine import constants
from queues.models import CatchUp, FireOutcome, Overlap, Schedule, ScheduleFire, ScheduleKind, ScheduleSource

from .rows import optional_ms, to_ms

PREVIEWED: int = 10
"""Fires that are shown before a schedule is saved, and beside it."""

__all__ = [
    "PREVIEWED",
    "CatchUp",
    "Fire",
    "FireOutcome",
    "Overlap",
    "ScheduleFields",
    "ScheduleKind",
    "ScheduleSource",
    "ScheduleState",
    "ScheduleView",
]


class ScheduleState(StrEnum):
    """`ended`: it is never due again."""

    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFields:
    """What can be set. None: of `tries` and `ttl_s` the queue's policy decides; `starts_ms`: the interval counts from
    when it is saved; `paused`: as it is. `backoff` "": the policy's.
    """

    queue: str
    kind: ScheduleKind
    cron: str = ""
    interval_ms: int | None = None
    starts_ms: int | None = None
    at_ms: int | None = None
    zone: str = "UTC"
    body: bytes = b""
    tries: int | None = None
    ttl_s: int | None = None
    priority: int = 0
    backoff: str = ""
    retention_s: int = 0
    attributes: Mapping[str, str] | None = None
    limit_key: str = ""
    catch_up: CatchUp = CatchUp.LAST
    catch_up_max: int = 100
    jitter_s: int = 0
    overlap: Overlap = Overlap.ALLOW
    paused: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    """A row of the history: what became of a due time, or of `count` of them up to `until_ms`."""

    due_ms: int
    until_ms: int | None
    count: int
    manual: bool
    outcome: FireOutcome
    fired_ms: int | None
    queue: str
    job_id: str
    error: str

    @property
    def late_ms(self) -> int | None:
        """How long after its due time it was fired; None if it was not."""
        return None if self.fired_ms is None else max(0, self.fired_ms - self.due_ms)

    @classmethod
    def of(cls, row: ScheduleFire) -> Fire:
        """From its row."""
        return cls(
            due_ms=to_ms(row.due_at),
            until_ms=optional_ms(row.until),
            count=row.count,
            manual=row.manual,
            outcome=FireOutcome(row.outcome),
            fired_ms=optional_ms(row.fired_at),
            queue=row.queue,
            job_id=row.job_id,
            error=row.error,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """A schedule as it is shown. In lists `fields.body` is empty; `body_bytes` says how long it is.

    `next_ms`: when it fires next, jitter included (None: it is paused or has ended). `last`: the newest of its history.
    """

    pool: str
    namespace: str
    name: str
    fields: ScheduleFields
    body_bytes: int
    state: ScheduleState
    source: ScheduleSource
    app: str
    next_ms: int | None
    last: Fire | None
    created_ms: int
    updated_ms: int

    @classmethod
    def of(cls, row: Schedule, last: ScheduleFire | None, *, with_body: bool = False) -> ScheduleView:
        """From its row, with its namespace and pool, and the newest row of its history."""
        return cls(
            pool=row.namespace.pool.name,
            namespace=row.namespace.name,
            name=row.name,
            fields=fields_of(row, with_body=with_body),
            body_bytes=row.body_bytes,
            state=state_of(row),
            source=ScheduleSource(row.source),
            app=row.app,
            next_ms=optional_ms(row.fire_at),
            last=None if last is None else Fire.of(last),
            created_ms=to_ms(row.created),
            updated_ms=to_ms(row.updated),
        )


def state_of(row: Schedule) -> ScheduleState:
    """Whether it fires."""
    if row.paused:
        return ScheduleState.PAUSED
    return ScheduleState.ENDED if row.fire_at is None else ScheduleState.ACTIVE


def fields_of(row: Schedule, *, with_body: bool) -> ScheduleFields:
    """What was set."""
    return ScheduleFields(
        queue=row.queue,
        kind=ScheduleKind(row.kind),
        cron=row.cron,
        interval_ms=row.interval_ms,
        starts_ms=optional_ms(row.starts_at),
        at_ms=optional_ms(row.at),
        zone=row.zone,
        body=bytes(row.body) if with_body else b"",
        tries=row.tries,
        ttl_s=row.ttl_s,
        priority=row.priority,
        backoff=row.backoff,
        retention_s=row.retention_s,
        attributes=row.attributes,
        limit_key=row.limit_key,
        catch_up=CatchUp(row.catch_up),
        catch_up_max=row.catch_up_max,
        jitter_s=row.jitter_s,
        overlap=Overlap(row.overlap),
        paused=row.paused,
    )


BODY_MAX_BYTES = constants.BODY_MAX_BYTES
