"""Open incidents as a reader sees them now: those that are recorded, with the numbers of this moment, and what is found
that is not recorded yet. So a page says what is wrong also where no watch runs, or the watch has yet to look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from queues.engine.constants import TREND_MINUTES

from ..incidents.findings import Finding
from ..incidents.lines import IncidentLine, OpenIncidents, lines_of_now
from ..incidents.reading import open_rows, open_rows_of_queue, with_roles
from ..permissions import User, sees_everything
from ..queues.minute_history import history_of_queue
from ..queues.visible_queues import PoolSurvey, VisiblePool, VisiblePools, read_pool_surveys
from .pool_findings import find_in_pool, find_in_surveyed, finding_of_silence


def read_open_incidents(*, user: User, visible: VisiblePools) -> OpenIncidents:
    """All that are open for `user`. `visible`: what they see. Raises MetadataUnavailableError."""
    now = timezone.now()
    rows, left_out = open_rows(user=user)
    findings = [finding for view in visible.pools for finding in _find(view, now)]
    lines = lines_of_now(rows, findings, now=now, sees_all=visible.sees_everything)
    return OpenIncidents(lines=tuple(with_roles(lines, user=user)), left_out=left_out)


def read_queue_incidents(*, user: User, pool: str, namespace: str, queue: str) -> tuple[IncidentLine, ...]:
    """Those of one queue, and of its pool, in order. The caller has checked that `user` may see it."""
    now = timezone.now()
    rows = open_rows_of_queue(pool=pool, namespace=namespace, queue=queue)
    survey = read_pool_surveys(pools=[pool])[pool]
    findings: list[Finding] = []
    if isinstance(survey, PoolSurvey):
        mine = [found for found in survey.queues.get(namespace, ()) if found.queue == queue]
        findings = [*find_in_surveyed(survey, mine, now=now), *find_in_pool(survey, now=now)]
    lines = lines_of_now(rows, findings, now=now, sees_all=sees_everything(user))
    return tuple(with_roles(lines, user=user))


def _find(view: VisiblePool, now: datetime) -> Iterator[Finding]:
    survey = view.survey
    if survey is None:
        yield finding_of_silence(pool=view.pool, is_away=view.is_away, trouble=view.trouble, now=now)
        return
    yield from find_in_pool(survey, now=now)
    yield from find_in_surveyed(survey, view.queues, now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastConsumed:
    """When a job of a queue was last delivered, to the minute. `at_ms` None: not within the last `minutes`."""

    at_ms: int | None
    minutes: int


def read_last_consumed(*, pool: str, namespace: str, queue: str) -> LastConsumed:
    """By the minutes that surveys recorded. One round trip. Raises StoreUnavailableError."""
    minutes = history_of_queue(pool=pool, namespace=namespace, queue=queue, minutes=TREND_MINUTES).minutes
    at_ms = max((minute.at_ms for minute in minutes if minute.consumed), default=None)
    return LastConsumed(at_ms=at_ms, minutes=TREND_MINUTES)
