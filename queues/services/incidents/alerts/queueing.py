"""Writes down which channels are to be told of changes of incidents: once per channel, incident, event and occurrence.

Called within the transaction that changes the incidents, so that what is told has happened, and what has happened is
told whatever dies next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final

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

_Told = dict[tuple[int, int, int], int]
"""Channel, incident and occurrence → rank of the worst severity that was told."""


def queue_alerts(changes: Sequence[IncidentChange], *, now: datetime) -> int:
    """How many things are to be told. An incident whose severity has fallen is not: it goes on."""
    telling = [change for change in changes if change.change in _TELLS]
    channels = list(AlertChannel.objects.filter(enabled=True).select_related("namespace__pool")) if telling else []
    if not channels:
        return 0
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
            due_at=now,
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
    key = (channel.pk, change.incident_id, change.incident.reopened)
    known = told.get(key)
    if change.change == IncidentChangeKind.RESOLVED:
        return None if known is None else AlertEvent.RESOLVED
    rank = RANKS[change.severity]
    if rank > RANKS[channel.min_severity]:
        return None
    if known is None:
        return AlertEvent.OPENED
    return AlertEvent.WORSE if rank < known else None


def _told(incidents: set[int]) -> _Told:
    told: _Told = defaultdict(lambda: len(RANKS))
    rows = AlertDelivery.objects.filter(incident__in=incidents, event__in=[AlertEvent.OPENED, AlertEvent.WORSE])
    for channel, incident, occurrence, severity in rows.order_by().values_list(
        "channel", "incident", "occurrence", "severity"
    ):
        key = (channel, incident, occurrence)
        told[key] = min(told[key], RANKS[severity])
    return dict(told)
