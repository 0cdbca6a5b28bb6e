"""Brings a run's results from files into the database: all of a day in one transaction, or nothing of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.db import transaction

from queues.models import QueueDay, ReportDay

from .claims import Claim, report_claimed
from .failures import BadResultsError, EventsGoneError
from .files import ReportFiles
from .rows import QUEUES_MAX, make_rows
from .shapes import WarningKind
from .warnings import warning

BATCH: Final = 200
"""Rows of one INSERT, where the database takes as many."""

WARNINGS_MAX: Final = 100
"""How many more there are is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What a run computed, as rows that are not in the database yet; its summary; what was amiss."""

    rows: Sequence[QueueDay]
    summary: Mapping[str, Any]
    warnings: list[dict[str, str]]


def read_results(*, files: ReportFiles, run: str) -> Results:
    """Read and check a run's files. Raises BadResultsError."""
    summary = files.read_summary(run)
    if (summary.get("date"), summary.get("run")) != (files.day.isoformat(), run):
        raise BadResultsError(f"the report's summary is of {summary.get('date')}, run {summary.get('run')}")
    rows, left_out = make_rows(files=files, run=run, is_demo=bool(summary.get("demo")))
    warnings = _warnings(summary)
    if left_out:
        text = f"{left_out} queues have no figures of their own: a report keeps those of {QUEUES_MAX}"
        warnings.append(warning(WarningKind.LEFT_OUT, text))
    return Results(rows=rows, summary=summary, warnings=warnings)


def compare_with_earlier(day: date, summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """Warnings: that the lake had more of the day when its present report was made.

    Raises EventsGoneError if nothing at all is left of it; of made-up data, that is as it should be.
    """
    earlier = ReportDay.objects.filter(pk=day, demo=False).exclude(reported_at=None).first()
    before, now = (earlier.events or 0) if earlier else 0, _number(summary, "events")
    if before and not now:
        raise EventsGoneError(
            f"the lake has no events of {day} (any more), but its report counts {before:,}, and stays as it is. "
            "Was the day deleted, or is this another lake than before (TASKQ_LAKE_URL)?"
        )
    if now < before:
        text = f"the earlier report of this day counted {before:,} events, this one {now:,}: the lake has lost some"
        return [warning(WarningKind.OTHER, text)]
    return []


def load_results(*, claim: Claim, results: Results, took_s: float) -> None:
    """Replace the day's rows by these. Raises ClaimLostError and database errors; the earlier rows then stay."""
    summary = results.summary
    with transaction.atomic():
        report_claimed(
            claim,
            took_s=round(took_s, 2),
            events=_number(summary, "events"),
            files=_number(summary, "files"),
            demo=bool(summary.get("demo")),
            complete=bool(summary.get("complete")),
            master=str(summary.get("master", ""))[:255],
            warnings=results.warnings,
        )
        QueueDay.objects.filter(day_id=claim.day).delete()
        QueueDay.objects.bulk_create(results.rows, batch_size=BATCH)


def _warnings(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """Those that Spark's side found: files that were left out, gaps, and others."""
    found = summary.get("warnings") or []
    kept = [warning(_kind(str(one.get("kind"))), str(one.get("text"))) for one in found[:WARNINGS_MAX]]
    if len(found) > WARNINGS_MAX:
        kept.append(warning(_kind(str(found[-1].get("kind"))), f"and {len(found) - WARNINGS_MAX} more"))
    return kept


def _kind(name: str) -> WarningKind:
    return WarningKind(name) if name in list(WarningKind) else WarningKind.OTHER


def _number(summary: Mapping[str, Any], name: str) -> int:
    number = summary.get(name)
    if not isinstance(number, int) or number < 0:
        raise BadResultsError(f"the report's summary says {name}: {number!r}")
    return number
