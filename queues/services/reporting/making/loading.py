"""One day's report, from the claim until its rows are in the database: all of a day in one transaction, or nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Q

from queues.lake.local_days import LocalDay
from queues.lake.storage import LakeError
from queues.models import QueueDay, ReportDay, ReportTrigger
from queues.pools.database import reason_of

from ..failures import BadResultsError, ClaimLostError, EventsGoneError, ReportFailedError, StoppedError
from ..values import PoolEvents, WarningKind
from .claims import Claim, ClaimHeartbeat, claim_day, fail_day, finish_day, report_claimed, warning
from .day_rows import QUEUES_MAX, make_rows
from .files import ReportFiles, files_of

logger = logging.getLogger(__name__)

BATCH: Final = 200
"""Rows of one INSERT, where the database takes as many."""

WARNINGS_MAX: Final = 100
"""How many more there are is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What a run computed, as rows that are not in the database yet; its summary; what was amiss. `local`: the days of
    namespaces with a time zone whose rows are among them."""

    rows: Sequence[QueueDay]
    local: Sequence[LocalDay]
    summary: Mapping[str, Any]
    warnings: list[dict[str, str]]


def read_results(*, files: ReportFiles, run_id: str) -> Results:
    """Read and check a run's files. Raises BadResultsError."""
    summary = files.read_summary(run_id)
    if (summary.get("date"), summary.get("run")) != (files.day.isoformat(), run_id):
        raise BadResultsError(f"the report's summary is of {summary.get('date')}, run {summary.get('run')}")
    is_demo, local = bool(summary.get("demo")), _local_days(summary)
    rows, left_out = make_rows(files=files, run_id=run_id, is_demo=is_demo)
    for one in local:
        of_zone, missing = make_rows(files=files, run_id=run_id, is_demo=is_demo, local=one)
        rows, left_out = [*rows, *of_zone], max(left_out, missing)
    warnings = _warnings(summary)
    if left_out:
        text = f"{left_out} queues have no figures of their own: a report keeps those of {QUEUES_MAX}"
        warnings.append(warning(WarningKind.LEFT_OUT, text))
    return Results(rows=rows, local=local, summary=summary, warnings=warnings)


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
            reconciliation=_reconciliation(summary),
            last_event_at=_time(summary.get("last_at_ms")),
            **_ties(summary),
        )
        QueueDay.objects.filter(day_id=claim.day, local_date=None).delete()
        for local in results.local:
            _delete_local_day(local)
        QueueDay.objects.bulk_create(results.rows, batch_size=BATCH)


def _delete_local_day(local: LocalDay) -> None:
    """The rows of these namespaces, whichever report they were made with."""
    rows = QueueDay.objects.filter(local_date=local.day)
    names = [*local.zones]
    for begin in range(0, len(names), BATCH):
        some = Q()
        for pool, namespace in names[begin : begin + BATCH]:
            some |= Q(pool=pool, namespace=namespace)
        rows.filter(some).delete()


def _local_days(summary: Mapping[str, Any]) -> list[LocalDay]:
    """Raises BadResultsError."""
    found = summary.get("local", [])
    try:
        return [LocalDay.read(one) for one in found]
    except (KeyError, TypeError, ValueError):
        raise BadResultsError(f"the report's summary says local: {found!r}") from None


def _ties(summary: Mapping[str, Any]) -> dict[str, str]:
    """What the report has taken from that of the day before, and hands on to that of the day after."""
    predecessor = summary.get("predecessor")
    before = predecessor if isinstance(predecessor, dict) else {}
    ties = {
        "predecessor_run": before.get("run"),
        "taken_over": before.get("handed_on"),
        "handed_on": summary.get("handed_on"),
    }
    return {name: str(value or "")[:64] for name, value in ties.items()}


def _time(ms: object) -> datetime | None:
    return datetime.fromtimestamp(ms / 1_000, UTC) if isinstance(ms, int) else None


