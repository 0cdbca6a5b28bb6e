"""What a page of a report is about, and addresses of such pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final
from urllib.parse import urlencode

from django.http import Http404
from django.urls import register_converter, reverse

from queues.engine.names import is_name
from queues.services.reporting.reading.days import local_today, time_zones_on, today

FIRST_DAY: Final = date(1970, 1, 1)
"""Before it nothing happened; and pages look some weeks back, which the year 1 does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportScope:
    """All that a person may see, a namespace, or a queue: the later names are empty where they do not apply."""

    pool: str = ""
    namespace: str = ""
    queue: str = ""

    @property
    def parent(self) -> ReportScope:
        """The namespace of a queue; of a namespace everything."""
        return replace(self, queue="") if self.queue else ReportScope()

    def url(self, day: date, **query: str) -> str:
        """The URL of the page of this scope and day."""
        names = [name for name in (self.pool, self.namespace, self.queue) if name]
        route = {0: "report", 2: "report_namespace", 3: "report_queue"}[len(names)]
        kwargs = dict(zip(("pool", "namespace", "queue"), names, strict=False))
        return reverse(f"dashboard:{route}", kwargs={"day": day, **kwargs}) + _query(query)

    def csv_url(self, day: date, **query: str) -> str:
        """Of the CSV of a table; `table` says of which."""
        return reverse("dashboard:report_csv", kwargs={"day": day}) + _query(self.names | query)

    def print_url(self, day: date) -> str:
        """Of the summary on paper."""
        return reverse("dashboard:report_print", kwargs={"day": day}) + _query(self.names)

    def cost_url(self, day: date) -> str:
        """Of what this namespace, or all of them, used up to and with a day."""
        return url_of("report_cost", {"to": f"{day}"} | self.names)

    @property
    def forecast_url(self) -> str:
        """Of the coming days."""
        return url_of("report_forecast", self.names)

    @property
    def names(self) -> dict[str, str]:
        """Those that are not empty."""
        return {key: getattr(self, key) for key in ("pool", "namespace", "queue") if getattr(self, key)}


EVERYTHING = ReportScope()


def scope_in(fields: dict[str, str]) -> ReportScope:
    """The scope that a query names. A queue without its namespace names nothing. Raises Http404 for what is no name."""
    pool, namespace, queue = names = [fields.get(name, "") for name in ("pool", "namespace", "queue")]
    if not all(is_name(name) for name in names if name):
        raise Http404
    return ReportScope(pool=pool, namespace=namespace, queue=queue) if pool and namespace else EVERYTHING


def read_day(text: str) -> date | None:
    """`2026-09-01`; None for what is no day, one before FIRST_DAY, or one that is yet to come."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if FIRST_DAY <= day <= today() and text == day.isoformat() else None


def latest_day_of(scope: ReportScope) -> date:
    """The day that it is: of a namespace in its time zone, of everything in UTC. Raises MetadataUnavailableError."""
    return local_today(pool=scope.pool, namespace=scope.namespace) if scope.namespace else today()


def scope_zones(scope: ReportScope, days: Iterable[date]) -> dict[date, str]:
    """The time zones of these days of a namespace; of everything none. Raises MetadataUnavailableError."""
    return time_zones_on(pool=scope.pool, namespace=scope.namespace, days=days) if scope.namespace else {}


def check_begun(day: date, scope: ReportScope) -> None:
    """Raises Http404 for a day that is yet to come there, MetadataUnavailableError."""
    if day > today() and day > latest_day_of(scope):
        raise Http404


class DayConverter:
    """A day in an address, `2026-09-01`; as `read_day` has it, or tomorrow, which is today somewhere: `check_begun`."""

    regex = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"

    def to_python(self, value: str) -> date:
        tomorrow = today() + timedelta(days=1)
        day = tomorrow if value == tomorrow.isoformat() else read_day(value)
        if day is None:
            raise ValueError(value)
        return day

    def to_url(self, value: date | str) -> str:
        return str(value)


register_converter(DayConverter, "day")


def url_of(route: str, fields: dict[str, str]) -> str:
    """Of a route without names, with a query."""
    return reverse(f"dashboard:{route}") + _query(fields)


def _query(fields: dict[str, str]) -> str:
    return f"?{urlencode(fields)}" if fields else ""
