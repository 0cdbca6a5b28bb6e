"""Which days of namespaces with a time zone are reported together with a day of UTC."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta

from django.conf import settings

from queues.lake.local_days import LocalDay, bounds_of, find_zone
from queues.models import Namespace, QueueDay

from ..values import DRAINED_S

_DAY = timedelta(days=1)

Names = tuple[str, str]
"""Pool and namespace."""


def local_days_of(day: date, *, now: datetime) -> list[LocalDay]:
    """Those that end in the day of UTC; if it is today, those that have begun in it as well. The earliest first.

    Today, those of which there is a report of the whole day are left out: they are looked at again in the night. Raises
    database errors.
    """
    is_today = day == now.astimezone(UTC).date()
    found: dict[tuple[date, bool], dict[Names, str]] = defaultdict(dict)
    reported = _reported(day) if is_today else frozenset()
    for namespace in _with_zones():
        names = (namespace.pool.name, namespace.name)
        for local in (day - _DAY, day, day + _DAY):
            zone = namespace.time_zone_on(local)
            if not zone or (local, *names) in reported:
                continue
            begin, end = bounds_of(local, find_zone(zone))
            if begin == end:  # the zone passed over that day
                continue
            ends_here = (end - timedelta(microseconds=1)).date() == day
            if begin < now and (ends_here or (is_today and begin.date() == day)):
                found[local, not is_today or _is_drained(end, now)][names] = zone
    return [LocalDay(day=local, is_complete=done, zones=zones) for (local, done), zones in sorted(found.items())]


def has_ended_since(since: datetime | None, *, now: datetime) -> bool:
    """Whether a day of a namespace with a time zone has ended today since then, and not at midnight of UTC.

    Raises database errors.
    """
    midnight = datetime.combine(now.astimezone(UTC).date(), datetime.min.time(), UTC)
    for namespace in _with_zones():
        for local in (midnight.date() - _DAY, midnight.date()):
            if zone := namespace.time_zone_on(local):
                begin, end = bounds_of(local, find_zone(zone))
                is_new = since is None or not _is_drained(end, since)
                if midnight < end and begin != end and _is_drained(end, now) and is_new:
                    return True
    return False


def zones_on(day: date) -> Mapping[Names, str]:
    """The namespaces that have a time zone on that day. Raises database errors."""
    zones = {(one.pool.name, one.name): one.time_zone_on(day) for one in _with_zones()}
    return {names: zone for names, zone in zones.items() if zone}


def _with_zones() -> Iterable[Namespace]:
    return Namespace.objects.exclude(time_zone_changes=[]).select_related("pool")


def _reported(day: date) -> frozenset[tuple[date | None, str, str]]:
    """The local days about that day of UTC of which there is a whole report."""
    rows = QueueDay.objects.filter(local_date__range=(day - _DAY, day + _DAY), complete=True, queue="")
    return frozenset(rows.values_list("local_date", "pool", "namespace"))


def _is_drained(end: datetime, now: datetime) -> bool:
    """Whether the day is over, and its last events are in the lake."""
    return end + timedelta(seconds=settings.TASKQ_LAKE_EVERY_S + DRAINED_S) <= now
