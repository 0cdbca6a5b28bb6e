"""Words alerts: the JSON of a webhook, the text of a Slack-compatible one, an e-mail.

A webhook tells one thing, so that programs need not take it apart. People are told of all that is due at once in one
message, alike ones together: 24 queues without consumers are one line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from queues.models import AlertDelivery, AlertEvent, Incident

from ..lines import told_facts
from ..severity import RANKS, worst_of
from ..wording import meaning_of, say, say_group, title_of

LINES_MAX: Final = 10
"""Lines of one message; what is beyond is counted."""

_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Of Slack's markup. Names of queues have none of these; facts might."""


def webhook_payload(delivery: AlertDelivery) -> Mapping[str, Any]:
    """As the Standard Webhooks specification recommends: type, timestamp, data."""
    incident = delivery.incident
    if incident is None:
        return {"type": "alert.test", "timestamp": _iso(delivery.created_at), "data": {}}
    return {
        "type": f"incident.{delivery.event}",
        "timestamp": _iso(delivery.created_at),
        "data": {
            "incident": incident.pk,
            "kind": incident.kind,
            "severity": delivery.severity,
            "pool": incident.pool,
            "namespace": incident.namespace,
            "queue": incident.queue,
            "size": size_for(delivery),
            "share": incident.share,
            "facts": facts_for(delivery),
            "since": _iso(incident.since),
            "opened_at": _iso(incident.opened_at),
            "resolved_at": _iso(delivery.created_at) if delivery.event == AlertEvent.RESOLVED else None,
            "reopened": delivery.occurrence,
            "acknowledged_by": incident.acknowledged_by or None,
            "text": _sentence(delivery),
            "url": url_of(incident),
        },
    }


def slack_payload(deliveries: Sequence[AlertDelivery]) -> Mapping[str, Any]:
    """What Slack, Mattermost, Rocket.Chat and others take: a text, with links as `<URL|words>`."""
    lines = [_with_link(text, incident) for text, incident in _lines(deliveries)]
    return {"text": "\n".join([f"*{subject_of(deliveries).translate(_ESCAPES)}*", *lines])}


def mail_text(deliveries: Sequence[AlertDelivery]) -> str:
    """The text of an e-mail."""
    parts = []
    for text, incident in _lines(deliveries):
        parts.append(f"- {text}")
        if incident is not None:
            if incident.resolved_at is None and (meaning := meaning_of(incident.kind)):
                parts.append(f"  {meaning}")
            if url := url_of(incident):
                parts.append(f"  {url}")
    return "\n".join(parts) + "\n"


def subject_of(deliveries: Sequence[AlertDelivery]) -> str:
    """`taskq: Critical: 3 incidents, 1 resolved`."""
    begun = [one for one in deliveries if one.event in (AlertEvent.OPENED, AlertEvent.WORSE)]
    resolved = sum(one.event == AlertEvent.RESOLVED for one in deliveries)
    parts = []
    if worst := worst_of(one.severity for one in begun):
        incidents = ngettext("%(count)s incident", "%(count)s incidents", len(begun)) % {"count": len(begun)}
        parts.append(f"{worst.label}: {incidents}")
    if resolved:
        parts.append(gettext("%(count)s resolved") % {"count": resolved})
    return "taskq: " + (", ".join(parts) or gettext("this is a test"))


def size_for(delivery: AlertDelivery) -> int:
    """Of a whole pool only those are told how many jobs there are who are told of all namespaces."""
    return delivery.size if _is_told_all(delivery) else 0


def facts_for(delivery: AlertDelivery) -> Mapping[str, Any]:
    """Likewise: not what an error says, which may name hosts."""
    facts = delivery.incident.facts if delivery.incident else {}
    return facts if _is_told_all(delivery) else told_facts(facts)


def _is_told_all(delivery: AlertDelivery) -> bool:
    incident = delivery.incident
    return delivery.channel.namespace_id is None or bool(incident and incident.namespace)


def url_of(incident: Incident) -> str:
    """Its page, if TASKQ_PUBLIC_URL says where this installation is."""
    base = settings.TASKQ_PUBLIC_URL
    return f"{base}{reverse('dashboard:incident', args=[incident.pk])}" if base else ""


def _lines(deliveries: Sequence[AlertDelivery]) -> Iterator[tuple[str, Incident | None]]:
    """Text and incident of each line, the worst first; several of a kind are one line without an incident."""
    groups: dict[tuple[str, str], list[AlertDelivery]] = defaultdict(list)
    for one in deliveries:
        groups[one.event, one.incident.kind if one.incident else ""].append(one)
    ordered = sorted(groups.values(), key=lambda group: min(RANKS[one.severity] for one in group))
    for group in ordered[:LINES_MAX]:
        yield _line(group)
    if len(ordered) > LINES_MAX:
        yield gettext("and %(count)s more") % {"count": len(ordered) - LINES_MAX}, None


def _line(group: Sequence[AlertDelivery]) -> tuple[str, Incident | None]:
    first = group[0]
    if first.incident is None:
        return gettext("This is a test of this channel."), None
    if len(group) == 1:
        return f"{_prefix(first)} {_place(first.incident)}: {_sentence(first)}", first.incident
    kind = first.incident.kind
    size = sum(size_for(one) for one in group)
    return f"{_prefix(first)} {say_group(kind, count=len(group), size=size)}", None


def _prefix(delivery: AlertDelivery) -> str:
    if delivery.event == AlertEvent.RESOLVED:
        resolved = gettext("Resolved")
        return f"[{resolved}]"
    return f"[{delivery.get_severity_display()}]"


def _place(incident: Incident) -> str:
    if incident.queue:
        return f"{incident.namespace}/{incident.queue}"
    if incident.pool:
        return gettext("Pool %(pool)s") % {"pool": incident.pool}
    return "taskq"


def _sentence(delivery: AlertDelivery) -> str:
    incident = delivery.incident
    assert incident is not None, "the caller has looked"
    if delivery.event == AlertEvent.RESOLVED:
        return gettext("%(title)s is over.") % {"title": title_of(incident.kind)}
    return say(incident.kind, size=size_for(delivery), facts=facts_for(delivery))


def _with_link(text: str, incident: Incident | None) -> str:
    escaped = text.translate(_ESCAPES)
    url = url_of(incident) if incident is not None else ""
    label = gettext("Open")
    return f"{escaped} <{url}|{label}>" if url else escaped


def _iso(moment: Any) -> str:
    return str(moment.isoformat(timespec="seconds")).replace("+00:00", "Z")
