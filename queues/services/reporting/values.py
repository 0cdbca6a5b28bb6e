"""What readers of reports get. Times in ms unless a name says otherwise; days are UTC days, or of a time zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

BACK_DAYS: Final = 31
"""Days that ended longer ago are reported by command only."""

DRAINED_S: Final = 30
"""How long a drain may take that begins when events are TASKQ_LAKE_EVERY_S old: then an hour's last ones are there."""

STALLED_AFTER: Final = timedelta(minutes=2)
"""A run that has shown no sign of life for so long may be taken over."""


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
    MISSING = "missing"
    """By Redis's own count there were more events than the lake has, and nothing says why."""
    SURPLUS = "surplus"
    """The lake has more events than Redis counted."""
    BACKLOG = "backlog"
    """Redis's own counts of jobs do not agree with the events; backlogs follow the counts."""
    LEFT_OUT = "left_out"
    """There were more queues than a report keeps rows of; the smallest have none of their own."""
    COMPACTION = "compaction"
    MAIL = "mail"
    OTHER = "other"


LOSSES: Final = frozenset({WarningKind.CORRUPT, WarningKind.GAP, WarningKind.MISSING})
"""Warnings of a report that lacks events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportWarning:
    """`text`: in English, may name files and other people's pools; "" for users who are no superusers."""

    kind: WarningKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEvents:
    """The events of a pool on a day, as Redis counted them and as the lake has them (`queues.lake.reconciliation`).

    `appended` None: none was noted. `damaged` None: of some files nobody knows. `difference`: above 0 events are
    missing, below there are too many.
    """

    pool: str
    appended: int | None
    in_lake: int
    damaged: int | None
    dropped: int
    dropped_around: int
    difference: int

    @property
    def surplus(self) -> int:
        """Events too many."""
        return max(0, -self.difference)


