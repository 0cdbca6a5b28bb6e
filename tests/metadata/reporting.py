"""What tests of reports share: a place for files, a plan for the stand-in, and rows that are there already."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from django.utils import timezone

from queues.models import Namespace, QueueDay, ReportDay, ReportState, ReportTrigger
from queues.models.report import ALL_QUEUES
from tests.support import stand_in
from tests.support.reports import figures, write_report

DAY: Final = date(2026, 3, 29)

TABLES: Final[Mapping[str, list[dict[str, Any]]]] = {
    "figures": [
        figures(published=3, consumed=4, acked=2, failed=1, wait_count=4, wait_p95=6_000, wait_mean=2_000.0),
        figures("emails", published=3, consumed=4, acked=2, failed=1, wait_count=4, wait_p95=6_000, wait_mean=2_000.0),
        figures("emails", hour=9, published=3, consumed=4, wait_count=4, wait_p95=6_000, wait_exact=False, backlog=0),
    ],
    "histograms": [
        {"pool": "default", "namespace": "orders", "queue": queue, "metric": "wait", "bucket": bucket, "jobs": jobs}
        for queue in ("", "emails")
        for bucket, jobs in ((100, 3), (485, 1))
    ],
    "tries": [
        {"pool": "default", "namespace": "orders", "queue": "emails", "attempt": 1, "outcome": "acked", "jobs": 2}
    ],
    "errors": [
        {
            "pool": "default",
            "namespace": "orders",
            "queue": "emails",
            "pattern": "timeout after <n> ms",
            "failed": 1,
            "dead": 0,
            "first_at": None,
            "last_at": None,
            "job": "01J0000000000000000000000A",
        }
    ],
}
"""A day of `orders/emails`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A lake, reports, and the command of a stand-in that does what it was told."""

    root: Path

    @property
    def out(self) -> Path:
        return self.root / "reports"

    @property
    def command(self) -> Sequence[str]:
        return [sys.executable, str(stand_in.__file__), str(self.root / "plan.json")]

    def plan(self, **what: Any) -> None:
        (self.root / "plan.json").write_text(json.dumps(what))

    def change_plan(self, day: date, **what: Any) -> None:
        """Have it do something else on that day."""
        plan = json.loads((self.root / "plan.json").read_text())
        self.plan(**plan | {day.isoformat(): what})

    def plan_report(self, tables: Mapping[str, list[dict[str, Any]]] = TABLES, **options: Any) -> None:
        """Have the stand-in write this report; `options` as of `write_report`."""
        prepared = self.root / f"prepared-{len(list(self.root.iterdir()))}"
        self.plan(report=str(write_report(prepared, DAY, "prepared", tables, **options)))


def add_day(day: date = DAY, **fields: Any) -> ReportDay:
    """A report that was made."""
    now = timezone.now()
    known = {
        "state": ReportState.DONE,
        "run": "earlier",
        "trigger": ReportTrigger.ASKED,
        "claimed_by": "elsewhere:1",
        "claimed_at": now,
        "beat_at": now,
        "finished_at": now,
        "reported_run": "earlier",
        "reported_at": now,
        "complete": True,
        "events": 7,
        "files": 1,
    }
    return ReportDay.objects.create(date=day, **known | fields)


def add_row(day: ReportDay, queue: str = ALL_QUEUES, *, scope: Namespace | None, **fields: Any) -> QueueDay:
    """What it says of a queue of the namespace `scope`, or of `fields["namespace"]`."""
    place = {"pool": scope.pool.name, "namespace": scope.name} if scope else {"pool": "default"}
    return QueueDay.objects.create(day=day, queue=queue, scope=scope, **place | fields)
