"""Writes down which channels are to be told of changes of incidents: once per channel, incident and event.

That an incident is over is told when it has been for SETTLE. If it is reopened before, nobody is told of either, so
that a cause that comes and goes is one alert.

Called within the transaction that changes the incidents, so that what is told has happened, and what has happened is
told whatever dies next.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from queues.models import AlertChannel, AlertDelivery, AlertEvent, Incident, IncidentChange, IncidentChangeKind

from ..severity import RANKS

_TELLS: Final = frozenset(
    {
        IncidentChangeKind.OPENED,
        IncidentChangeKind.REOPENED,
        IncidentChangeKind.SEVERITY,
        IncidentChangeKind.RESOLVED,
    }
)
BATCH: Final = 500

SETTLE: Final = timedelta(minutes=5)
"""Shorter than incidents are reopened for: what comes back later than that is told again."""

_Told = dict[tuple[int, int], int]
"""Channel and incident → rank of the worst severity that was told since the incident was last over."""


def queue_alerts(changes: Sequence[IncidentChange], *, now: datetime) -> int:
    """How many things are to be told. An incident whose severity has fallen is not: it goes on."""
    telling = [change for change in changes if change.change in _TELLS]
    channels = list(AlertChannel.objects.filter(enabled=True).select_related("namespace__pool")) if telling else []
    if not channels:
        return 0
    _forget_settling({change.incident_id for change in telling if change.change == IncidentChangeKind.REOPENED}, now)
    told = _told({change.incident_id for change in telling})
    new = [
        AlertDelivery(
            channel=channel,
            incident=change.incident,
            event=event,
            severity=change.severity,
            occurrence=change.incident.reopened,
            size=change.size,
            created_at=now,
            due_at=now + SETTLE if event == AlertEvent.RESOLVED else now,
        )
        for change in telling
        for channel in channels
        if concerns(channel, change.incident) and (event := _event(channel, change, told)) is not None
    ]
    AlertDelivery.objects.bulk_create(new, ignore_conflicts=True, batch_size=BATCH)
    return len(new)


def concerns(channel: AlertChannel, incident: Incident) -> bool:
    """Whether a channel is for incidents such as this. By the row of the namespace, not by its name."""
    if channel.kinds and incident.kind not in channel.kinds:
        return False
    owner = channel.namespace
    if owner is None:
        return True
    if not incident.namespace:
        return incident.pool in ("", owner.pool.name)
    return incident.scope_id == owner.pk


def _event(channel: AlertChannel, change: IncidentChange, told: _Told) -> AlertEvent | None:
    known = told.get((channel.pk, change.incident_id))
    if change.change == IncidentChangeKind.RESOLVED:
        return None if known is None else AlertEvent.RESOLVED
    rank = RANKS[change.severity]
    if rank > RANKS[channel.min_severity]:
        return None
    if known is None:
        return AlertEvent.OPENED
    return AlertEvent.WORSE if rank < known else None


def settling(now: datetime) -> Q:
    """Of alerts: those that tell of an end which may not last."""
    return Q(event=AlertEvent.RESOLVED, due_at__gt=now, attempts=0, claim="", sent_at=None, failed_at=None)


def _forget_settling(reopened: set[int], now: datetime) -> None:
    if reopened:
        AlertDelivery.objects.filter(settling(now), incident__in=reopened).delete()


def _told(incidents: set[int]) -> _Told:
    told: _Told = {}
    rows = AlertDelivery.objects.filter(incident__in=incidents).exclude(event=AlertEvent.TEST).order_by("pk")
    for channel, incident, event, severity in rows.values_list("channel", "incident", "event", "severity"):
        if event == AlertEvent.RESOLVED:
            told.pop((channel, incident), None)
        else:
            told[channel, incident] = min(told.get((channel, incident), len(RANKS)), RANKS[severity])
    return told
