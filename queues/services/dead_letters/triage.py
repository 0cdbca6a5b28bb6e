"""Triage: people assign and mute the dead letters of a namespace whose errors have one pattern.

A muted group is left out of incidents. How many of a queue's dead letters are muted is counted when a group is muted,
and then once a minute by the pumps, by looking at the newest COUNTED_MAX dead letters of the namespace; what is behind
them is not muted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db.models import Q, QuerySet
from django.utils import timezone

from queues.engine.errors import TaskqError
from queues.lake.error_patterns import PATTERN_MAX
from queues.models import ErrorTriage, Namespace
from queues.models.incident import NOTE_MAX
from queues.pools.database import read_metadata

from ..activity import ActivityAction, note_activity
from ..errors import InvalidArgumentError, NamespaceNotFoundError
from ..permissions import Role, User, check_role
from ..queues.muted_letters import forget_muted, muted_groups
from .filtering import DeadFilter, find_dead_queues_of
from .scanning import scan_queues

MUTE_MAX: Final = timedelta(days=365)
USERS_MAX: Final = 200
"""Users of a namespace to whom a group can be assigned, in order of their names."""

COUNT_EVERY: Final = timedelta(minutes=1)
COUNTED_MAX: Final = 20_000
COUNTED_AT_ONCE: Final = 2_000
LATELY_MS: Final = 300_000
"""As of `died` in the finding of an incident."""


def assign_group(*, user: User, pool: str, namespace: str, pattern: str, username: str, note: str = "") -> None:
    """Say who sees to a group; an empty `username`: nobody. `note`: what that person should know.

    Raises NamespaceNotFoundError, RoleTooLowError, InvalidArgumentError, MetadataUnavailableError.
    """
    row = _find(user, pool, namespace, pattern)
    note = note.strip()
    if len(note) > NOTE_MAX or "\0" in note:
        raise InvalidArgumentError("invalid note")
    assignee = None
    if username:
        assignee = None if "\0" in username else _users(row.namespace).filter(username=username).first()
        if assignee is None:
            raise InvalidArgumentError("invalid user")
    row.assignee = assignee
    row.assigned_to = username[:150]
    row.assigned_by, row.assigned_at = user.get_username()[:150], timezone.now()
    row.note = note
    row.save(update_fields=["assignee", "assigned_to", "assigned_by", "assigned_at", "note"])
    _note(user, ActivityAction.ERRORS_ASSIGNED, row, f"to: {username or '-'}")


def mute_group(
    *,
    user: User,
    pool: str,
    namespace: str,
    pattern: str,
    lasting: timedelta | None = None,
    until_doubled: bool = False,
) -> int:
    """Leave a group out of incidents: for so long, or until there are twice as many. How many there are.

    Raises NamespaceNotFoundError, RoleTooLowError, InvalidArgumentError, StoreUnavailableError,
    MetadataUnavailableError.
    """
    if (lasting is None) != until_doubled or (lasting is not None and not timedelta(0) < lasting <= MUTE_MAX):
        raise InvalidArgumentError("invalid time")
    row = _find(user, pool, namespace, pattern)
    counts = _count(pool, namespace, {pattern})[pattern]
    count = sum(dead for dead, _ in counts.values())
    now = timezone.now()
    row.muted_at, row.muted_by = now, user.get_username()[:150]
    row.muted_until = None if lasting is None else now + lasting
    row.mute_below = max(2, 2 * count) if until_doubled else None
    row.counts, row.counted_at = counts, now
    row.save(update_fields=["muted_at", "muted_by", "muted_until", "mute_below", "counts", "counted_at"])
    how = f"below: {row.mute_below}" if row.muted_until is None else f"until: {row.muted_until:%Y-%m-%d %H:%M} UTC"
    _note(user, ActivityAction.ERRORS_MUTED, row, how)
    forget_muted()
    return count


def unmute_group(*, user: User, pool: str, namespace: str, pattern: str) -> None:
    """Count a group in incidents again. Raises NamespaceNotFoundError, RoleTooLowError, MetadataUnavailableError."""
    row = _find(user, pool, namespace, pattern)
    if row.muted_at is not None and _unmute(row):
        _note(user, ActivityAction.ERRORS_UNMUTED, row, "")


def list_users(*, pool: str, namespace: str) -> Sequence[str]:
    """Names of those to whom a group of the namespace can be assigned. The caller has checked that it may be seen."""
    row = Namespace.objects.filter(pool__name=pool, name=namespace).first()
    if row is None:
        return []
    names = _users(row).order_by("username").values_list("username", flat=True)
    return read_metadata(lambda: list(names[:USERS_MAX]))


def list_triage(
    *, places: Collection[tuple[str, str]], patterns: Collection[str]
) -> Mapping[tuple[str, str, str], ErrorTriage]:
    """What was decided, by pool, namespace and pattern. The caller has checked that the places may be seen."""
    if not places or not patterns:
        return {}
    rows = ErrorTriage.objects.filter(
        namespace__pool__name__in={pool for pool, _ in places},
        namespace__name__in={name for _, name in places},
        pattern__in=list(patterns),
    ).select_related("namespace__pool")
    found = read_metadata(lambda: list(rows))
    return {(row.namespace.pool.name, row.namespace.name, row.pattern): row for row in found}


def is_muted(row: ErrorTriage, *, now: datetime | None = None) -> bool:
    """Whether incidents leave it out at this moment."""
    return row.muted_at is not None and (row.muted_until is None or row.muted_until > (now or timezone.now()))


def _find(user: User, pool: str, namespace: str, pattern: str) -> ErrorTriage:
    check_role(user=user, pool=pool, namespace=namespace, needed=Role.OPERATE)
    if not 0 < len(pattern) <= PATTERN_MAX or "\0" in pattern:
        raise InvalidArgumentError("invalid error")
    scope = Namespace.objects.filter(pool__name=pool, name=namespace).first()
    if scope is None:
        raise NamespaceNotFoundError
    row, _created = ErrorTriage.objects.get_or_create(namespace=scope, pattern=pattern)
    return row


def _users(namespace: Namespace) -> QuerySet[Any]:
    """Those who may see it."""
    users = get_user_model().objects.filter(is_active=True)
    return users.filter(Q(groups__namespaces=namespace) | Q(is_superuser=True)).distinct()


def _unmute(row: ErrorTriage) -> bool:
    """False: another process has, or a user has muted it anew meanwhile."""
    as_read = ErrorTriage.objects.filter(pk=row.pk, muted_at=row.muted_at)
    done = as_read.update(muted_at=None, muted_by="", muted_until=None, mute_below=None, counts={})
    forget_muted()
    return done > 0


def _note(user: User | None, action: ActivityAction, row: ErrorTriage, how: str) -> None:
    namespace = row.namespace
    detail = f"like: {row.pattern}" + (f", {how}" if how else "")
    note_activity(user=user, action=action, pool=namespace.pool.name, namespace=namespace.name, detail=detail)


def count_muted(*, now: datetime | None = None) -> int:
    """Count the muted groups that nobody has counted for COUNT_EVERY; how many. Groups that have doubled, or whose time
    is up, are no longer muted. Raises database errors.
    """
    at = now or timezone.now()
    for row in ErrorTriage.objects.filter(muted_until__lte=at).select_related("namespace__pool"):
        if _unmute(row):
            _note(None, ActivityAction.ERRORS_UNMUTED, row, "its time is up")
    due = list(muted_groups(at).filter(counted_at__lte=at - COUNT_EVERY).select_related("namespace__pool"))
    by_place: dict[tuple[str, str], list[ErrorTriage]] = {}
    for row in due:
        mine = ErrorTriage.objects.filter(pk=row.pk, counted_at=row.counted_at).update(counted_at=at)
        if mine:
            by_place.setdefault((row.namespace.pool.name, row.namespace.name), []).append(row)
    for (pool, namespace), rows in by_place.items():
        try:
            counts = _count(pool, namespace, {row.pattern for row in rows})
        except TaskqError:  # a pool that is away: the incident is another one then
            continue
        for row in rows:
            _keep_count(row, counts[row.pattern])
    return len(due)


def _keep_count(row: ErrorTriage, counts: Mapping[str, tuple[int, int]]) -> None:
    count = sum(dead for dead, _ in counts.values())
    if row.mute_below is not None and count >= row.mute_below:
        if _unmute(row):
            _note(None, ActivityAction.ERRORS_UNMUTED, row, f"it has doubled: {count}")
        return
    ErrorTriage.objects.filter(pk=row.pk, muted_at=row.muted_at).update(counts=counts)


def _count(pool: str, namespace: str, patterns: set[str]) -> dict[str, dict[str, tuple[int, int]]]:
    """By pattern and queue: dead letters, and those that died lately, of the newest COUNTED_MAX."""
    found: dict[str, dict[str, tuple[int, int]]] = {pattern: {} for pattern in patterns}
    dead_queues = find_dead_queues_of(pool=pool, namespace=namespace)
    since_ms = dead_queues.before_ms - LATELY_MS
    position, looked_at = None, 0
    while looked_at < COUNTED_MAX:
        rest = tuple(one for one in dead_queues.queues if position is None or one.address >= position.address)
        part = scan_queues(
            dead_queues=replace(dead_queues, queues=rest),
            chosen=DeadFilter(),
            start=position,
            scan_max=COUNTED_AT_ONCE,
        )
        for letter in part.letters:
            if letter.pattern in found:
                dead, died = found[letter.pattern].get(letter.address.queue, (0, 0))
                is_late = letter.job.died_ms >= since_ms
                found[letter.pattern][letter.address.queue] = (dead + 1, died + is_late)
        looked_at, position = looked_at + part.looked_at, part.position
        if position is None or not part.looked_at:
            break
    return found
