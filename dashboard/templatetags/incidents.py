"""How incidents are shown: colours of severities, and where the steps beside a line lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from dashboard.formatting import SEVERITY_STYLES, per_second
from queues.services.incidents.lines import IncidentGroup, IncidentLine, Step
from queues.services.overview import Overview

register = template.Library()

_NAMES: Final[Mapping[str, Promise]] = {"critical": _("Critical"), "warning": _("Warning"), "info": _("Info")}


@register.filter
def severity_style(severity: str | None) -> str:
    """The class of a severity: bad, warn or info."""
    return SEVERITY_STYLES.get(severity or "", "")


@register.filter
def severity_name(severity: str | None) -> Promise | str:
    """`Critical`."""
    return _NAMES.get(severity or "", "")


@register.filter
def is_group(entry: IncidentLine | IncidentGroup) -> bool:
    """Whether the entry stands for several incidents."""
    return isinstance(entry, IncidentGroup)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """A link, or, with `fields`, a form that is sent to `url`. `confirm`: what is asked before."""

    url: str
    title: Promise | str
    fields: Mapping[str, str] | None = None
    confirm: str = ""


@register.filter
def steps(line: IncidentLine) -> list[ShownStep]:
    """What the reader can do about an incident, besides acknowledging it."""
    return [_SHOWN[step](line) for step in line.steps]


@register.filter
def queue_url(line: IncidentLine) -> str:
    """The queue's page at the tab that shows the jobs concerned."""
    return _queue(line, _TABS.get(line.kind, ""))


_TABS: Final[Mapping[str, str]] = {"jobs_dying": "dead", "leases_expiring": "working"}


def _place(line: IncidentLine) -> tuple[str, str, str]:
    return (line.pool, line.namespace, line.queue)


def _queue(line: IncidentLine, state: str = "") -> str:
    url = reverse("dashboard:queue", args=_place(line))
    return f"{url}?{urlencode({'state': state})}" if state else url


def _link(title: Promise, url: Callable[[IncidentLine], str]) -> Callable[[IncidentLine], ShownStep]:
    return lambda line: ShownStep(url=url(line), title=title)


def _post(title: Promise, name: str) -> Callable[[IncidentLine], ShownStep]:
    return lambda line: ShownStep(url=reverse(f"dashboard:{name}", args=_place(line)), title=title, fields={})


def _errors(line: IncidentLine) -> str:
    names = {"namespace": f"{line.pool}/{line.namespace}", "queue": line.queue}
    return f"{reverse('dashboard:dead')}?{urlencode(names)}"


def _consumers(line: IncidentLine) -> str:
    names = {"by": "queue", "namespace": f"{line.pool}/{line.namespace}", "q": line.queue}
    return f"{reverse('dashboard:consumers')}?{urlencode(names)}"


def _report(line: IncidentLine) -> str:
    day = line.facts.get("day")
    return f"{reverse('dashboard:reports')}{day}/" if day else reverse("dashboard:reports")


def _respawn(line: IncidentLine) -> ShownStep:
    question = ngettext(
        "Respawn %(count)s dead letter of %(queue)s?", "Respawn %(count)s dead letters of %(queue)s?", line.size
    )
    return ShownStep(
        url=reverse("dashboard:queue_act_on_all", args=_place(line)),
        title=_("Respawn"),
        fields={"act": "respawn", "state": "dead"},
        confirm=question % {"count": f"{line.size:,}", "queue": line.queue},
    )


_SHOWN: Final[Mapping[Step, Callable[[IncidentLine], ShownStep]]] = {
    Step.ERRORS: _link(_("View errors"), _errors),
    Step.RESPAWN: _respawn,
    Step.READY_JOBS: _link(_("Ready jobs"), lambda line: _queue(line, "ready")),
    Step.WORKING_JOBS: _link(_("Working jobs"), lambda line: _queue(line, "working")),
    Step.CONSUMERS: _link(_("Consumers"), _consumers),
    Step.PAUSE: _post(_("Pause"), "queue_pause"),
    Step.RESUME: _post(_("Resume"), "queue_resume"),
    Step.POLICY: _link(_("Edit policy"), lambda line: reverse("dashboard:queue_policy", args=_place(line))),
    Step.POOLS: _link(_("Pools and pumps"), lambda line: f"{reverse('dashboard:overview')}#pools"),
    Step.REPORT: _link(_("Report"), _report),
    Step.QUEUE: _link(_("Charts"), lambda line: _queue(line)),
}


@register.simple_tag
def status_sentence(overview: Overview) -> str:
    """How all is, in one sentence: the worst that is open, and how much more there is."""
    found, totals = overview.incidents, overview.totals
    if worst := next((entry for entry in found.entries if entry.acknowledged_at is None), None):
        if isinstance(worst, IncidentLine):
            where = worst.queue or worst.pool
            said = f"{where}: {worst.sentence}" if where else worst.sentence
        else:
            said = worst.sentence
        more = found.total - (worst.count if isinstance(worst, IncidentGroup) else 1)
        if not more:
            return said
        words = ngettext("%(worst)s; one more incident is open.", "%(worst)s; %(more)s more incidents are open.", more)
        return words % {"worst": said.rstrip(".。"), "more": f"{more:,}"}
    if not overview.taken_at_ms:
        return gettext("Not known yet: no pump has surveyed the queues.")
    if found.total:
        words = ngettext(
            "Nothing new: one incident is open and acknowledged.",
            "Nothing new: %(count)s incidents are open and acknowledged.",
            found.total,
        )
        return words % {"count": f"{found.total:,}"}
    return gettext("All is well: %(ready)s ready, %(working)s working, %(acked)s acked.") % {
        "ready": f"{totals.ready:,}",
        "working": f"{totals.working:,}",
        "acked": per_second(totals.acked_per_s),
    }
