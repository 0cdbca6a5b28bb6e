"""All queues that a person may see, as rows: filtered, sorted by any column, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log2
from typing import Any, Final, NamedTuple

from django.utils import timezone

from queues.engine import FoundQueue, Minute
from queues.engine.errors import TaskqError
from queues.models import IncidentSeverity

from ..incidents.findings import Finding
from ..incidents.queue_findings import find_in_queues
from ..incidents.severity import RANKS, impact_of, severity_of
from ..incidents.wording import title_of
from ..permissions import User
from .minute_history import histories_of_queues
from .muted_letters import read_muted
from .objectives import Objectives, read_objectives
from .visible_queues import PoolSurvey, VisiblePool, VisiblePools, visible_pools

PAGE_QUEUES: Final = 50
SPARK_MINUTES: Final = 30

Key = Callable[["QueueRow"], Any]

NAME: Final = "name"
SEVERITY: Final = "attention"
SORT_KEYS: Final[Mapping[str, Key]] = {
    NAME: lambda row: row.place,
    SEVERITY: lambda row: row.trouble,
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
    "failing": lambda row: -1 if row.failing is None else row.failing,
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
    "idle": lambda row: row.is_idle,
}
"""What rows can be narrowed to."""


class Trouble(NamedTuple):
    """Something that is wrong with a queue now."""

    kind: str
    severity: IncidentSeverity
    impact: float

    @property
    def title(self) -> str:
        return title_of(self.kind)


class QueueRow(NamedTuple):
    """A queue; a tuple, for there are thousands of them.

    `oldest_ms`: age of its oldest ready job when its pool was read. `troubles`: what is wrong with it, the worst
    first. `is_current`: whether its survey tells what goes on now.
    """

    pool: str
    queue: FoundQueue
    oldest_ms: int | None
    objective_ms: int
    troubles: tuple[Trouble, ...] = ()
    is_current: bool = True

    @property
    def place(self) -> tuple[str, str, str]:
        return (self.pool, self.queue.namespace, self.queue.queue)

    @property
    def severity(self) -> IncidentSeverity | None:
        """That of the worst."""
        return self.troubles[0].severity if self.troubles else None

    @property
    def trouble(self) -> tuple[int, int]:
        """The greater, the worse. Impacts of about one size are equal: rows do not change places all the time."""
        if self.severity is None:
            return (0, 0)
        return (len(RANKS) - RANKS[self.severity], round(log2(1 + max(trouble.impact for trouble in self.troubles))))

    @property
    def failing(self) -> float | None:
        """The share of attempts that failed, of those that were acked or failed in the last minute; None: there were
        none."""
        ended = self.queue.acked_per_s + self.queue.failed_per_s
        return self.queue.failed_per_s / ended if ended else None

    @property
    def is_late(self) -> bool:
        """Whether its oldest ready job has waited for longer than the objective."""
        return self.oldest_ms is not None and self.oldest_ms > self.objective_ms

    @property
    def is_idle(self) -> bool:
        """It holds no job, and gets and delivers none."""
        return not (self.queue.size or self.queue.consumed_per_s or self.queue.published_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFilter:
    """`text`: part of the name, any case. `namespace`: `pool/name`. `state`: one of STATES. "": all. Pages from 1."""

    text: str = ""
    namespace: str = ""
    state: str = ""
    sort: str = SEVERITY
    descending: bool = True
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
    objectives = read_objectives(pool=view.pool)
    is_current = survey.is_current  # of an old one nothing is known but that it is old
    troubles = _troubles(survey, view, objectives) if is_current else {}
    return [
        QueueRow(
            pool=view.pool,
            queue=queue,
            oldest_ms=queue.oldest_ready_ms(survey.read_at_ms),
            objective_ms=objectives.of(queue.namespace, queue.queue),
            troubles=troubles.get((queue.namespace, queue.queue), ()),
            is_current=is_current,
        )
        for queue in view.queues
    ]


def _troubles(
    survey: PoolSurvey, view: VisiblePool, objectives: Objectives
) -> Mapping[tuple[str, str], tuple[Trouble, ...]]:
    """By namespace and queue, the worst first."""
    now = timezone.now()
    found: dict[tuple[str, str], list[Trouble]] = {}
    muted = read_muted(pool=survey.pool).of
    for one in find_in_queues(
        view.queues, pool=survey.pool, read_at_ms=survey.read_at_ms, now=now, objective=objectives.of, muted=muted
    ):
        found.setdefault((one.namespace, one.queue), []).append(_trouble(one, now))
    return {place: tuple(sorted(troubles, key=_by_severity)) for place, troubles in found.items()}


def _by_severity(trouble: Trouble) -> tuple[int, float]:
    return (RANKS[trouble.severity], -trouble.impact)


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
