"""How figures of reports are written, and pictures of them: those that charts.js draws, and the funnel, drawn here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

from django import template
from django.template.context import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from dashboard.formatting import age, compact, duration, escape_visibly, number
from dashboard.series import Meaning
from dashboard.templatetags.jobs import size
from dashboard.views.reports.home import short_weekday
from dashboard.views.reports.scopes import ReportScope
from queues.services.reporting.planning.theta_method import Interval
from queues.services.reporting.presenting.figures import (
    NOTHING,
    TIME_TITLES,
    KeyFigure,
    Part,
    brief,
    difference,
    funnel_of,
    jobs,
    share,
    title_of_change,
    unit_of,
    words_of_better,
    words_of_change,
    words_of_history,
    words_of_losses,
    words_of_warning,
)
from queues.services.reporting.presenting.tables import TABLES, Column, Kind, Output
from queues.services.reporting.values import Figures, Objective, QueueRow, ReportWarning
from queues.services.time_units import in_unit

register = template.Library()

for written_alike in (share, brief):
    register.filter(written_alike)

GLYPHS: Final = {"reported": "✓", "demo": "✓", "running": "…", "failed": "✕", "kept": "✕", "missing": "·", "none": ""}


@register.filter
def seconds(value: float | None) -> str:
    """A duration in seconds, as `duration` writes one in ms."""
    return duration(None if value is None else value * 1_000)


@register.filter
def whole(number: float) -> str:
    """`1707.5` → `1,708`: a number of jobs that comes from shares."""
    return jobs(round(number))


@register.filter
def budget_left(left: float | None) -> str:
    """A share of the error budget; what is overspent is written with a sign."""
    return share(left) if left is None or left >= 0 else f"−{share(-left)}"


@register.filter
def long_ago(value: float | None) -> str:
    """Seconds as an age that does not change with every look: `3 h`."""
    return age(None if value is None else max(value, 60) * 1_000)


@register.filter
def written(value: float | None, unit: str) -> str:
    """A figure in its unit: jobs, share or ms."""
    if unit == "share":
        return share(value)
    return brief(value) if unit == "ms" else compact(value)


@register.filter
def exactly(value: float | None, unit: str) -> str:
    """The same in full, to show on hover."""
    if unit == "jobs":
        return jobs(value)
    return in_unit(jobs(value), 1) if unit == "ms" and value is not None else written(value, unit)


@register.filter
def money(value: Decimal | None, currency: str) -> str:
    """`12.34 EUR`: with two decimals or, below 1, as many as show three digits; a dash for None."""
    if value is None:
        return NOTHING
    decimals = 2 if not value or abs(value) >= 1 else min(2 - value.adjusted(), 12)
    return f"{value:,.{decimals}f} {currency}".rstrip()


@register.filter
def between(interval: Interval | None, unit: str) -> str:
    """`1,200 (900 – 1,500)`: what is expected, and the interval; a dash for None. `unit`: jobs, s, bytes."""
    if interval is None:
        return NOTHING
    writers: dict[str, Callable[[float], str]] = {
        "jobs": lambda value: compact(round(value)),
        "s": seconds,
        "bytes": lambda value: size(round(value)),
    }
    low, expected, high = (writers[unit](value) for value in (interval.low, interval.expected, interval.high))
    return f"{expected} ({low} – {high})"


def figure_cell(
    value: float | None, label: str, unit: str = "jobs", *, tone: str = "", begins_group: bool = False
) -> SafeString:
    """A figure as a cell of a table, in full on hover. `tone`: warn or bad, of what should not be. What is none or
    unknown has class zero: it is told quietly, and on a phone perhaps not at all."""
    is_nothing = not value if unit == "jobs" else value is None
    classes = ["number", "begins" if begins_group else "", "zero" if is_nothing else tone]
    return format_html(
        '<td class="{}" data-label="{}" title="{}">{}</td>',
        " ".join(filter(None, classes)),
        label,
        exactly(value, unit),
        written(value, unit),
    )


@register.filter
def change_of(one: KeyFigure) -> str:
    """`12 % more`, `2.1 points less`, `14 times as much`, `the same`; "" if there is nothing beside it."""
    return difference(one.value, one.against, one.figure.unit)


for worded in (words_of_history, words_of_better):
    register.filter(worded)


@register.filter
def warning_words(one: ReportWarning) -> str:
    """What it means for the figures, without its own text."""
    return words_of_warning(one.kind, one.text)


@register.simple_tag
def loss_words() -> str:
    """What it means for the figures that events are missing."""
    return words_of_losses()


@register.simple_tag(takes_context=True)
def table_head(context: Context, key: str) -> SafeString:
    """The titles of a table's columns."""
    titles = ((_class("number") if one.kind.is_number else "", one.title) for one in _columns(context, key))
    return format_html("<tr>{}</tr>", format_html_join("", '<th scope="col"{}>{}</th>', titles))


