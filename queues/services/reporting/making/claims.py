"""The row of a day that says who computes its report: claimed, kept by a heartbeat, finished, given a warning.

Every step is a compare-and-set on that row. A claim gives the day a run of its own and beats; a claim that has not
beaten for two minutes may be taken over, and then nothing that the earlier holder does counts: its updates name its run
and find no row. Times are the database's, so that the clocks of hosts do not matter."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from django.db import DatabaseError, IntegrityError, InterfaceError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from queues.models import ReportDay, ReportState, ReportTrigger
from queues.pools.database import reason_of

from ..failures import ClaimLostError, DayTakenError
from ..values import STALLED_AFTER, WarningKind

logger = logging.getLogger(__name__)

ERROR_MAX: Final = 8_000
"""Characters of an error that are kept: the last ones, where causes stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to report a day, as run `run_id`."""

    day: date
    run_id: str


def new_run() -> str:
    """A name for a run that no other has; they sort by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


def claim_day(*, day: date, run_id: str, trigger: ReportTrigger, unless_reported: bool = False) -> Claim:
    """Claim the day for this process.

    `unless_reported`: not if a report of the whole day has been made meanwhile. Raises DayTakenError.
    """
    claim = Claim(day=day, run_id=run_id)
    fields = {
        "state": ReportState.RUNNING,
        "run": claim.run_id,
        "trigger": trigger,
        "claimed_by": f"{socket.gethostname()}:{os.getpid()}"[:255],
        "claimed_at": Now(),
        "beat_at": Now(),
        "stage": "",
        "share": 0.0,
        "error": "",
    }
    try:
        with transaction.atomic():
            ReportDay.objects.create(date=day, **fields)
    except IntegrityError:
        if not _take(day, fields, unless_reported=unless_reported):
            raise DayTakenError(_who_has(day)) from None
    return claim


def beat(claim: Claim, *, stage: str, share: float) -> None:
    """Say that this process is alive and how far it is. Raises ClaimLostError."""
    _update(claim, beat_at=Now(), stage=stage[:64], share=min(max(share, 0.0), 1.0))


def finish_day(claim: Claim, *, warnings: list[dict[str, str]]) -> None:
    """The report is there. Raises ClaimLostError."""
    done = {"state": ReportState.DONE, "share": 1.0, "stage": "", "failures": 0, "warnings": warnings}
    _update(claim, finished_at=Now(), **done)


def fail_day(claim: Claim, *, error: str, counts: bool = True) -> None:
    """There is no new report; an earlier one stays. `counts`: as a failure, of which a day has three at most (see
    `nightly`). Raises ClaimLostError."""
    failures = {"failures": F("failures") + 1} if counts else {}
    failed = {"state": ReportState.FAILED, "error": error[-ERROR_MAX:].replace("\0", "")}
    _update(claim, finished_at=Now(), **failed, **failures)


def report_claimed(claim: Claim, **fields: object) -> None:
    """Set what a report in the database rests on. In a transaction with its rows: the first write, which holds off
    a process that would take the day over until that ends. Raises ClaimLostError."""
    _update(claim, beat_at=Now(), reported_run=claim.run_id, reported_at=Now(), **fields)


def _take(day: date, fields: dict[str, object], *, unless_reported: bool) -> bool:
    """Take a day that has a row. A holder that fell silent counts as a failure: it may have been killed by its work."""
    rows = ReportDay.objects.filter(pk=day)
    if unless_reported:
        rows = rows.exclude(state=ReportState.DONE, complete=True)
    free = rows.exclude(state=ReportState.RUNNING).update(**fields)
    if free:
        return True
    silent = rows.filter(Q(state=ReportState.RUNNING) & Q(beat_at__lt=Now() - STALLED_AFTER))
    return bool(silent.update(**fields, failures=F("failures") + 1, finished_at=F("beat_at")))


def _update(claim: Claim, **fields: object) -> None:
    if not ReportDay.objects.filter(pk=claim.day, run=claim.run_id, state=ReportState.RUNNING).update(**fields):
        raise ClaimLostError(_lost(claim))


def _lost(claim: Claim) -> str:
    return f"{claim.day}: this process was silent for too long, and another one has taken the day over"


def _who_has(day: date) -> str:
    row = ReportDay.objects.filter(pk=day).first()
    if row is None or row.state != ReportState.RUNNING:
        return f"{day}: the report was made by another process meanwhile"
    return f"{day}: {row.claimed_by} is computing this report since {row.claimed_at:%Y-%m-%d %H:%M:%S} UTC"


BEAT_S: Final = 10.0
"""A twelfth of the time after which a silent claim may be taken over."""

NEWS_S: Final = 1.0
"""Progress is written no more often than this."""


class ClaimHeartbeat:
    """Beats from `start` to `stop`.

    `tell` passes on how far the work is. `is_lost`: another process has taken the day over; nothing that is still done
    here counts. A database that is away is logged and waited for: nobody can take the day over meanwhile either.
    """

    def __init__(self, claim: Claim, *, beat_s: float = BEAT_S, news_s: float = NEWS_S) -> None:
        self._claim = claim
        self._beat_s = beat_s
        self._news_s = news_s
        self._stage, self._share = "", 0.0
        self._lost = threading.Event()
        self._done = threading.Event()
        self._news = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"report-beat-{claim.day}", daemon=True)

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    def tell(self, *, stage: str, share: float) -> None:
        self._stage, self._share = stage, share
        self._news.set()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Beat no more. May be called again."""
        self._done.set()
        self._news.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._done.is_set() and not self._lost.is_set():
                self._news.clear()
                self._beat()
                self._done.wait(self._news_s)
                self._news.wait(self._beat_s - self._news_s)
        finally:
            connection.close()

    def _beat(self) -> None:
        try:
            beat(self._claim, stage=self._stage, share=self._share)
        except ClaimLostError:
            self._lost.set()
        except (DatabaseError, InterfaceError) as error:
            connection.close()
            logger.warning("report: beat not written", extra={"action": "report.beat", "reason": reason_of(error)})


TEXT_MAX = 1_000


def warning(kind: WarningKind, text: str) -> dict[str, str]:
    """As ReportDay.warnings has them."""
    return {"kind": kind.value, "text": text[:TEXT_MAX].replace("\0", "")}


def add_warnings(day: date, kind: WarningKind, texts: Sequence[str], **fields: Any) -> None:
    """Put more of them on a report that is there; `fields` of the day are set with them. Raises database errors."""
    with transaction.atomic():
        row = ReportDay.objects.select_for_update().filter(pk=day).first()
        if row is None:  # forgotten meanwhile
            return
        row.warnings = [*row.warnings, *(warning(kind, text) for text in texts)]
        for name, value in fields.items():
            setattr(row, name, value)
        row.save(update_fields=["warnings", *fields])
