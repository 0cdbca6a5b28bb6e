"""The columns that the list of queues can have: heading, order, and what a row shows in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queues.engine import JobState
from queues.engine.stats.minutes import Minute
from queues.services.queues.listing import SEVERITY, QueueRow

from .formatting import NOTHING, SEVERITY_STYLES, age, brief_duration, compact, duration, number, rate
from .series import Meaning
from .sparkline import sparkline

Minutes = Sequence[Minute]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a row shows. `title`: what is said of it on hover. `tone`: bad or warn. `is_quiet`: nothing to look at."""

    content: SafeString | str
    title: str = ""
    tone: str = ""
    is_quiet: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column. `sort`: the key of SORT_KEYS, "" if it has no order. `kind`: number, spark or text."""

    key: str
    title: Promise | str
    about: Promise | str
    cell: Callable[[QueueRow, Minutes], Cell]
    sort: str = ""
    kind: str = "number"


def _status(row: QueueRow, _minutes: Minutes) -> Cell:
    if not row.is_current:
        return Cell(content=NOTHING, title=gettext("No pump surveys this pool."), is_quiet=True)
    paused = format_html('<span class="pill info">{}</span>', gettext("Paused"))
    troubles = [trouble for trouble in row.troubles if trouble.kind != "paused"]
    if troubles:
        worst, *others = troubles
        pill = format_html('<span class="pill {}">{}</span>', SEVERITY_STYLES.get(worst.severity, ""), worst.title)
        if row.queue.paused:
            pill = format_html("{} {}", pill, paused)
        if not others:
            return Cell(content=pill)
        said = ", ".join(str(other.title) for other in others)
        return Cell(content=format_html('{} <span class="muted" title="{}">+{}</span>', pill, said, len(others)))
    if row.queue.paused:
        return Cell(content=paused)
    return Cell(content=gettext("Idle") if row.is_idle else gettext("OK"), is_quiet=True)


def _backlog(_row: QueueRow, minutes: Minutes) -> Cell:
    counts = [minute.jobs[JobState.READY] for minute in minutes if minute.jobs is not None]
    if not any(counts):
        return Cell(content="", is_quiet=True)
    said = {"least": compact(min(counts)), "most": compact(max(counts))}
    return Cell(content=sparkline(counts, gettext("%(least)s to %(most)s ready jobs in 30 minutes") % said))


def _acks(_row: QueueRow, minutes: Minutes) -> Cell:
    acked = [minute.acked for minute in minutes]
    if not any(acked):
        return Cell(content="", is_quiet=True)
    said = {"count": sum(acked), "minutes": len(acked)}
    return Cell(content=sparkline(acked, gettext("%(count)s acked in %(minutes)s minutes") % said, Meaning.ACKED))


def _oldest(row: QueueRow, _minutes: Minutes) -> Cell:
    if row.oldest_ms is None:
        return Cell(content=NOTHING, is_quiet=True)
    return Cell(
        content=format_html('{} <span class="muted">/ {}</span>', age(row.oldest_ms), age(row.objective_ms)),
        title=gettext("Oldest ready job, and the age that none should exceed"),
        tone="bad" if row.is_late else "",
    )


def _failing(row: QueueRow, _minutes: Minutes) -> Cell:
    share = row.failing
    if not share:
        return Cell(content=NOTHING if share is None else "0 %", is_quiet=True)
    return Cell(content=f"{100 * share:.2g} %" if share < 0.995 else "100 %", tone="warn")


def _count(name: str, *, tone: str = "") -> Callable[[QueueRow, Minutes], Cell]:
    def cell(row: QueueRow, _minutes: Minutes) -> Cell:
        found: int = getattr(row.queue, name)
        exact = number(found) if found >= 1_000 else ""
        return Cell(content=compact(found), title=exact, tone=tone if found else "", is_quiet=not found)

    return cell


def _rate(name: str, *, tone: str = "") -> Callable[[QueueRow, Minutes], Cell]:
    def cell(row: QueueRow, _minutes: Minutes) -> Cell:
        found: float = getattr(row.queue, name)
        return Cell(content=rate(found), tone=tone if found else "", is_quiet=not found)

    return cell


def _time(name: str) -> Callable[[QueueRow, Minutes], Cell]:
    def cell(row: QueueRow, _minutes: Minutes) -> Cell:
        found: float | None = getattr(row.queue, name)
        exact = "" if found is None else duration(found)
        return Cell(content=brief_duration(found), title=exact, is_quiet=found is None)

    return cell


_WAIT: Final = _("Due → delivered, last 5 minutes")
_RUN: Final = _("Delivered → acked, last 5 minutes")
_LAST_MINUTE: Final = _("Per second, last minute")

COLUMNS: Final[Mapping[str, Column]] = {
    column.key: column
    for column in (
        Column(key="status", title=_("Status"), about="", cell=_status, sort=SEVERITY, kind="text"),
        Column(key="backlog", title=_("Backlog"), about=_("Ready jobs, last 30 minutes"), cell=_backlog, kind="spark"),
        Column(key="ready", title=_("Ready"), about="", cell=_count("ready"), sort="ready"),
        Column(key="oldest", title=_("Oldest"), about=_("Oldest ready job / objective"), cell=_oldest, sort="oldest"),
        Column(key="acked", title=_("Acked/s"), about=_LAST_MINUTE, cell=_rate("acked_per_s"), sort="acked"),
        Column(
            key="failing",
            title=_("Failing"),
            about=_("Attempts that failed, last minute"),
            cell=_failing,
            sort="failing",
        ),
        Column(key="wait_p95", title=_("Wait p95"), about=_WAIT, cell=_time("wait_p95"), sort="wait_p95"),
        Column(key="working", title=_("Working"), about="", cell=_count("working"), sort="working"),
        Column(key="delayed", title=_("Delayed"), about="", cell=_count("delayed"), sort="delayed"),
        Column(key="retry", title=_("Retry"), about="", cell=_count("retry"), sort="retry"),
        Column(key="dead", title=_("Dead"), about="", cell=_count("dead", tone="bad"), sort="dead"),
        Column(key="completed", title=_("Completed"), about="", cell=_count("completed"), sort="completed"),
        Column(
            key="published", title=_("Published/s"), about=_LAST_MINUTE, cell=_rate("published_per_s"), sort="published"
        ),
        Column(
            key="consumed", title=_("Consumed/s"), about=_LAST_MINUTE, cell=_rate("consumed_per_s"), sort="consumed"
        ),
        Column(
            key="failed",
            title=_("Failed/s"),
            about=_LAST_MINUTE,
            cell=_rate("failed_per_s", tone="warn"),
            sort="failed",
        ),
        Column(key="acks", title=_("Acks"), about=_("Acked jobs, last 30 minutes"), cell=_acks, kind="spark"),
        Column(key="wait_p50", title=_("Wait p50"), about=_WAIT, cell=_time("wait_p50"), sort="wait_p50"),
        Column(key="wait_p99", title=_("Wait p99"), about=_WAIT, cell=_time("wait_p99"), sort="wait_p99"),
        Column(key="run_p50", title=_("Run p50"), about=_RUN, cell=_time("run_p50"), sort="run_p50"),
        Column(key="run_p95", title=_("Run p95"), about=_RUN, cell=_time("run_p95"), sort="run_p95"),
        Column(key="run_p99", title=_("Run p99"), about=_RUN, cell=_time("run_p99"), sort="run_p99"),
    )
}
"""All of them, in the order in which they stand."""

DEFAULT: Final = ("status", "backlog", "ready", "oldest", "acked", "failing", "wait_p95", "working", "dead")


def choose_columns(keys: Iterable[str]) -> tuple[str, ...]:
    """Those of `keys` that are columns, in the order of COLUMNS."""
    wanted = frozenset(keys)
    return tuple(key for key in COLUMNS if key in wanted)
