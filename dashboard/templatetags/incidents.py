"""How incidents are shown: colours of severities, and where the steps beside a line lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from dashboard.formatting import SEVERITY_STYLES, age
from queues.services.incidents.lines import IncidentGroup, IncidentLine, Step

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
def lasted(since: datetime | None) -> str:
    """`3 min`: how long ago that was."""
    return age(None if since is None else max(0.0, (timezone.now() - since).total_seconds() * 1_000))


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
