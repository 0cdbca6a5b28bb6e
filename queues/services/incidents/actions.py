"""What people do with incidents: acknowledge them, take that back, add notes. Incidents end by themselves.

It takes the operator's right in the incident's namespace; for what concerns more than one namespace, a superuser.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from queues.models import ActivityAction, Incident, IncidentChange, IncidentChangeKind
from queues.models.incident import NOTE_MAX

from ..activity import note_activity
from ..errors import InvalidArgumentError, RoleTooLowError
from ..permissions import Role, User, check_role, sees_everything
from .reading import find_row


def acknowledge_incident(*, user: User, pk: int, note: str = "") -> bool:
    """Say that somebody sees to it. False: it is resolved, or acknowledged already; then only the note is kept.

    Raises IncidentNotFoundError, RoleTooLowError, InvalidArgumentError.
    """
    note = _checked(note)
    row = _find(user, pk)
    who = user.get_username()[:150]
    with transaction.atomic():
        waiting = Incident.objects.filter(pk=pk, resolved_at=None, acknowledged_at=None)
        changed = bool(waiting.update(acknowledged_at=timezone.now(), acknowledged_by=who))
        if changed:
            _write(row, IncidentChangeKind.ACKNOWLEDGED, user, note)
        elif note:
            _write(row, IncidentChangeKind.NOTED, user, note)
    if changed:
        _note(user, ActivityAction.INCIDENT_ACKNOWLEDGED, row)
    elif note:
        _note(user, ActivityAction.INCIDENT_NOTED, row)
    return changed


def unacknowledge_incident(*, user: User, pk: int) -> bool:
    """Take the acknowledgement back. False: there was none. Raises IncidentNotFoundError, RoleTooLowError."""
    row = _find(user, pk)
    with transaction.atomic():
        rows = Incident.objects.filter(pk=pk, resolved_at=None).exclude(acknowledged_at=None)
        changed = bool(rows.update(acknowledged_at=None, acknowledged_by=""))
        if changed:
            _write(row, IncidentChangeKind.UNACKNOWLEDGED, user, "")
    if changed:
        _note(user, ActivityAction.INCIDENT_UNACKNOWLEDGED, row)
    return changed


def add_note(*, user: User, pk: int, note: str) -> None:
    """Write something down, of a resolved incident, too.

    Raises IncidentNotFoundError, RoleTooLowError, InvalidArgumentError.
    """
    note = _checked(note)
    if not note:
        raise InvalidArgumentError("invalid note: it is empty")
    row = _find(user, pk)
    _write(row, IncidentChangeKind.NOTED, user, note)
    _note(user, ActivityAction.INCIDENT_NOTED, row)


def _checked(note: str) -> str:
    note = note.strip()
    if len(note) > NOTE_MAX or "\0" in note:
        raise InvalidArgumentError(f"invalid note: at most {NOTE_MAX:,} characters")
    return note


def _find(user: User, pk: int) -> Incident:
    row = find_row(user=user, pk=pk)
    if row.namespace and row.scope_id is not None:
        check_role(user=user, pool=row.pool, namespace=row.namespace, needed=Role.OPERATE)
    elif not sees_everything(user):
        raise RoleTooLowError
    return row


def _write(row: Incident, change: IncidentChangeKind, user: User, note: str) -> None:
    IncidentChange.objects.create(
        incident=row,
        change=change,
        user_id=user.pk,
        who=user.get_username()[:150],
        note=note,
        severity=row.severity,
        size=row.size,
    )


def _note(user: User, action: ActivityAction, row: Incident) -> None:
    note_activity(
        user=user,
        action=action,
        pool=row.pool,
        namespace=row.namespace,
        queue=row.queue,
        target=f"#{row.pk}",
        detail=row.kind,
    )
