"""All queues that a person may see, as rows: filtered, sorted by any column, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils import timezone

from queues.engine import FoundQueue, Minute
from queues.engine.errors import TaskqError
from queues.models import IncidentSeverity

from ..incidents.findings import Finding
from ..incidents.queue_findings import find_in_queues
from ..incidents.severity import RANKS, impact_of, severity_of, worst_of
from ..incidents.wording import title_of
from ..permissions import User
from .chart_data import histories_of_queues
from .muted_letters import read_muted
from .objectives import read_objectives
from .visible_queues import PoolSurvey, VisiblePool, VisiblePools, visible_pools

PAGE_QUEUES: Final = 50
SPARK_MINUTES: Final = 30

Key = Callable[["QueueRow"], Any]

NAME: Final = "name"
SORT_KEYS: Final[Mapping[str, Key]] = {
    NAME: lambda row: row.place,
    "attention": lambda row: row.trouble,
    "ready": lambda row: row.queue.ready,
    "delayed": lambda row: row.queue.delayed,
    "retry": lambda row: row.queue.retry,
    "working": lambda row: row.queue.working,
    "dead": lambda row: row.queue.dead,
    "completed": lambda row: row.queue.completed,
    "oldest": lambda row: -1 if row.oldest_ms is None else row.oldest_ms,
    "published": lambda row: row.queue.published_per_s,
    "consumed": lambda row: row.queue.consumed_per_s,
    "acked": lambda row: row.queue.acked_per_s,
    "failed": lambda row: row.queue.failed_per_s,
    "wait_p50": lambda row: row.queue.wait_p50 or 0,
    "wait_p95": lambda row: row.queue.wait_p95 or 0,
    "wait_p99": lambda row: row.queue.wait_p99 or 0,
    "run_p50": lambda row: row.queue.run_p50 or 0,
    "run_p95": lambda row: row.queue.run_p95 or 0,
    "run_p99": lambda row: row.queue.run_p99 or 0,
}
"""What rows can be sorted by."""

STATES: Final[Mapping[str, Callable[[QueueRow], bool]]] = {
    "attention": lambda row: row.severity in (IncidentSeverity.CRITICAL, IncidentSeverity.WARNING),
    "paused": lambda row: row.queue.paused,
    "ready": lambda row: row.queue.ready > 0,
    "delayed": lambda row: row.queue.delayed > 0,
    "retry": lambda row: row.queue.retry > 0,
    "working": lambda row: row.queue.working > 0,
    "dead": lambda row: row.queue.dead > 0,
    "completed": lambda row: row.queue.completed > 0,
    "blocked": lambda row: row.queue.blocked > 0,
    "grouped": lambda row: row.queue.grouped > 0,
    "idle": lambda row: not (row.queue.size or row.queue.consumed_per_s or row.queue.published_per_s),
}
"""What rows can be narrowed to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something that is wrong with a queue now."""

    kind: str
    severity: IncidentSeverity
    impact: float

    @property
    def title(self) -> str:
        return title_of(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue. `oldest_ms`: age of its oldest ready job when its pool was read. `troubles`: what is wrong with it."""

    pool: str
    queue: FoundQueue
    oldest_ms: int | None
    troubles: tuple[Trouble, ...] = ()

    @property
    def place(self) -> tuple[str, str, str]:
        return (self.pool, self.queue.namespace, self.queue.queue)

    @property
    def severity(self) -> IncidentSeverity | None:
        """That of the worst."""
        return worst_of(trouble.severity for trouble in self.troubles)

    @property
    def trouble(self) -> tuple[int, float]:
        """The greater, the worse."""
        if self.severity is None:
            return (0, 0.0)
        return (len(RANKS) - RANKS[self.severity], max(trouble.impact for trouble in self.troubles))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFilter:
    """`text`: part of the name, any case. `namespace`: `pool/name`. `state`: one of STATES. "": all. Pages from 1."""

    text: str = ""
    namespace: str = ""
    state: str = ""
    sort: str = NAME
    descending: bool = False
    page: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueList:
    """A page of rows. `trends`: minutes by place. `matching` of `total` queues fit the filter."""

    visible: VisiblePools
    rows: Sequence[QueueRow]
    trends: Mapping[tuple[str, str, str], Sequence[Minute]]
    page: int
    pages: int
    matching: int
    total: int

    @property
    def previous(self) -> int:
        return self.page - 1

    @property
    def next(self) -> int:
        return self.page + 1

    @property
    def first(self) -> int:
        """Place of the first row among those that match, from 1."""
        return (self.page - 1) * PAGE_QUEUES + 1 if self.rows else 0

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1 if self.rows else 0


