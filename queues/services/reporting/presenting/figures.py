"""The figures that come first: their titles and units, what they are held against, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queues.lake.local_days import bounds_of, find_zone, uneven_hours
from queues.odd_characters import spell_out

from ...permissions import User
from ...time_units import TIME_UNITS, in_unit
from ..reading.merging import Noted, read_sums
from ..values import LEAST_WEEKS, Change, ChangeVerdict, Figures, History, Metric, WarningKind
from .tables import MeasuredTime

WEEKS: Final = 8
"""Past weeks whose same weekday tells what is usual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """How a figure is called and written. `unit`: jobs, share, ms. `flaw`: the more, the worse."""

    key: str
    title: Promise
    unit: str
    flaw: bool = False

    def read(self, figures: Figures) -> float | None:
        value: float | None = figures.value(self.key)
        return value


FIGURES: Final = (
    Figure(key="published", title=_("Published"), unit="jobs"),
    Figure(key="consumed", title=_("Delivered"), unit="jobs"),
    Figure(key="acked", title=_("Acked"), unit="jobs"),
    Figure(key="success_rate", title=_("Success rate"), unit="share"),
    Figure(key="failed", title=_("Failed attempts"), unit="jobs", flaw=True),
    Figure(key="dead", title=_("Dead"), unit="jobs", flaw=True),
    Figure(key="expired", title=_("Expired"), unit="jobs", flaw=True),
    Figure(key="duplicates", title=_("Duplicate deliveries"), unit="jobs", flaw=True),
    Figure(key="wait_p95", title=_("Wait p95"), unit="ms"),
    Figure(key="run_p95", title=_("Run p95"), unit="ms"),
    Figure(key="total_p95", title=_("Published to acked, p95"), unit="ms"),
    Figure(key="backlog", title=_("Backlog at the end"), unit="jobs"),
)

COUNTED: Final = tuple(one for one in FIGURES if one.key in ("published", "success_rate", "failed", "dead"))

MEASURED: Final = (
    Figure(key="wait_p50", title=_("Wait p50"), unit="ms"),
    Figure(key="wait_p95", title=_("Wait p95"), unit="ms"),
    Figure(key="wait_p99", title=_("Wait p99"), unit="ms"),
    Figure(key="run_p50", title=_("Run p50"), unit="ms"),
    Figure(key="run_p95", title=_("Run p95"), unit="ms"),
    Figure(key="run_p99", title=_("Run p99"), unit="ms"),
    Figure(key="total_p95", title=_("Published to acked, p95"), unit="ms"),
)
"""Of tables that hold several days side by side."""

TITLES: Final[Mapping[str, Promise]] = {figure.key: figure.title for figure in FIGURES} | {
    "lease_lost": _("Lost leases")
}
UNITS: Final[Mapping[str, str]] = {figure.key: figure.unit for figure in FIGURES}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigure:
    """`against`: what `value` is held against, None if nothing is known; `weeks`: over how many weeks that is usual, 0
    when it is another day's. `is_flagged`: out of line with them; `is_better`: so for the better."""

    figure: Figure
    value: float | None
    against: float | None = None
    weeks: int = 0
    is_flagged: bool = False
    is_better: bool = False

    @property
    def is_count(self) -> bool:
        """Whether it counts events: of a day that lacks some there were at least so many. Backlogs err either way."""
        return self.figure.unit == "jobs" and self.figure.key != "backlog"

    @property
    def is_flaw(self) -> bool:
        """Whether something happened that should not."""
        return self.figure.flaw and bool(self.value)

    @property
    def is_new(self) -> bool:
        """Whether there is something where there usually is nothing, and that is out of line."""
        return self.against == 0 and bool(self.value) and self.is_flagged


def beside_usual(figures: Figures, changes: Iterable[Change], queue: str) -> list[KeyFigure]:
    """With the report's own account of what is usual for this queue or namespace."""
    known = {change.figure: change for change in changes if change.queue == queue and change.hour is None}
    found = []
    for figure in FIGURES:
        change = known.get(figure.key)
        value = figure.read(figures)
        if change is None or not change.tells_usual:
            found.append(KeyFigure(figure=figure, value=value))
            continue
        beside = KeyFigure(
            figure=figure,
            value=value,
            against=change.usual,
            weeks=change.weeks,
            is_flagged=change.is_flagged,
            is_better=change.is_better,
        )
        found.append(beside)
    return found


def beside_past_weeks(figures: Figures, *, user: User, day: date) -> list[KeyFigure]:
    """Of all that a person may see: the medians of past weeks' sums. What does not add up has nothing beside it.

    Raises MetadataUnavailableError.
    """
    past = read_sums(user=user, days=[day - timedelta(weeks=back) for back in range(1, WEEKS + 1)])
    found = []
    for figure in FIGURES:
        adds_up = figure.unit != "ms" and figure.key != "backlog"
        values = [value for one in past.values() if adds_up and (value := figure.read(one)) is not None]
        usual = median(values) if len(values) >= LEAST_WEEKS else None
        found.append(KeyFigure(figure=figure, value=figure.read(figures), against=usual, weeks=len(values)))
    return found


