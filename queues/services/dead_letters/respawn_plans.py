"""Respawns at a rate: people start and stop them, pumps carry them out step by step, and pages show how far they are.

A step respawns what the rate allows since the step before, by the same atomic script as any respawn, and then writes
down up to where it came. A process that dies in between leaves a step that another one takes again after HELD: dead
letters that it had respawned are no longer dead, and those of them that died again did so after the plan began, so
none is respawned twice. The user's permissions are checked in each step.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from queues.engine.errors import StoreFullError, StoreUnavailableError, TaskqError
from queues.models import RespawnPlan, RespawnState
from queues.pools.database import read_metadata

from ..activity import ActivityAction, note_activity
from ..errors import InvalidArgumentError, MetadataUnavailableError, NamespaceNotFoundError, RoleTooLowError
from ..permissions import Role, User, roles_of, sees_everything
from .actions import BATCH, NEEDED_FOR_ALL, DeadVerb, allowed_queues, respawn_stretch, words_of
from .filtering import DeadFilter, find_dead_queues, read_position

logger = logging.getLogger(__name__)

PER_MINUTE_MAX: Final = 30_000
"""500 a second: a step a second respawns BATCH at most."""

RUNNING_MAX: Final = 20
"""Plans that run at the same time, of all users."""

OWN_MAX: Final = 5
"""Of one user, who else could keep all others from starting any."""

HELD: Final = timedelta(seconds=15)
"""How long a step may take. After that its process is taken for dead."""

BURST: Final = timedelta(seconds=2)
"""What a rate allows is not saved up for longer: the time in which no pump ran is not made up for."""

SHOWN_AFTER: Final = timedelta(hours=1)
KEPT: Final = timedelta(days=30)
SHOWN_MAX: Final = 10
LOOKED_AT_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """A plan as its page shows it. `may_stop`: it runs, and this person may stop it."""

    row: RespawnPlan
    may_stop: bool

    @property
    def total(self) -> int:
        """Dead letters that it has looked at, and that it is yet to look at."""
        return self.row.looked_at + self.row.left

    @property
    def is_running(self) -> bool:
        return self.row.state == RespawnState.RUNNING

    @property
    def per_second(self) -> int:
        """Its rate, if that is a whole number; 0: it is not."""
        return self.row.per_minute // 60 if self.row.per_minute % 60 == 0 else 0

    @property
    def left_ms(self) -> int:
        """At its rate, until it has looked at the rest, if all of that is meant."""
        return round(self.row.left * 60_000 / self.row.per_minute)


def start_respawn(*, user: User, chosen: DeadFilter, per_minute: int) -> int | None:
    """Have pumps respawn all that `chosen` means, so many a minute. Its number; None: there is nothing to respawn.

    Raises NamespaceNotFoundError, RoleTooLowError, InvalidArgumentError, MetadataUnavailableError,
    StoreUnavailableError.
    """
    if not 1 <= per_minute <= PER_MINUTE_MAX:
        raise InvalidArgumentError("invalid rate")
    dead_queues = find_dead_queues(user=user, chosen=chosen)
    allowed, _forbidden = allowed_queues(dead_queues, NEEDED_FOR_ALL[DeadVerb.RESPAWN])
    if dead_queues.queues and not allowed.queues:
        raise RoleTooLowError
    if not allowed.count:
        return None
    running = RespawnPlan.objects.filter(state=RespawnState.RUNNING)
    if running.count() >= RUNNING_MAX or running.filter(user_id=int(user.pk or 0)).count() >= OWN_MAX:
        raise InvalidArgumentError("too many respawns are running")
    now = timezone.now()
    row = RespawnPlan.objects.create(
        user_id=user.pk,
        who=user.get_username()[:150],
        pool=chosen.pool,
        namespace=chosen.namespace,
        queue=chosen.queue,
        error=chosen.error,
        like=chosen.like,
        day=chosen.day,
        before_ms=dead_queues.before_ms,
        per_minute=per_minute,
        left=allowed.count,
        created_at=now,
        stepped_at=now,
    )
    _note(user, ActivityAction.RESPAWN_STARTED, row)
    return row.pk


def stop_respawn(*, user: User, pk: int) -> bool:
    """Stop it after the step that is under way. False: it had ended. Raises NamespaceNotFoundError, RoleTooLowError."""
    row = read_metadata(lambda: RespawnPlan.objects.filter(pk=pk).first())
    role = None if row is None else _role_in(user, row, roles_of(user=user))
    if row is None or role is None:
        raise NamespaceNotFoundError
    if role < Role.OPERATE:
        raise RoleTooLowError
    stopped = {"state": RespawnState.STOPPED, "ended_at": timezone.now(), "stopped_by": user.get_username()[:150]}
    if not RespawnPlan.objects.filter(pk=pk, state=RespawnState.RUNNING).update(**stopped):
        return False
    _note(user, ActivityAction.RESPAWN_STOPPED, row)
    return True


def list_respawns(*, user: User) -> Sequence[PlanView]:
    """Those that run or ended within the last hour, and that `user` may see. Raises MetadataUnavailableError."""
    lately = Q(state=RespawnState.RUNNING) | Q(ended_at__gt=timezone.now() - SHOWN_AFTER)
    rows = read_metadata(lambda: list(RespawnPlan.objects.filter(lately).order_by("-pk")[:LOOKED_AT_MAX]))
    roles = roles_of(user=user) if rows else {}
    found = [(row, _role_in(user, row, roles)) for row in rows]
    seen = [
        PlanView(row=row, may_stop=row.state == RespawnState.RUNNING and role >= Role.OPERATE)
        for row, role in found
        if role is not None
    ]
    return seen[:SHOWN_MAX]


def _role_in(user: User, row: RespawnPlan, roles: Mapping[tuple[str, str], Role]) -> Role | None:
    """What a person may do with a plan: with their own everything, else as in the namespace that it is about.

    None: they may not see it.
    """
    if sees_everything(user) or row.user_id == user.pk:
        return Role.ADMIN
    found = [role for (pool, name), role in roles.items() if name == row.namespace and row.pool in ("", pool)]
    return min(found, default=None)


def _note(user: User, action: ActivityAction, row: RespawnPlan) -> None:
    note_activity(
        user=user,
        action=action,
        pool=row.pool,
        namespace=row.namespace if row.pool else "",
        queue=row.queue if row.pool and row.namespace else "",
        target=f"#{row.pk}",
        detail=f"{words_of(filter_of_plan(row))}, per minute: {row.per_minute}",
    )


def filter_of_plan(row: RespawnPlan) -> DeadFilter:
    """Which dead letters it means."""
    return DeadFilter(
        pool=row.pool, namespace=row.namespace, queue=row.queue, error=row.error, like=row.like, day=row.day
    )


def carry_out_respawns(*, now: datetime | None = None) -> int:
    """One step of each plan whose rate allows one. How many jobs were respawned. Raises database errors."""
    at = now or timezone.now()
    rows = RespawnPlan.objects.filter(state=RespawnState.RUNNING).select_related("user").order_by("pk")
    respawned = 0
    for row in list(rows[:RUNNING_MAX]):
        allowed, stepped_at = _allowance(row, at)
        if allowed and _hold(row, stepped_at, at):
            respawned += _step(row, allowed)
    return respawned


def _allowance(row: RespawnPlan, at: datetime) -> tuple[int, datetime]:
    """How many jobs the rate allows now, and up to when that uses it up."""
    since = max(row.stepped_at, at - BURST)
    each = timedelta(minutes=1) / row.per_minute
    if each > BURST:
        since = row.stepped_at if at - row.stepped_at < 2 * each else at - each
    allowed = min((at - since) // each, BATCH)
    return allowed, since + allowed * each


def _hold(row: RespawnPlan, stepped_at: datetime, at: datetime) -> bool:
    """Whether this process takes the step."""
    free = Q(held_until__isnull=True) | Q(held_until__lt=at)
    mine = RespawnPlan.objects.filter(free, pk=row.pk, state=RespawnState.RUNNING, stepped_at=row.stepped_at)
    return bool(mine.update(stepped_at=stepped_at, held_until=at + HELD))


def _step(row: RespawnPlan, allowed: int) -> int:
    """Respawn so many. A Redis or database that is away is tried again with the next step."""
    if row.user is None or not row.user.is_active:
        return _end(row, RespawnState.FAILED, reason="its user is gone")
    try:
        result = respawn_stretch(
            user=row.user,
            chosen=filter_of_plan(row),
            start=read_position(row.position),
            before_ms=row.before_ms,
            most=allowed,
            act_id=f"respawn-{row.pk}",
        )
    except (StoreUnavailableError, StoreFullError, MetadataUnavailableError) as error:
        RespawnPlan.objects.filter(pk=row.pk).update(held_until=None, reason=str(error)[:200])
        return 0
    except TaskqError as error:
        logger.warning("respawn ended", extra={"action": "respawn.failed", "plan": row.pk, "reason": str(error)})
        return _end(row, RespawnState.FAILED, reason=str(error))
    changes = {
        "position": str(result.position) if result.position else "",
        "done": F("done") + result.done,
        "looked_at": F("looked_at") + result.looked_at,
        "left": result.left,
        "held_until": None,
        "reason": "",
    }
    with transaction.atomic():
        RespawnPlan.objects.filter(pk=row.pk).update(**changes)
        if result.position is None:
            _end(row, RespawnState.DONE)
    return result.done


def _end(row: RespawnPlan, state: RespawnState, *, reason: str = "") -> int:
    ended = {"state": state, "reason": reason[:200], "ended_at": timezone.now(), "held_until": None}
    RespawnPlan.objects.filter(pk=row.pk, state=RespawnState.RUNNING).update(**ended)
    return 0


def prune_respawns(*, now: datetime) -> int:
    """Forget those that ended KEPT ago. How many."""
    return RespawnPlan.objects.filter(ended_at__lt=now - KEPT).delete()[0]
