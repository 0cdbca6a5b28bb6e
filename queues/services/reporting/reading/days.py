"""Which days have a report or are meant by a command, and how the latest report stands."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.utils import timezone

from queues.lake.local_days import find_zone, last_utc_day
from queues.models import Namespace, ReportDay, ReportState
from queues.models.report import ALL_QUEUES
from queues.pools.database import read_metadata

from ....pools.ttl_cache import Recent
from ...permissions import User, sees_everything
from ..failures import BadRangeError
from ..values import DayEntry, DayState, LatestReport
from .day_reports import DAYS_MAX, entry_of, entry_of_row, local_entry, rows_of


def list_days(*, user: User, most: int = DAYS_MAX) -> tuple[DayEntry, ...]:
    """Every day from the newest to the oldest that is known, the newest first, at most `most`; one query.

    The newest is yesterday, or today if a report of it was asked for. Days between that nobody has computed are
    MISSING. Empty if there was never a run. Raises MetadataUnavailableError.
    """
    rows = ReportDay.objects.order_by("-date")[: max(most, 1)]
    found = {row.date: row for row in read_metadata(lambda: list(rows))}
    if not found:
        return ()
    newest = max(*found, yesterday())
    days = [newest - timedelta(days=back) for back in range((newest - min(found)).days + 1)]
    every = sees_everything(user)
    return tuple(
        entry_of(found[day], for_superuser=every) if day in found else DayEntry(day=day, state=DayState.MISSING)
        for day in days[:most]
    )


def find_day(*, user: User, day: date, pool: str = "", namespace: str = "") -> DayEntry:
    """That day; MISSING if nobody has computed it. `pool`, `namespace`: that day in its time zone.

    Raises NamespaceNotFoundError, MetadataUnavailableError.
    """
    if namespace and (zone := time_zone_on(pool=pool, namespace=namespace, day=day)):
        rows = rows_of(user, pool, namespace, ALL_QUEUES).filter(local_date=day).select_related("day")
        own = read_metadata(rows.first)
        if own is not None:
            return entry_of_row(own, for_superuser=sees_everything(user))
        row = read_metadata(ReportDay.objects.filter(pk=last_utc_day(day, find_zone(zone)), complete=True).first)
        if row is None or row.reported_at is None:
            return DayEntry(day=day, state=DayState.MISSING, time_zone=zone)
        every = sees_everything(user)
        return local_entry(entry_of(row, for_superuser=every), day=day, time_zone=zone, for_superuser=every)
    row = read_metadata(ReportDay.objects.filter(pk=day).first)
    if row is None:
        return DayEntry(day=day, state=DayState.MISSING)
    return entry_of(row, for_superuser=sees_everything(user))


def latest_day(*, user: User) -> DayEntry | None:
    """The newest day that has a report which can be read. Raises MetadataUnavailableError."""
    row = read_metadata(ReportDay.objects.exclude(reported_at=None).order_by("-date").first)
    return None if row is None else entry_of(row, for_superuser=sees_everything(user))


def latest_report(*, user: User) -> LatestReport:
    """The latest report, and what is going on; three short queries. Raises MetadataUnavailableError."""
    latest = latest_day(user=user)
    every = sees_everything(user)
    since = latest.day if latest else date.min
    newer = ReportDay.objects.filter(date__gte=since).exclude(state=ReportState.DONE).order_by("-date")[:DAYS_MAX]
    entries = [entry_of(row, for_superuser=every) for row in read_metadata(lambda: list(newer))]
    running_row = read_metadata(ReportDay.objects.filter(state=ReportState.RUNNING).order_by("-date").first)
    running = None if running_row is None else entry_of(running_row, for_superuser=every)
    age = None if latest is None or latest.reported_at is None else timezone.now() - latest.reported_at
    return LatestReport(
        entry=latest,
        age_s=None if age is None else age.total_seconds(),
        trouble=next((one for one in entries if one.state == DayState.FAILED or one.is_stalled), None),
        running=running if running and not running.is_stalled else None,
    )


def time_zones_on(*, pool: str, namespace: str, days: Iterable[date]) -> dict[date, str]:
    """The time zones of a namespace's reports of these days; "" is UTC. Raises MetadataUnavailableError."""
    found = read_metadata(Namespace.objects.filter(pool__name=pool, name=namespace).first)
    return {day: "" if found is None else found.time_zone_on(day) for day in days}


def time_zone_on(*, pool: str, namespace: str, day: date) -> str:
    """The same of one day."""
    return time_zones_on(pool=pool, namespace=namespace, days=[day])[day]


def local_today(*, pool: str, namespace: str) -> date:
    """The day that it is in the time zone of a namespace. Raises MetadataUnavailableError."""
    zone = time_zone_on(pool=pool, namespace=namespace, day=today())
    return datetime.now(find_zone(zone)).date() if zone else today()


def today() -> date:
    """The UTC day that it is."""
    return datetime.now(UTC).date()


def yesterday() -> date:
    """The UTC day that ended last."""
    return today() - timedelta(days=1)


RANGE_MAX: Final = 366
"""Days of one command."""


def parse_day(text: str) -> date:
    """`2026-11-21`. Raises BadRangeError."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BadRangeError(f"{text} is no date: expected YYYY-MM-DD, such as {yesterday()}") from None


def days_between(*, begin: date, end: date) -> list[date]:
    """Both included, the earliest first. Raises BadRangeError if there are none, too many, or some in the future."""
    if begin > end:
        raise BadRangeError(f"{begin} is after {end}: nothing to report")
    if end > today():
        raise BadRangeError(f"{end} has not begun yet (it is {today()} UTC): there is nothing to report")
    count = (end - begin).days + 1
    if count > RANGE_MAX:
        raise BadRangeError(f"{begin} to {end} are {count} days; at most {RANGE_MAX} can be reported at once")
    return [begin + timedelta(days=number) for number in range(count)]


FOR_S: Final = 5.0

_latest: Recent[bool, LatestReport] = Recent(FOR_S)


def read_latest_report(*, user: User) -> LatestReport:
    """As `latest_report`, up to FOR_S old; the same for all superusers, and the same for all others.

    Raises MetadataUnavailableError.
    """
    return _latest.get(sees_everything(user), lambda: latest_report(user=user))