def list_queue_rows(*, user: User, wanted: QueueFilter) -> QueueList:
    """One round trip to each pool for the survey (none if it was read lately), one for the trends of the page's queues.

    A page beyond the last is the last. Raises MetadataUnavailableError.
    """
    visible = visible_pools(user=user)
    rows = [row for view in visible.pools for row in _rows(view)]
    matching = _narrow(rows, wanted)
    # By name first: the sort is stable, so what is equal stays in order of names.
    matching.sort(key=SORT_KEYS[NAME])
    if wanted.sort != NAME or wanted.descending:
        matching.sort(key=SORT_KEYS[wanted.sort], reverse=wanted.descending)
    pages = max(1, -(-len(matching) // PAGE_QUEUES))
    page = min(max(1, wanted.page), pages)
    shown = matching[(page - 1) * PAGE_QUEUES : page * PAGE_QUEUES]
    return QueueList(
        visible=visible,
        rows=shown,
        trends=_trends(shown),
        page=page,
        pages=pages,
        matching=len(matching),
        total=len(rows),
    )


def _rows(view: VisiblePool) -> list[QueueRow]:
    survey = view.survey
    if survey is None:
        return []
    troubles = _troubles(survey, view)
    return [
        QueueRow(
            pool=view.pool,
            queue=queue,
            oldest_ms=queue.oldest_ready_ms(survey.read_at_ms),
            troubles=troubles.get((queue.namespace, queue.queue), ()),
        )
        for queue in view.queues
    ]


def _troubles(survey: PoolSurvey, view: VisiblePool) -> Mapping[tuple[str, str], tuple[Trouble, ...]]:
    """By namespace and queue. Nothing is known from an old survey but that it is old."""
    if not survey.is_current:
        return {}
    now = timezone.now()
    objective = read_objectives(pool=survey.pool).of
    found: dict[tuple[str, str], list[Trouble]] = {}
    muted = read_muted(pool=survey.pool).of
    for one in find_in_queues(
        view.queues, pool=survey.pool, read_at_ms=survey.read_at_ms, now=now, objective=objective, muted=muted
    ):
        found.setdefault((one.namespace, one.queue), []).append(_trouble(one, now))
    return {place: tuple(troubles) for place, troubles in found.items()}


def _trouble(finding: Finding, now: datetime) -> Trouble:
    return Trouble(kind=finding.kind.value, severity=severity_of(finding, now=now), impact=impact_of(finding, now=now))


def _narrow(rows: Sequence[QueueRow], wanted: QueueFilter) -> list[QueueRow]:
    text = wanted.text.lower()
    pool, _, namespace = wanted.namespace.partition("/")
    is_in_state = STATES.get(wanted.state)
    return [
        row
        for row in rows
        if (not text or text in row.queue.queue.lower() or text in f"{row.queue.namespace}/{row.queue.queue}".lower())
        and (not wanted.namespace or (row.pool, row.queue.namespace) == (pool, namespace))
        and (is_in_state is None or is_in_state(row))
    ]


def _trends(rows: Sequence[QueueRow]) -> Mapping[tuple[str, str, str], Sequence[Minute]]:
    """Of each pool in one round trip. A pool that went away a moment ago has none."""
    by_pool: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        by_pool.setdefault(row.pool, []).append((row.queue.namespace, row.queue.queue))
    found: dict[tuple[str, str, str], Sequence[Minute]] = {}
    for pool, queues in by_pool.items():
        try:
            histories = histories_of_queues(pool=pool, queues=queues, minutes=SPARK_MINUTES)
        except TaskqError:
            continue
        found.update({(pool, *place): minutes for place, minutes in histories.items()})
    return found
