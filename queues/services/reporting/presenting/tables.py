"""The tables of a report, each described once: its columns, what they read, and where they are shown.

Pages (`dashboard.templatetags.reports`), paper and mail (`summary`) and CSV (`as_csv`) are rendered from these
descriptions.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from enum import Flag, StrEnum, auto
from typing import Any, Final, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from ..values import Figures, Metric, Spread

Text = Promise | str


class Output(Flag):
    """Where a column is shown. PAPER is the mail, too."""

    PAGE = auto()
    PAPER = auto()
    CSV = auto()
    SHOWN = PAGE | PAPER
    ALL = PAGE | PAPER | CSV


class Kind(StrEnum):
    """How a cell is written where people read it. The first three are units of figures."""

    JOBS = "jobs"
    SHARE = "share"
    MS = "ms"
    SCOPE = "scope"
    """The queue that a row is about, or the namespace: a link on pages."""
    QUEUE = "queue"
    """A queue that is not what the row is about; left out on the page of a queue."""
    HOUR = "hour"
    TIME = "time"
    """One of the four times that are measured."""
    FIGURE = "figure"
    """A key figure, by its title."""
    CHANGED = "changed"
    """A value of the figure that the row is about, in its unit."""
    CHANGE = "change"
    """How the value differs, in words."""
    ERROR = "error"
    JOB = "job"
    VERDICT = "verdict"
    LIMIT = "limit"
    SHARE_IN_TIME = "share in time"
    """With the sign of the verdict."""
    BESIDE_LIMIT = "beside limit"
    FLAGGED = "flagged"

    @property
    def is_number(self) -> bool:
        """Whether cells are aligned to the right."""
        return self in _NUMBERS


_NUMBERS: Final = frozenset(
    {Kind.JOBS, Kind.SHARE, Kind.MS, Kind.CHANGED, Kind.LIMIT, Kind.SHARE_IN_TIME, Kind.BESIDE_LIMIT, Kind.FLAGGED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`key`: the title in CSV, whatever the language. `title`: the title where people read it; `label`: the same where
    the group's title is not beside it. `tone`: warn or bad, of what should not be. `is_plain`: not told in full on
    hover, and not quietly when it is nothing."""

    key: str
    read: Callable[[Any], Any]
    title: Text = ""
    label: Text = ""
    kind: Kind = Kind.JOBS
    on: Output = Output.CSV
    tone: str = ""
    begins_group: bool = False
    is_plain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """`on_page`, `on_paper`: how many rows are shown there. `empty`: what paper says when there are none. `is_wide`: on
    little room, names need lines of their own; `is_half`: two of these fit side by side."""

    title: Text = ""
    columns: Sequence[Column]
    on_page: int | None = None
    on_paper: int | None = None
    empty: Text = ""
    is_wide: bool = False
    is_half: bool = False

    def columns_on(self, output: Output) -> list[Column]:
        """Those of a page, of paper or of CSV, in order."""
        return [column for column in self.columns if output in column.on]


class DayFigures(NamedTuple):
    """Figures of a day or of one of its hours: a row. `day`: for CSV."""

    day: date | None
    figures: Figures


class MeasuredTime(NamedTuple):
    """One of the four times: a row."""

    metric: Metric
    spread: Spread


class Ranked(NamedTuple):
    """A slow job: a row. `noted`: a Noted."""

    rank: int
    noted: Any


def kind_of(key: str) -> Kind:
    """The unit of a figure."""
    if key == "success_rate":
        return Kind.SHARE
    metric, _separator, part = key.rpartition("_")
    return Kind.MS if metric in list(Metric) and part != "count" else Kind.JOBS


def _figure(key: str, title: Text = "", on: Output = Output.CSV, **more: Any) -> Column:
    """A figure of rows that have `figures`."""
    return Column(key=key, read=lambda row: row.figures.value(key), title=title, kind=kind_of(key), on=on, **more)


def _column(key: str, path: str = "", title: Text = "", on: Output = Output.CSV, **more: Any) -> Column:
    """What a row says at `path`, such as `what.failed`; the path is the key unless it is given."""
    names = (path or key).split(".")

    def read(row: Any) -> Any:
        for name in names:
            row = None if row is None else getattr(row, name)
        return row

    return Column(key=key, read=read, title=title, on=on, **more)


_PARTS: Final = tuple(part.name for part in fields(Spread))
_ALL_FIGURES: Final = (
    *(field.name for field in fields(Figures) if field.name not in {*Metric, "hour", "backlog_base_known"}),
    *(f"{metric}_{part}".replace("is_", "") for metric in Metric for part in _PARTS),
)

_DAY: Final = _column("day")
_FIGURES_IN_CSV: Final = tuple(_figure(key) for key in _ALL_FIGURES)
_PLACE_IN_CSV: Final = (_column("pool"), _column("namespace"), _column("queue"))
_NOTED_IN_CSV: Final = (*_PLACE_IN_CSV[:2], _column("queue", "what.queue"))