def _warnings(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """Those that Spark's side found: files that were left out, gaps, and others."""
    found = summary.get("warnings") or []
    kept = [warning(_kind(str(one.get("kind"))), str(one.get("text"))) for one in found[:WARNINGS_MAX]]
    if len(found) > WARNINGS_MAX:
        kept.append(warning(_kind(str(found[-1].get("kind"))), f"and {len(found) - WARNINGS_MAX} more"))
    return kept


def _kind(name: str) -> WarningKind:
    return WarningKind(name) if name in list(WarningKind) else WarningKind.OTHER


def _reconciliation(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Raises BadResultsError."""
    found = summary.get("reconciliation", [])
    try:
        return [asdict(PoolEvents(**one)) for one in found]
    except TypeError:
        raise BadResultsError(f"the report's summary says reconciliation: {found!r}") from None


def _number(summary: Mapping[str, Any], name: str) -> int:
    number = summary.get(name)
    if not isinstance(number, int) or number < 0:
        raise BadResultsError(f"the report's summary says {name}: {number!r}")
    return number


COMPUTED: Final = 0.9
"""Which share of the work is Spark's, as far as progress goes."""

LOADING: Final = "loading"
"""The stage after those that `queues.reports` tells of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """`share` 0 to 1 of the day's work."""

    day: date
    stage: str
    share: float
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A report that is in the database. `events` read, `rows` of namespaces and queues written."""

    day: date
    events: int
    rows: int
    took_s: float
    warnings: tuple[str, ...]
    is_complete: bool


class DayWork:
    """Claims the day when it is made, and beats until `load` or `give_up`, one of which is to be called.

    Raises DayTakenError, database errors.
    """

    def __init__(
        self,
        *,
        day: date,
        run_id: str,
        trigger: ReportTrigger,
        unless_reported: bool,
        tell: Callable[[Progress], None],
    ) -> None:
        self.day = day
        self._tell_caller = tell
        self._started = time.monotonic()
        self._claim = claim_day(day=day, run_id=run_id, trigger=trigger, unless_reported=unless_reported)
        self._heartbeat = ClaimHeartbeat(self._claim)
        self._heartbeat.start()

    def check(self) -> None:
        """Raises ClaimLostError."""
        if self._heartbeat.is_lost:
            raise ClaimLostError(f"{self.day}: another process has taken the day over")

    def pass_on(self, said: Mapping[str, Any]) -> None:
        """What the process that computes says of its progress: `stage`, `done` of `of`, `message`."""
        done, of = said.get("done"), said.get("of")
        share = done / of if isinstance(done, int | float) and isinstance(of, int | float) and of else 0.0
        self._tell(str(said["stage"]), share * COMPUTED, str(said.get("message") or ""))

    def load(self) -> Made:
        """Put the run's results into the database. Raises ReportFailedError, database errors; then `give_up`."""
        files, run_id = files_of(settings.TASKQ_REPORTS_URL, self.day), self._claim.run_id
        self._tell(LOADING, COMPUTED)
        results = read_results(files=files, run_id=run_id)
        results.warnings.extend(compare_with_earlier(self.day, results.summary))
        self.check()
        load_results(claim=self._claim, results=results, took_s=time.monotonic() - self._started)
        took_s = time.monotonic() - self._started
        warnings = [*results.warnings]
        self.check()  # another run's files are not ours to delete
        try:
            files.make_current(run_id)
            files.delete_runs(but=run_id)
        except (OSError, LakeError) as error:
            warnings.append(warning(WarningKind.OTHER, f"the report's files were not put in order: {error}"))
        self._heartbeat.stop()
        finish_day(self._claim, warnings=warnings)
        return Made(
            day=self.day,
            events=int(results.summary["events"]),
            rows=len(results.rows),
            took_s=took_s,
            warnings=tuple(one["text"] for one in warnings),
            is_complete=bool(results.summary.get("complete")),
        )

    def give_up(self, failure: ReportFailedError) -> None:
        """Delete what the run has left, and say on the day's row why there is no report.

        A database that is away leaves a claim that falls silent.
        """
        self._heartbeat.stop()
        fields = {"action": "report.make", "day": str(self.day), "run": self._claim.run_id}
        forget_run(self.day, self._claim.run_id)
        if isinstance(failure, ClaimLostError):
            return
        try:
            fail_day(self._claim, error=str(failure), counts=not isinstance(failure, StoppedError))
        except ClaimLostError:
            logger.warning("report: another process has the day", extra=fields)
        except (DatabaseError, InterfaceError) as error:
            connection.close()
            logger.error("report: failure not written", extra=fields | {"reason": reason_of(error)})

    def _tell(self, stage: str, share: float, message: str = "") -> None:
        self._heartbeat.tell(stage=stage, share=share)
        self._tell_caller(Progress(day=self.day, stage=stage, share=share, message=message))


def forget_run(day: date, run_id: str) -> None:
    """Delete the files of a run that does not count."""
    try:
        files_of(settings.TASKQ_REPORTS_URL, day).delete_run(run_id)
    except LakeError as error:
        fields = {"action": "report.clean", "day": str(day), "run": run_id, "reason": str(error)}
        logger.warning("report: files cannot be reached", extra=fields)
