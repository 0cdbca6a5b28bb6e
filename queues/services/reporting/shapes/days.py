"""Days, how the report of each stands, and what was amiss with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum


class DayState(StrEnum):
    """How a day's report stands."""

    DONE = "done"
    RUNNING = "running"
    """Being computed; `reported_at` tells whether an earlier report can be read meanwhile."""
    FAILED = "failed"
    """The latest run failed; `reported_at` tells whether an earlier report can be read all the same."""
    MISSING = "missing"
    """Nobody has computed one."""


class WarningKind(StrEnum):
    """Why a report may be incomplete, or what went wrong beside it."""

    CORRUPT = "corrupt"
    """A file of the lake could not be read and was left out."""
    GAP = "gap"
    """Events were dropped before they reached the lake."""
    LEFT_OUT = "left_out"
    """There were more queues than a report keeps rows of; the smallest have none of their own."""
    COMPACTION = "compaction"
    MAIL = "mail"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportWarning:
    """`text`: in English, may name files and other people's pools; "" for who is no superuser."""

    kind: WarningKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DayEntry:
    """A day and its report. What is about the installation as a whole (`error`, `events`, `files`, `master`, texts of
    warnings) is for superusers; others find "" and None.

    `share` 0 to 1 and `stage` are of a run under way; `is_stalled`: it has shown no sign of life for two minutes.
    `is_complete`: the day was over when the report was computed. `took_s`: from the start of the command until the rows
    were there. `error`: one or more lines in English, Spark's own words among them.
    """

    day: date
    state: DayState
    reported_at: datetime | None = None
    is_complete: bool = False
    is_demo: bool = False
    took_s: float | None = None
    events: int | None = None
    files: int | None = None
    master: str = ""
    warnings: tuple[ReportWarning, ...] = ()
    stage: str = ""
    share: float = 0.0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    is_stalled: bool = False
    is_scheduled: bool = False
    error: str = ""

    @property
    def has_report(self) -> bool:
        return self.reported_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestReport:
    """For an overview. `entry`: of the newest day that has a report, None if there never was one; `age_s`: seconds
    since that was made. `trouble`: the newest day from then on whose latest run failed or hangs; `running`: one being
    computed now."""

    entry: DayEntry | None
    age_s: float | None
    trouble: DayEntry | None
    running: DayEntry | None