def _itself(row: Any) -> Any:
    return row


def _figures_of_scopes(on: Output) -> tuple[Column, ...]:
    """What is told of namespaces, and of queues where there is little room."""
    return (
        _figure("published", _("Published"), on),
        _figure("acked", _("Acked"), on),
        _figure("failed", _("Failed"), on, tone="warn"),
        _figure("dead", _("Dead"), on, tone="bad"),
        _figure("success_rate", _("Success"), on),
        _figure("wait_p95", _("Wait p95"), on),
        _figure("run_p95", _("Run p95"), on),
        _figure("backlog", _("Backlog"), on),
    )


NAMESPACES: Final = Table(
    title=_("Namespaces"),
    on_paper=8,
    is_wide=True,
    columns=(
        *(_DAY, *_PLACE_IN_CSV[:2], *_FIGURES_IN_CSV, _column("flagged")),
        Column(key="", read=_itself, title=_("Namespace"), kind=Kind.SCOPE, on=Output.SHOWN),
        *_figures_of_scopes(Output.SHOWN),
        _column("", "flagged", _("Out of line"), Output.PAGE, kind=Kind.FLAGGED, is_plain=True),
    ),
)

QUEUES: Final = Table(  # as CSV they are read column by column: queue_list.queues_as_csv
    title=_("Busiest queues"),
    on_paper=12,
    is_wide=True,
    columns=(
        Column(key="", read=_itself, title=_("Queue"), kind=Kind.SCOPE, on=Output.SHOWN),
        *_figures_of_scopes(Output.PAPER),
        _figure("published", _("Published"), Output.PAGE, begins_group=True),
        _figure("acked", _("Acked"), Output.PAGE),
        _figure("failed", _("Failed"), Output.PAGE, tone="warn"),
        _figure("dead", _("Dead"), Output.PAGE, tone="bad"),
        _figure("expired", _("Expired"), Output.PAGE, tone="warn"),
        _figure("backlog", _("Backlog"), Output.PAGE),
        _figure("success_rate", _("Success"), Output.PAGE),
        _figure("wait_p50", "p50", Output.PAGE, label=_("Wait p50"), begins_group=True),
        _figure("wait_p95", "p95", Output.PAGE, label=_("Wait p95")),
        _figure("wait_p99", "p99", Output.PAGE, label=_("Wait p99")),
        _figure("run_p50", "p50", Output.PAGE, label=_("Run p50"), begins_group=True),
        _figure("run_p95", "p95", Output.PAGE, label=_("Run p95")),
        _figure("run_p99", "p99", Output.PAGE, label=_("Run p99")),
        Column(
            key="objective_share",
            read=lambda row: row.objective,
            title=_("In time"),
            kind=Kind.SHARE_IN_TIME,
            on=Output.PAGE,
            begins_group=True,
        ),
        _column("flagged", title=_("Out of line"), on=Output.PAGE, kind=Kind.FLAGGED),
    ),
)

HOURS: Final = Table(
    title=_("Hour by hour"),
    empty=_("Nothing happened on this day."),
    columns=(
        _DAY,
        _column("hour", "figures.hour", _("Hour"), Output.PAPER | Output.CSV, kind=Kind.HOUR),
        *_FIGURES_IN_CSV,
        _figure("published", _("Published"), Output.PAPER),
        _figure("acked", _("Acked"), Output.PAPER),
        _figure("failed", _("Failed"), Output.PAPER),
        _figure("dead", _("Dead"), Output.PAPER),
        _figure("wait_p50", _("Wait p50"), Output.PAPER),
        _figure("wait_p95", _("Wait p95"), Output.PAPER),
        _figure("wait_p99", _("Wait p99"), Output.PAPER),
    ),
)

DAYS: Final = Table(columns=(_DAY, *_FIGURES_IN_CSV))

TIMES: Final = Table(
    title=_("Times"),
    is_wide=True,
    columns=(
        _column("metric", title=_("Measure"), on=Output.ALL, kind=Kind.TIME),
        _column("count", "spread.count", _("Count"), Output.ALL),
        _column("mean", "spread.mean", _("Mean"), Output.ALL, kind=Kind.MS),
        *(_column(part, f"spread.{part}", part, Output.ALL, kind=Kind.MS) for part in ("p50", "p90", "p95", "p99")),
        _column("max", "spread.max", _("Longest"), Output.ALL, kind=Kind.MS),
        _column("exact", "spread.is_exact"),
    ),
)

ERRORS: Final = Table(
    title=_("What failed"),
    empty=_("Nothing failed."),
    on_page=10,
    on_paper=5,
    is_wide=True,
    columns=(
        *_NOTED_IN_CSV,
        _column("error", "what.pattern", _("Error"), Output.ALL, kind=Kind.ERROR),
        Column(key="", read=_itself, title=_("Queue"), kind=Kind.QUEUE, on=Output.SHOWN),
        _column("failed", "what.failed", _("Failed"), Output.ALL),
        _column("dead", "what.dead", pgettext_lazy("number of jobs", "Died"), Output.ALL, tone="bad"),
        _column("first_at", "what.first_at"),
        _column("last_at", "what.last_at"),
        _column("job", "what.job"),
        Column(key="", read=_itself, title=_("Example"), kind=Kind.JOB, on=Output.PAGE),
    ),
)