def beside_day(figures: Figures, other: Figures | None) -> list[KeyFigure]:
    """With another day's."""
    return [
        KeyFigure(figure=figure, value=figure.read(figures), against=figure.read(other) if other else None)
        for figure in FIGURES
    ]


def as_rows(columns: Sequence[Figures]) -> list[tuple[Promise, str, list[float | None]]]:
    """Title, unit and values of a table in which each column is a stretch of time."""
    return [(one.title, one.unit, [one.read(column) for column in columns]) for one in (*COUNTED, *MEASURED)]


TIME_TITLES: Final[Mapping[Metric, tuple[Promise, Promise]]] = {
    Metric.WAIT: (_("Wait"), _("due → delivered")),
    Metric.RUN_TIME: (_("Run"), _("delivered → acked")),
    Metric.TOTAL: (_("End to end"), _("published → acked")),
    Metric.LATENESS: (_("Lateness"), _("due → ready")),
}
"""Name, and from when to when."""


def times_of(figures: Figures) -> list[MeasuredTime]:
    """What was measured, also of those that were not."""
    return [MeasuredTime(metric, figures.spread(metric)) for metric in Metric]


def note_on_times(figures: Figures) -> str:
    """Where percentiles come from that are not exact; "" if all are."""
    if all(figures.spread(metric).is_exact for metric in Metric):
        return ""
    return gettext(
        "Percentiles of several namespaces come from their merged histograms, within 1 %; they are no averages."
    )


Part = tuple[str, int]
"""What happened, and to how many jobs."""


def funnel_of(figures: Figures) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    """Title and parts of each step. Jobs cross midnight, and one may be delivered often: steps need not be equal."""
    return (
        (
            gettext("Arrived"),
            ((gettext("published"), figures.published), (gettext("respawned"), figures.respawned)),
        ),
        (
            gettext("Delivered"),
            (
                (gettext("for the first time"), max(figures.consumed - figures.retried, 0)),
                (gettext("again"), figures.retried),
            ),
        ),
        (
            gettext("Attempts ended"),
            (
                (gettext("acked"), figures.acked),
                (gettext("failed"), figures.failed),
                (gettext("lease lost"), figures.lease_lost),
                (gettext("released"), figures.released),
            ),
        ),
        (
            gettext("Jobs ended"),
            (
                (gettext("acked"), figures.acked),
                (gettext("dead"), figures.dead),
                (gettext("expired"), figures.expired),
                (gettext("deleted"), figures.deleted),
            ),
        ),
    )


NOTHING: Final = "–"

MANY: Final = 3
"""From so many times on, a change is told in times rather than percent."""

LEAST_POINTS: Final = 0.05
"""Smaller differences of a share are none worth a number."""


def share(part: float | None) -> str:
    """`0.9987` → `99.87 %`. What is not quite all, or not quite nothing, is not written as that."""
    if part is None:
        return NOTHING
    percent = 100 * part
    if 99.995 <= percent < 100:
        return "> 99.99 %"
    if 0 < percent < 0.005:
        return "< 0.01 %"
    places = 2 if percent >= 99 or percent < 1 else 1
    return f"{percent:.{places}f}".rstrip("0").rstrip(".") + " %"


def brief(milliseconds: float | None) -> str:
    """`131000` → `2.2 min`: in one unit, for narrow columns; a dash for None."""
    if milliseconds is None:
        return NOTHING
    for size, _unit in TIME_UNITS:
        if milliseconds >= size > 1:
            value = milliseconds / size
            return in_unit(f"{value:.0f}" if value >= 99.95 else f"{value:.1f}".removesuffix(".0"), size)
    return in_unit(round(milliseconds), 1)


def jobs(number: float | None) -> str:
    """`12345` → `12,345`, `46.5` as it is (a median); a dash for None."""
    if number is None:
        return NOTHING
    return f"{int(number):,}" if number == int(number) else f"{number:,.1f}"


def in_full(value: float | None, unit: str) -> str:
    """A figure in its unit (jobs, share or ms) where nothing can be pointed at: jobs to the last one."""
    return {"jobs": jobs, "share": share, "ms": brief}[unit](value)