@register.simple_tag(takes_context=True)
def table_rows(context: Context, key: str, rows: Sequence[Any]) -> SafeString:
    """The rows of a table, as many as a page shows."""
    columns = _columns(context, key)
    written = (
        (format_html_join("", "{}", ((_cell(context, column, row),) for column in columns)),)
        for row in rows[: TABLES[key].on_page]
    )
    return format_html_join("", "<tr>{}</tr>", written)


def _columns(context: Context, key: str) -> list[Column]:
    columns = TABLES[key].columns_on(Output.PAGE)
    return [one for one in columns if one.kind is not Kind.QUEUE or not context["scope"].queue]


def _cell(context: Context, column: Column, row: Any) -> SafeString:
    """What a row says in a column."""
    value, kind = column.read(row), column.kind
    match kind:
        case Kind.JOBS | Kind.SHARE | Kind.MS if not column.is_plain:
            label = str(column.label or column.title)
            return figure_cell(value, label, kind, tone=column.tone, begins_group=column.begins_group)
        case Kind.SCOPE:
            return format_html('<th scope="row">{}</th>', _scope_cell(context, row))
        case Kind.TIME:
            return format_html('<th scope="row">{} <span class="muted">{}</span></th>', *TIME_TITLES[value])
        case Kind.ERROR:
            return format_html('<th scope="row" class="error"><code>{}</code></th>', escape_visibly(value or NOTHING))
    begins = "begins" if column.begins_group else ""
    tone = ""
    if kind is Kind.FLAGGED:
        tone = ("" if column.is_plain else "warn") if value else "zero"
        text: Any = f"▲ {value}" if value else ("0" if column.is_plain else NOTHING)
    elif kind is Kind.SHARE_IN_TIME:
        tone = "zero" if value is None else "bad" if value.is_met is False else ""
        text = _share_in_time(value)
    else:
        text = _text(context, column, row, value)
    classes = " ".join(filter(None, ("number" if kind.is_number else "", begins, tone)))
    return format_html('<td{} data-label="{}">{}</td>', _class(classes), column.title, text)


def _text(context: Context, column: Column, row: Any, value: Any) -> Any:
    """What stands in a cell of words."""
    match column.kind:
        case Kind.QUEUE:
            return _scope_cell(context, row)
        case Kind.FIGURE:
            return title_of_change(row.what)
        case Kind.CHANGED:
            text = written(value, unit_of(row.what))
            return format_html("<b>{}</b>", text) if column.key == "value" else text
        case Kind.CHANGE:
            return words_of_change(row.what)
        case Kind.JOB:
            return _job(row)
        case Kind.VERDICT:
            return _verdict(value)
        case Kind.LIMIT:
            return f"{share(value.target)} ≤ {seconds(value.seconds)}"
    return written(value, column.kind)


def _class(names: str) -> SafeString:
    return format_html(' class="{}"', names) if names else SafeString("")


def _scope_cell(context: Context, row: Any) -> SafeString:
    """A queue or a namespace, as a link to its report."""
    queue = row.queue if isinstance(row, QueueRow) else row.what.queue
    url = ReportScope(pool=row.pool, namespace=row.namespace, queue=queue).url(context["day"])
    if queue:
        aside = row.namespace if context["tells_namespace"] else ""
    else:
        aside = row.pool if isinstance(row, QueueRow) else gettext("whole namespace")
    muted = format_html(' <span class="muted">{}</span>', aside) if aside else ""
    return format_html('<a href="{}">{}</a>{}', url, queue or row.namespace, muted)


def _job(row: Any) -> SafeString | str:
    """The end of a job's id, as a link to it."""
    job = row.what.job
    if not job:
        return NOTHING
    url = reverse("dashboard:job", args=(row.pool, row.namespace, row.what.queue, job))
    return format_html('<a href="{}" title="{}" class="mono">…{}</a>', url, job, job[-6:])


