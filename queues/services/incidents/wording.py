"""What pages and alerts say of an incident, in the active language: one sentence, what it means, what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from queues.models import IncidentKind, IncidentSeverity

from ..time_units import TIME_UNITS, in_unit
from .findings import Fact

Facts = Mapping[str, Fact]


def say(kind: str, *, size: int, facts: Facts) -> str:
    """One sentence with the numbers of now: `No active consumers: 3 jobs are ready, the oldest for 20 s.`"""
    words = _SENTENCES.get(kind)
    return words(size, facts) if words is not None else f"{kind}: {size}"


def say_group(kind: str, *, count: int, size: int) -> str:
    """One sentence for several of a kind: `24 queues without consumers, 31 jobs`."""
    figures = {"count": f"{count:,}", "size": f"{size:,}"}
    if kind == IncidentKind.NO_CONSUMER:
        return _("%(count)s queues without consumers, %(size)s jobs") % figures
    if kind == IncidentKind.TOO_SLOW:
        return _("%(count)s queues are too slow, %(size)s jobs wait") % figures
    if kind == IncidentKind.JOBS_DYING:
        return _("%(count)s queues with dead letters, %(size)s jobs") % figures
    if kind == IncidentKind.LEASES_EXPIRING:
        return _("%(count)s queues whose leases expire, %(size)s in the last 5 min") % figures
    if kind == IncidentKind.PAUSED:
        return _("%(count)s paused queues, %(size)s jobs wait") % figures
    return f"{title_of(kind)}: {count:,}"


def title_of(kind: str) -> str:
    """`No consumer`; the value itself of a kind that a later version knew."""
    return str(IncidentKind(kind).label) if kind in IncidentKind.values else kind


def meaning_of(kind: str) -> str:
    """What it means for jobs, and what to do about it."""
    words = _MEANINGS.get(kind)
    return "" if words is None else str(words)


def span(seconds: float) -> str:
    """`95` → `1 min`: whole numbers of the largest unit that fits."""
    size = next((size for size, _unit in TIME_UNITS if seconds * 1_000 >= size >= 1_000), 1_000)
    return in_unit(int(max(0, seconds) * 1_000 // size), size)


def _number(facts: Facts, name: str, default: int = 0) -> int:
    value = facts.get(name)
    return int(value) if isinstance(value, int | float) else default


def _span(facts: Facts, name: str) -> str:
    return span(_number(facts, name))


def _no_consumer(size: int, facts: Facts) -> str:
    words = ngettext(
        "No active consumers: %(size)s job is ready, for %(oldest)s.",
        "No active consumers: %(size)s jobs are ready, the oldest for %(oldest)s.",
        size,
    )
    return words % {"size": f"{size:,}", "oldest": _span(facts, "oldest_s")}


def _too_slow(size: int, facts: Facts) -> str:
    words = ngettext(
        "Too slow: %(size)s job is ready and has waited for %(oldest)s; the objective is %(objective)s.",
        "Too slow: of %(size)s ready jobs the oldest has waited for %(oldest)s; the objective is %(objective)s.",
        size,
    )
    figures = {"size": f"{size:,}", "oldest": _span(facts, "oldest_s"), "objective": _span(facts, "objective_s")}
    return words % figures


def _jobs_dying(size: int, facts: Facts) -> str:
    died = _number(facts, "died")
    figures = {"died": f"{died:,}", "size": f"{size:,}"}
    if died:
        words = ngettext(
            "%(died)s job died in the last 5 min (%(size)s in total).",
            "%(died)s jobs died in the last 5 min (%(size)s in total).",
            died,
        )
        return words % figures + _muted(facts)
    words = ngettext(
        "%(size)s dead letter; none died in the last 5 min.",
        "%(size)s dead letters; none died in the last 5 min.",
        size,
    )
    return words % figures + _muted(facts)


def _muted(facts: Facts) -> str:
    muted = _number(facts, "muted")
    return " " + _("%(muted)s more are muted.") % {"muted": f"{muted:,}"} if muted else ""


def _leases_expiring(size: int, facts: Facts) -> str:
    words = ngettext("%(size)s lease expired in the last 5 min.", "%(size)s leases expired in the last 5 min.", size)
    return words % {"size": f"{size:,}"}


def _paused(size: int, facts: Facts) -> str:
    words = ngettext(
        "Paused: %(size)s job is ready, for %(oldest)s.",
        "Paused: %(size)s jobs are ready, the oldest for %(oldest)s.",
        size,
    )
    return words % {"size": f"{size:,}", "oldest": _span(facts, "oldest_s")}


def _redis_full(size: int, facts: Facts) -> str:
    return _("Redis is %(percent)s %% full.") % {"percent": _number(facts, "percent")}


def _pump_away(size: int, facts: Facts) -> str:
    silent_s = _number(facts, "silent_s")
    if silent_s:
        return _("No pump: the last heartbeat was %(silent)s ago.") % {"silent": span(silent_s)}
    return _("No pump has ever reported.")


def _pump_late(size: int, facts: Facts) -> str:
    return _("The pump is %(behind)s behind.") % {"behind": _span(facts, "behind_s")}


def _events_dropped(size: int, facts: Facts) -> str:
    if not size:  # how many are for those who see everything
        return _("Events were dropped.")
    words = ngettext("%(size)s event was dropped.", "%(size)s events were dropped.", size)
    return words % {"size": f"{size:,}"}


def _report_failed(size: int, facts: Facts) -> str:
    return _("The report of %(day)s could not be made.") % {"day": facts.get("day", "")}


def _objective_burn(size: int, facts: Facts) -> str:
    rate = facts.get("burn_rate")
    if not isinstance(rate, int | float):
        return _("The objective is at risk.")
    return _(
        "The error budget burns %(rate)s times too fast: in the last %(window)s, %(late)s of %(total)s deliveries "
        "came later than after %(objective)s s."
    ) % {
        "rate": f"{rate:g}",
        "window": _window(str(facts.get("window") or "")),
        "late": f"{_number(facts, 'late'):,}",
        "total": f"{_number(facts, 'total'):,}",
        "objective": f"{_number(facts, 'objective_s'):,}",
    }


_WINDOW_UNITS: Final = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _window(name: str) -> str:
    """`1h`, as alerts name it, in the reader's language."""
    size = _WINDOW_UNITS.get(name[-1:])
    return in_unit(name[:-1], size) if size is not None and name[:-1].isdecimal() else name