SLOWEST: Final = Table(
    columns=(
        _column("metric", "noted.what.metric"),
        _column("rank"),
        *(_column("pool", "noted.pool"), _column("namespace", "noted.namespace"), _column("queue", "noted.what.queue")),
        *(_column(name, f"noted.what.{name}") for name in ("job", "attempt", "ms", "at", "worker")),
    )
)

CHANGES: Final = Table(
    title=_("Out of line"),
    on_paper=6,
    is_wide=True,
    columns=(
        *_NOTED_IN_CSV,
        Column(key="", read=_itself, title=_("Where"), kind=Kind.SCOPE, on=Output.SHOWN),
        _column("figure", "what.figure", _("What"), Output.ALL, kind=Kind.FIGURE),
        _column("hour", "what.hour"),
        _column("value", "what.value", _("On this day"), Output.ALL, kind=Kind.CHANGED),
        _column("usual", "what.usual", _("Usual"), Output.PAGE | Output.CSV, kind=Kind.CHANGED),
        Column(key="", read=_itself, title=_("Change"), kind=Kind.CHANGE, on=Output.SHOWN),
        _column("spread", "what.spread"),
        _column("weeks", "what.weeks"),
    ),
)

TRIES: Final = Table(columns=(_column("attempt"), _column("outcome"), _column("jobs")))

OBJECTIVES: Final = Table(
    title=_("Objectives"),
    empty=_("None set."),
    on_paper=8,
    is_half=True,
    columns=(
        *_PLACE_IN_CSV,
        _column("objective_s", "objective.seconds"),
        _column("objective_target", "objective.target"),
        _column("objective_met", "objective.is_met"),
        _column("objective_share", "objective.share"),
        _column("handed_out", "figures.wait.count"),
        Column(key="", read=_itself, title=_("Queue"), kind=Kind.SCOPE, on=Output.SHOWN),
        _column("", "objective", _("Verdict"), Output.SHOWN, kind=Kind.VERDICT),
        _column("", "objective", _("Objective"), Output.PAGE, kind=Kind.LIMIT),
        Column(key="", read=_itself, title=_("Wait p95 / objective"), kind=Kind.BESIDE_LIMIT, on=Output.PAPER),
        _figure("wait_p95", _("Wait p95"), Output.PAGE | Output.CSV, is_plain=True),
        _column("", "objective.share", _("In time"), Output.SHOWN, kind=Kind.SHARE, is_plain=True),
    ),
)

BESIDE: Final = Table(
    columns=(
        _column("figure", "figure.key"),
        _column("unit", "figure.unit"),
        _column("value"),
        _column("other", "against"),
    )
)

RECONCILIATION: Final = Table(
    columns=tuple(
        _column(name) for name in ("pool", "appended", "in_lake", "damaged", "dropped", "dropped_around", "difference")
    )
)

TABLES: Final[Mapping[str, Table]] = {
    "namespaces": NAMESPACES,
    "queues": QUEUES,
    "hours": HOURS,
    "days": DAYS,
    "times": TIMES,
    "errors": ERRORS,
    "slowest": SLOWEST,
    "changes": CHANGES,
    "tries": TRIES,
    "objectives": OBJECTIVES,
    "figures": BESIDE,
    "reconciliation": RECONCILIATION,
}
"""By the names that addresses of downloads have."""


AT_LEAST: Final = "at_least"
"""The last column in CSV: whether events of the row's day are missing, so that its counts are "at least"."""


TIME_ZONE: Final = "time_zone"
"""After it, of a namespace that has one: in which its days and hours are."""


def as_csv(table: Table, rows: Iterable[Any], *, lacks_events: Callable[[Any], bool], time_zone: str = "") -> str:
    """Times in ms and UTC, shares 0 to 1; unknown is empty. `lacks_events`: whether some of a row's day are missing.

    `time_zone`: of the day and its hours, in a column of its own; "" is UTC, which needs none."""
    columns = table.columns_on(Output.CSV)
    zone = [time_zone] if time_zone else []
    cells = ([*(without_formula(column.read(row)) for column in columns), lacks_events(row), *zone] for row in rows)
    return csv_lines([[*(column.key for column in columns), AT_LEAST, *([TIME_ZONE] if zone else [])], *cells])


def csv_lines(rows: Iterable[Iterable[Any]]) -> str:
    """Lines of CSV; what is unknown is empty."""
    text = io.StringIO()
    csv.writer(text).writerows([_plain(value) for value in row] for row in rows)
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return str(value).lower() if isinstance(value, bool) else value


def without_formula(value: Any) -> Any:
    """An apostrophe keeps spreadsheets from taking a stranger's text for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