def _verdict(objective: Objective) -> SafeString:
    if objective.is_met is None:
        return format_html('<span class="pill">{}</span>', gettext("nothing delivered"))
    tone, word = ("ok", gettext("met")) if objective.is_met else ("bad", gettext("missed"))
    return format_html('<span class="pill {}">{}</span>', tone, word)


def _share_in_time(objective: Objective | None) -> SafeString | str:
    """With a sign of whether the objective was met, which is told on hover."""
    if objective is None:
        return NOTHING
    told = {"share": share(objective.target), "limit": seconds(objective.seconds)}
    title = gettext("objective: %(share)s of deliveries within %(limit)s") % told
    signs = {
        True: SafeString("✓ "),
        False: format_html('<span class="sr-only">{}</span>✕ ', gettext("missed")),
        None: "",
    }
    return format_html('<span title="{}">{}{}</span>', title, signs[objective.is_met], share(objective.share))


@register.filter
def day_mark(mark: str) -> str:
    """The sign of a day's state in the picker."""
    return GLYPHS[mark]


@register.filter
def weekday(day: date) -> str:
    """In as few characters as tell it."""
    return short_weekday(day)


@register.filter
def day_words(mark: str) -> str:
    """The same in words."""
    return {
        "reported": pgettext("report of a day", "reported"),
        "demo": pgettext("report of a day", "reported, from demo data"),
        "running": pgettext("report of a day", "being computed"),
        "failed": pgettext("report of a day", "failed"),
        "kept": pgettext("report of a day", "failed; an earlier report is there"),
        "missing": pgettext("report of a day", "no report"),
        "none": "",
    }[mark]


@register.filter
def percent_done(done: float) -> int:
    """Whole percent of a share that is done; never more than is done."""
    return int(100 * done)


FUNNEL: Final = (
    (Meaning.PUBLISHED, Meaning.RESPAWNED),
    (Meaning.CONSUMED, Meaning.REDELIVERED),
    (Meaning.ACKED, Meaning.FAILED, Meaning.LEASE_LOST, Meaning.RELEASED),
    (Meaning.ACKED, Meaning.DEAD, Meaning.EXPIRED, Meaning.DELETED),
)
"""What the parts of each step mean, as `funnel_of` gives them."""


@register.simple_tag
def picture(chart: Mapping[str, Any], kind: str, height: int = 200) -> SafeString:
    """A figure that charts.js draws, with its numbers in it."""
    return format_html(
        '<figure class="chart" data-chart="{}" data-height="{}">{}</figure>', kind, height, json_script(chart)
    )


@register.simple_tag
def funnel(figures: Figures, *, in_full: bool = False) -> SafeString:
    """What became of the day's jobs, as rows of bars on one scale, each followed by its numbers in words; `in_full`: to
    the last job, for paper, where nothing can be pointed at."""
    rows = funnel_of(figures)
    most = max([sum(jobs for _name, jobs in parts) for _title, parts in rows] + [1])
    drawn = (
        (_funnel_row(title, [*zip(meanings, parts, strict=True)], most, number if in_full else compact),)
        for (title, parts), meanings in zip(rows, FUNNEL, strict=True)
    )
    return format_html_join("", "{}", drawn)


def _funnel_row(
    title: str, parts: Sequence[tuple[Meaning, Part]], most: int, write: Callable[[float], str]
) -> SafeString:
    """The bar has no text: the words beside it say all."""
    bars: list[tuple[Any, ...]] = []
    at = 0.0
    for meaning, (_name, count) in parts:
        width = 100 * count / most
        if count:
            bars.append((meaning.value, f"{at:.3f}%", f"{max(width, 0.15):.3f}%"))
        at += width
    drawn = format_html_join("", '<rect class="chart-bar m-{}" x="{}" y="0" width="{}" height="100%"/>', bars)
    told = format_html_join(
        "",
        '<li{}><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="chart-bar m-{}" width="10" height="10" rx="2"/>'
        '</svg> {} <b title="{}">{}</b></li>',
        (
            (SafeString(' class="zero"') if not jobs else "", meaning.value, name, number(jobs), write(jobs))
            for meaning, (name, jobs) in parts
        ),
    )
    return format_html(
        '<div class="funnel-row"><h3>{}</h3><svg class="funnel-bar" aria-hidden="true">{}</svg><ul>{}</ul></div>',
        title,
        drawn,
        told,
    )