@dataclass(frozen=True, slots=True, kw_only=True)
class DayEntry:
    """A day and its report. What is about the installation as a whole (`error`, `events`, `files`, `master`, texts of
    warnings, `reconciliation`) is for superusers; others find "", () and None.

    `share` 0 to 1 and `stage` are of a run under way; `is_stalled`: it has shown no sign of life for two minutes.
    `is_complete`: the day was over when the report was computed; `last_event_at`: of those in it. `took_s`: from the
    start of the command until the rows were there. `time_zone`: of the day; "" is UTC. `error`: one or more lines in
    English, Spark's own words among them.
    """

    day: date
    state: DayState
    reported_at: datetime | None = None
    is_complete: bool = False
    last_event_at: datetime | None = None
    is_demo: bool = False
    took_s: float | None = None
    events: int | None = None
    files: int | None = None
    master: str = ""
    warnings: tuple[ReportWarning, ...] = ()
    reconciliation: tuple[PoolEvents, ...] = ()
    stage: str = ""
    share: float = 0.0
    time_zone: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    is_stalled: bool = False
    is_scheduled: bool = False
    error: str = ""

    @property
    def has_report(self) -> bool:
        return self.reported_at is not None

    @property
    def differs(self) -> bool:
        """Whether the lake and Redis's own counts do not agree."""
        return any(one.difference for one in self.reconciliation)

    @property
    def lacks_events(self) -> bool:
        """Whether events of the day are missing, so that there were at least as many as the report counts."""
        return any(one.kind in LOSSES for one in self.warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestReport:
    """For an overview. `entry`: of the newest day that has a report, None if there never was one; `age_s`: seconds
    since that was made. `trouble`: the newest day from then on whose latest run failed or hangs; `running`: one being
    computed now."""

    entry: DayEntry | None
    age_s: float | None
    trouble: DayEntry | None
    running: DayEntry | None


class Metric(StrEnum):
    """What is measured of jobs."""

    WAIT = "wait"
    """Due → consumed."""
    RUN_TIME = "run"
    """Consumed → acked."""
    TOTAL = "total"
    """Published → acked."""
    LATENESS = "lateness"
    """Due → ready, of jobs that had to wait for their time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a metric was distributed. None: there was nothing to measure. `is_exact`: the percentiles are."""

    count: int = 0
    mean: float | None = None
    p50: int | None = None
    p90: int | None = None
    p95: int | None = None
    p99: int | None = None
    max: int | None = None
    is_exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of a day, or of the hour `hour` (0 to 23). `success_rate` 0 to 1: acked of acked, dead and expired; None: none of
    these. `backlog`: jobs that were there at the end; None: unknown, for want of the day before.
    """

    hour: int | None = None
    published: int = 0
    consumed: int = 0
    acked: int = 0
    failed: int = 0
    retried: int = 0
    lease_lost: int = 0
    expired: int = 0
    dead: int = 0
    respawned: int = 0
    released: int = 0
    deleted: int = 0
    rescheduled: int = 0
    duplicates: int = 0
    bytes: int = 0
    arrivals: int = 0
    departures: int = 0
    success_rate: float | None = None
    backlog: int | None = None
    backlog_base_known: bool = False
    first_at: datetime | None = None
    last_at: datetime | None = None
    wait: Spread = Spread()
    run: Spread = Spread()
    total: Spread = Spread()
    lateness: Spread = Spread()

    def spread(self, metric: Metric) -> Spread:
        found: Spread = getattr(self, metric.value)
        return found

    def value(self, key: str) -> Any:
        """A figure by its name in CSV and in addresses, such as `published` or `wait_p95`."""
        metric, _, part = key.rpartition("_")
        if metric not in list(Metric):
            return getattr(self, key)
        return getattr(self.spread(Metric(metric)), "is_exact" if part == "exact" else part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What people set for the queue: that the share `target` of deliveries comes within `seconds` of the job's being
    due.

    `is_met` and `share` (0 to 1, of deliveries in time; from the histogram, so within 1 % of the bound): None if
    nothing was delivered.
    """

    seconds: int
    target: float
    is_met: bool | None
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """A queue's day, or with `queue` "" that of a namespace. `flagged`: how many figures are out of line. `time_zone`:
    of the day and its hours; "" is UTC."""

    day: date
    pool: str
    namespace: str
    queue: str
    figures: Figures
    objective: Objective | None
    flagged: int
    time_zone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryCount:
    """How many jobs were acked, or died, at their attempt number `attempt`. `outcome`: "acked" or "dead"."""

    attempt: int
    outcome: str
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """Failed attempts and deaths whose errors differ only in numbers and ids. `job`: the id of one of them."""

    queue: str
    pattern: str
    failed: int
    dead: int
    first_at: datetime | None
    last_at: datetime | None
    job: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowJob:
    """One of the slowest. `metric`: wait or run. `worker` "": unknown."""

    queue: str
    metric: Metric
    rank: int
    job: str
    attempt: int | None
    ms: int
    at: datetime | None
    worker: str


LEAST_WEEKS: Final = 3
"""So many past weeks it takes to know what is usual; `queues.reports.tables.changes` judges by it."""


class ChangeVerdict(StrEnum):
    """What a report says of a figure, as `queues.reports.tables.changes` writes it."""

    WORSE = "worse"
    BETTER = "better"
    USUAL = "usual"
    TOO_FEW_WEEKS = "too few weeks"
    HOLIDAY = "holiday"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A figure against the same weekday's past weeks: `usual` is their median over `weeks` weeks. `hour`: it is that of
    an hour, None of the day."""

    queue: str
    figure: str
    value: float | None
    usual: float | None
    spread: float | None
    weeks: int
    verdict: ChangeVerdict
    hour: int | None = None

    @property
    def is_flagged(self) -> bool:
        """Whether it is out of line, for the worse."""
        return self.verdict is ChangeVerdict.WORSE

    @property
    def is_better(self) -> bool:
        """Whether it is out of line, for the better."""
        return self.verdict is ChangeVerdict.BETTER

    @property
    def tells_usual(self) -> bool:
        """Whether there are enough weeks to call anything usual."""
        return self.weeks >= LEAST_WEEKS


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What a day could be judged by: so many past weeks. `verdict` HOLIDAY, INCOMPLETE or TOO_FEW_WEEKS: why it was
    not; else USUAL."""

    weeks: int
    verdict: ChangeVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """All that a report says of a queue or namespace. `hours`: those in which something happened, in order.

    `histograms`: of each metric, bucket → jobs; buckets as in queues.lake.sketch. For a namespace, `errors`, `slowest`
    and `changes` may name any of its queues.
    """

    row: QueueRow
    entry: DayEntry
    hours: tuple[Figures, ...]
    histograms: Mapping[Metric, Mapping[int, int]]
    tries: tuple[TryCount, ...]
    errors: tuple[ErrorGroup, ...]
    slowest: tuple[SlowJob, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesDay:
    """One day of a series. `row` None: no report, or nothing happened; `has_report` tells which. `hours` as in
    QueueReport; empty unless asked for."""

    day: date
    has_report: bool
    row: QueueRow | None
    hours: tuple[Figures, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTable:
    """A page of queues. `found`: how many there are on all pages; `page` counts from 1."""

    rows: tuple[QueueRow, ...]
    found: int
    page: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A queue (or namespace) on two days; None: nothing happened on that one."""

    pool: str
    namespace: str
    queue: str
    day: QueueRow | None
    other: QueueRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Several days as one. `figures`: counts added up, percentiles from the merged histograms (within 1 %), never
    averaged; `backlog` that of the end. `hours`: the same hours of all days added up, without percentiles where several
    were. `days`: those that have a report; `missing`: the others; `lacking`: those whose counts are "at least"."""

    begin: date
    end: date
    days: tuple[date, ...]
    missing: tuple[date, ...]
    lacking: tuple[date, ...]
    figures: Figures
    hours: tuple[Figures, ...]
    histograms: Mapping[Metric, Mapping[int, int]]
    tries: tuple[TryCount, ...]