def difference(value: float | None, against: float | None, unit: str) -> str:
    """How `value` differs from `against`, in words: `12 % more`, `2.1 points less`, `14 times as much`; "" if either is
    unknown."""
    if value is None or against is None:
        return ""
    if value == against:
        return gettext("the same")
    if unit == "share":
        points = f"{abs(value - against) * 100:.2f}".rstrip("0").rstrip(".")
        if float(points) < LEAST_POINTS:
            return gettext("about the same")
        text = gettext("%(points)s points more") if value > against else gettext("%(points)s points less")
        return text % {"points": points}
    if not against:
        return gettext("instead of none")
    ratio = value / against
    if ratio >= MANY:
        return gettext("%(times)s times as much") % {"times": f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"}
    percent = round(abs(ratio - 1) * 100)
    if not percent:
        return gettext("about the same")
    text = gettext("%(percent)s %% more") if ratio > 1 else gettext("%(percent)s %% less")
    return text % {"percent": percent}


def figure_title(key: str) -> str:
    """Of a figure by its key; one that is not known is called by that."""
    return str(TITLES.get(key, key))


def unit_of(change: Change) -> str:
    """jobs, share or ms."""
    return UNITS.get(change.figure, "jobs")


def words_of_change(change: Change) -> str:
    return difference(change.value, change.usual, unit_of(change))


def title_of_change(change: Change) -> str:
    """The figure, and its hour if it is that of one."""
    title = figure_title(change.figure)
    return title if change.hour is None else f"{title}, {change.hour:02}:00"


def words_of_history(history: History) -> str:
    """What is said where nothing is out of line: that, or why nothing was judged."""
    match history.verdict:
        case ChangeVerdict.INCOMPLETE:
            return gettext("The day is not over; then it is compared with past weeks.")
        case ChangeVerdict.HOLIDAY:
            return gettext("A holiday: it is not compared with the same weekday of past weeks.")
        case ChangeVerdict.TOO_FEW_WEEKS:
            text = gettext(
                "Not enough history to know what is usual: it takes %(needed)s past weeks of the same weekday, "
                "and there are %(weeks)s."
            )
            return text % {"needed": LEAST_WEEKS, "weeks": history.weeks}
    weeks = {"weeks": history.weeks}
    return gettext("Nothing stands out against the same weekday of %(weeks)s past weeks.") % weeks


def words_of_better(changes: Sequence[Noted[Change]]) -> str:
    """What is better than usual, in a line; "" if nothing is."""
    told = []
    for one in changes:
        place, unit = spell_out(one.what.queue or one.namespace), unit_of(one.what)
        value, usual = in_full(one.what.value, unit), usual_words(one.what.usual, unit)
        told.append(f"{place} {title_of_change(one.what)}: {value} {usual}")
    return "; ".join(told)


def usual_words(value: float | None, unit: str) -> str:
    """`(usual 10)`; "" if it is not known."""
    return "" if value is None else gettext("(usual %(usual)s)") % {"usual": in_full(value, unit)}


def words_of_uneven_hours(day: date, time_zone: str) -> str:
    """That clocks were changed on that day, and what its hours are; "" if they were not."""
    if not time_zone:
        return ""
    zone = find_zone(time_zone)
    uneven = uneven_hours(day, zone)
    if not uneven:
        return ""
    begin, end = bounds_of(day, zone)
    told = {"hours": f"{(end - begin).total_seconds() / 3_600:g}", "hour": f"{min(uneven):02}:00"}
    if end - begin > timedelta(days=1):
        return gettext("Clocks were set back: the day has %(hours)s hours. That of %(hour)s is longer.") % told
    return (
        gettext("Clocks were set forward: the day has %(hours)s hours. That of %(hour)s is missing or shorter.") % told
    )


def words_of_losses() -> str:
    """What it means for the figures of a day that events of it are missing."""
    return gettext(
        "Events of this day are missing: numbers of jobs are at least those given here; shares and times are of the "
        "events that arrived, and backlogs may be too high or too low."
    )


def words_of_warning(kind: WarningKind, text: str) -> str:
    """What it means for the figures; "" where `text` says all there is to say."""
    if kind is WarningKind.CORRUPT:
        return gettext("A file of the event lake could not be read; what it holds is not counted.")
    if kind is WarningKind.GAP:
        return gettext("Events were lost before they reached the event lake: figures are too low.")
    if kind is WarningKind.MISSING:
        return gettext("By Redis's own count there were more events than the event lake has: figures are too low.")
    if kind is WarningKind.SURPLUS:
        return gettext("The event lake has more events than Redis counted: figures may be too high.")
    if kind is WarningKind.BACKLOG:
        return gettext("Redis's own counts of jobs do not agree with the events; backlogs follow the counts.")
    if kind is WarningKind.LEFT_OUT:
        return gettext(
            "There were more queues than a report keeps; the smallest are only in the sums of their namespaces."
        )
    if kind is WarningKind.COMPACTION:
        return gettext("Small files of the event lake could not be put together. Figures are not affected.")
    if kind is WarningKind.MAIL:
        return gettext("The summary could not be sent by e-mail.")
    return "" if text else gettext("Something unusual was found; administrators can see the details.")