_SENTENCES: Final[Mapping[str, Callable[[int, Facts], str]]] = {
    IncidentKind.NO_CONSUMER: _no_consumer,
    IncidentKind.TOO_SLOW: _too_slow,
    IncidentKind.JOBS_DYING: _jobs_dying,
    IncidentKind.LEASES_EXPIRING: _leases_expiring,
    IncidentKind.PAUSED: _paused,
    IncidentKind.REDIS_AWAY: lambda size, facts: _("Redis does not answer."),
    IncidentKind.REDIS_UNUSABLE: lambda size, facts: _("Redis cannot be used in its present state."),
    IncidentKind.REDIS_FULL: _redis_full,
    IncidentKind.PUMP_AWAY: _pump_away,
    IncidentKind.PUMP_LATE: _pump_late,
    IncidentKind.EVENTS_DROPPED: _events_dropped,
    IncidentKind.REPORT_FAILED: _report_failed,
    IncidentKind.OBJECTIVE_BURN: _objective_burn,
}

_MEANINGS: Final[Mapping[str, Promise]] = {
    IncidentKind.NO_CONSUMER: gettext_lazy("Start a consumer or a worker for this queue, or pause it."),
    IncidentKind.TOO_SLOW: gettext_lazy("Add consumers, or find out why jobs take so long."),
    IncidentKind.JOBS_DYING: gettext_lazy(
        "Read the errors, mend the cause, then respawn the dead letters or delete them. They stay until you do."
    ),
    IncidentKind.LEASES_EXPIRING: gettext_lazy(
        "Consumers crash, or need more time than the lease allows. The jobs are delivered again."
    ),
    IncidentKind.PAUSED: gettext_lazy("Nothing is delivered until the queue is resumed; publishing goes on."),
    IncidentKind.REDIS_AWAY: gettext_lazy("No job is lost, but clients cannot publish or consume. Start Redis."),
    IncidentKind.REDIS_UNUSABLE: gettext_lazy("Clients cannot publish or consume until that is mended."),
    IncidentKind.REDIS_FULL: gettext_lazy("When it is full, publishes are refused. Add memory, or delete jobs."),
    IncidentKind.PUMP_AWAY: gettext_lazy(
        "Delayed jobs become ready only in queues with a consumer, and jobs whose lease has expired do not come back. "
        "Start one with the command runpump."
    ),
    IncidentKind.PUMP_LATE: gettext_lazy("Due jobs and expired leases wait for it. Look at its log and its Redis."),
    IncidentKind.EVENTS_DROPPED: gettext_lazy(
        "The pool's memory for events was full before a pump had written them to the lake. The day's report lacks "
        "them; jobs are safe."
    ),
    IncidentKind.REPORT_FAILED: gettext_lazy("Jobs are not affected. The page of the report says why."),
    IncidentKind.OBJECTIVE_BURN: gettext_lazy("Jobs are delivered too late for the objective. Look at the charts."),
}


def kinds() -> list[tuple[str, str]]:
    """Values and titles of all kinds, in the order of the pages, for filters."""
    return [(kind.value, str(kind.label)) for kind in IncidentKind]


def severities() -> list[tuple[str, str]]:
    """Values and names, the worst first."""
    return [(severity.value, str(severity.label)) for severity in IncidentSeverity]
