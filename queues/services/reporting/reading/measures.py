"""What is measured of lake and reports, for `/metrics`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.utils import timezone

from queues.models import LakeMeasurement, ReportDay
from queues.pools.database import read_metadata

from ..values import DayState
from .days import yesterday


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportMeasures:
    """`age_s`, `took_s`: of the newest report of a whole day; None: there was none. `state`: of yesterday's report.
    Where the lake has days that have ended and none was ever reported, `age_s` counts from the end of the first.

    `differences`: by pool, events of that newest day that the lake lacks by Redis's own count, or below 0 has too many.
    `lake_bytes` None: no pump has measured the lake yet.
    """

    age_s: float | None
    took_s: float | None
    state: DayState
    differences: Mapping[str, int]
    lake_bytes: int | None


def read_measures() -> ReportMeasures:
    """Three short queries. Raises MetadataUnavailableError."""
    return read_metadata(_read)


def _read() -> ReportMeasures:
    newest = ReportDay.objects.filter(complete=True).exclude(reported_at=None).order_by("-date").first()
    state = ReportDay.objects.filter(pk=yesterday()).values_list("state", flat=True).first()
    lake = LakeMeasurement.objects.first()
    made_at = newest.reported_at if newest else _expected_since(lake)
    return ReportMeasures(
        age_s=(timezone.now() - made_at).total_seconds() if made_at else None,
        took_s=newest.took_s if newest else None,
        state=DayState(state) if state else DayState.MISSING,
        differences={one["pool"]: one["difference"] for one in newest.reconciliation} if newest else {},
        lake_bytes=lake.bytes if lake else None,
    )


def _expected_since(lake: LakeMeasurement | None) -> datetime | None:
    """When the lake's first day ended; None: it has not, or reports are made by command only."""
    if settings.TASKQ_REPORT_AT is None or lake is None or lake.first_day is None or lake.first_day > yesterday():
        return None
    return datetime.combine(lake.first_day + timedelta(days=1), datetime.min.time(), UTC)
