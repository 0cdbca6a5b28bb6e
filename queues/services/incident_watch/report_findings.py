"""Reports that could not be made. One incident for all of them: `facts` has the latest `day`; its size is how many."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from queues.models import IncidentKind, ReportDay, ReportState

from ..incidents.findings import Finding, Look

BACK_DAYS: Final = 7
"""Days that ended longer ago are no longer an incident: their events may be gone."""


def look_at_reports(*, now: datetime) -> Look:
    """The days of the last week whose latest run failed. Raises database errors."""
    rows = ReportDay.objects.filter(state=ReportState.FAILED, date__gte=now.date() - timedelta(days=BACK_DAYS))
    failed = list(rows.order_by("-date").only("date", "finished_at", "claimed_at"))
    findings: tuple[Finding, ...] = ()
    if failed:
        findings = (
            Finding(
                kind=IncidentKind.REPORT_FAILED,
                pool="",
                size=len(failed),
                since=min(row.finished_at or row.claimed_at for row in failed),
                facts={"day": failed[0].date.isoformat()},
            ),
        )
    return Look(pool="", kinds=frozenset({IncidentKind.REPORT_FAILED}), findings=findings)
