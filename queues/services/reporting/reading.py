"""Reads reports for people: of a superuser everything, of others what is about the namespaces that they may see.

A row belongs to the namespace as a row, not to its name; see QueueDay. The rows of a namespace that is gone are for
superusers.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from django.db.models import QuerySet

from queues.models import Namespace, QueueDay, ReportDay
from queues.models.report import ALL_QUEUES
from queues.pools.database import read_metadata

from ..permissions import User, check_visible, sees_everything
from .building import JSON_FIELDS, entry_of, hours_of, report_of, row_of
from .days import DAYS_MAX
from .shapes import QueueReport, QueueRow, SeriesDay

NAMESPACES_MAX: Final = 1_000
"""Namespaces on one page."""


def list_namespaces(*, user: User, day: date) -> tuple[QueueRow, ...]:
    """Sums of the namespaces that `user` may see, by pool and name, at most NAMESPACES_MAX; one query.

    Raises MetadataUnavailableError.
    """
    rows = visible_rows(user).filter(day_id=day, queue=ALL_QUEUES).defer(*JSON_FIELDS).order_by("pool", "namespace")
    return tuple(row_of(row) for row in read_metadata(lambda: list(rows[:NAMESPACES_MAX])))


def read_queue(*, user: User, day: date, pool: str, namespace: str, queue: str = ALL_QUEUES) -> QueueReport | None:
    """All of a queue's day, or of a namespace's. None: no report of that day, or nothing happened there.

    Raises NamespaceNotFoundError for what `user` may not see, MetadataUnavailableError.
    """
    rows = rows_of(user, pool, namespace, queue).filter(day_id=day).select_related("day")
    row = read_metadata(rows.first)
    return None if row is None else report_of(row, entry_of(row.day, for_superuser=sees_everything(user)))


def latest_of_queue(*, user: User, pool: str, namespace: str, queue: str = ALL_QUEUES) -> QueueReport | None:
    """The newest day on which something happened there. Raises as `read_queue`."""
    rows = rows_of(user, pool, namespace, queue).select_related("day").order_by("-day_id")
    row = read_metadata(rows.first)
    return None if row is None else report_of(row, entry_of(row.day, for_superuser=sees_everything(user)))


def read_series(
    *,
    user: User,
    pool: str,
    namespace: str,
    queue: str = ALL_QUEUES,
    until: date,
    days: int,
    with_hours: bool = False,
) -> tuple[SeriesDay, ...]:
    """`days` days up to and with `until`, the earliest first, at most DAYS_MAX, none left out; two queries.

    `with_hours`: for a heat map. Raises NamespaceNotFoundError, MetadataUnavailableError.
    """
    wanted = [until - timedelta(days=back) for back in reversed(range(min(max(days, 1), DAYS_MAX)))]
    left_out = [name for name in JSON_FIELDS if not (with_hours and name == "hours")]
    rows = rows_of(user, pool, namespace, queue).filter(day_id__gte=wanted[0], day_id__lte=until).defer(*left_out)
    found = {row.day_id: row for row in read_metadata(lambda: list(rows))}
    reported = reported_days(wanted[0], until)
    return tuple(
        SeriesDay(
            day=day,
            has_report=day in reported,
            row=row_of(found[day]) if day in found else None,
            hours=hours_of(found[day]) if day in found and with_hours else (),
        )
        for day in wanted
    )


def reported_days(begin: date, end: date) -> frozenset[date]:
    """Which days of a range, ends included, have a report. Raises MetadataUnavailableError."""
    rows = ReportDay.objects.filter(date__range=(begin, end)).exclude(reported_at=None).values_list("date", flat=True)
    return frozenset(read_metadata(lambda: list(rows)))


def visible_rows(user: User) -> QuerySet[QueueDay]:
    """Those that `user` may read, as a query."""
    if sees_everything(user):
        return QueueDay.objects.all()
    return QueueDay.objects.filter(scope__in=Namespace.objects.visible_to(user).order_by().values("pk"))


def rows_of(user: User, pool: str, namespace: str, queue: str) -> QuerySet[QueueDay]:
    """All days of a queue, or of a namespace, as a query. Raises NamespaceNotFoundError."""
    check_visible(user=user, pool=pool, namespace=namespace)
    return visible_rows(user).filter(pool=pool, namespace=namespace, queue=queue)
