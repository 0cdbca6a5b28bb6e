"""What people do to a queue on its page: pause, empty, change the policy. All goes into the
activity log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.core.exceptions import ValidationError
from django.db import transaction

from queues.engine import destroy, flush_group, pause, resume
from queues.models import Namespace, QueuePolicy
from queues.pools import engine_for
from queues.pools.database import read_metadata

from ..activity import ActivityAction, note_activity
from ..errors import NamespaceNotFoundError, RoleTooLowError
from ..permissions import Role, User
from .page import QueuePlace


def set_paused(*, user: User, place: QueuePlace, paused: bool) -> bool:
    """Deliver nothing, or deliver jobs again. Whether that changed anything.

    Raises RoleTooLowError; QueueNotFoundError for a pause of a queue that does not exist.
    """
    need(place, Role.OPERATE)
    engine = engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    changed = engine.run(pause(queue, must_exist=True) if paused else resume(queue))
    if changed:
        _note(user, place, ActivityAction.PAUSED if paused else ActivityAction.RESUMED)
    return changed


def empty_whole_queue(*, user: User, place: QueuePlace) -> int:
    """Delete its jobs of every state; their number. Raises RoleTooLowError."""
    need(place, Role.ADMIN)
    engine = engine_for(place.pool)
    count = engine.run(destroy(engine.queue(place.namespace, place.queue), everything=True))
    _note(user, place, ActivityAction.EMPTIED, count=count)
    return count


def need(place: QueuePlace, role: Role) -> None:
    """Raise RoleTooLowError unless the person's role there is at least this."""
    if place.role < role:
        raise RoleTooLowError


def _note(user: User, place: QueuePlace, action: ActivityAction, *, target: str = "", count: int | None = None) -> None:
    note_activity(
        user=user,
        action=action,
        pool=place.pool,
        namespace=place.namespace,
        queue=place.queue,
        target=target,
        count=count,
    )


def flush_group_now(*, user: User, place: QueuePlace, group: str) -> int:
    """Flush a group now, whatever it has; how many members. Raises RoleTooLowError, InvalidArgumentError."""
    need(place, Role.OPERATE)
    engine = engine_for(place.pool)
    flushed = engine.run(flush_group(engine.queue(place.namespace, place.queue), group))
    _note(user, place, ActivityAction.FLUSHED, target=group, count=flushed.members)
    return flushed.members


PolicyValue = int | float | str | None

POLICY_FIELDS: Final = (
    "tries",
    "ttl_s",
    "backoff",
    "ttr_s",
    "max_in_flight",
    "dead_max_age_s",
    "dead_max_count",
    "objective_s",
    "objective_target",
    "rate",
    "burst",
    "key_in_flight",
    "key_rate",
    "key_burst",
    "key_weight",
    "key_weights",
    "group_max_size",
    "group_max_delay_s",
    "group_grace_period_s",
)
"""What can be set, in the order of the form; "" (of backoff) and None: inherit."""


def read_own_policy(*, place: QueuePlace) -> Mapping[str, PolicyValue]:
    """What was set for this queue itself, not what it inherits. Raises MetadataUnavailableError."""
    rows = QueuePolicy.objects.filter(
        namespace__pool__name=place.pool, namespace__name=place.namespace, queue=place.queue
    )
    inherits = dict.fromkeys(POLICY_FIELDS) | {"backoff": "", "key_weights": ""}
    return read_metadata(rows.values(*POLICY_FIELDS).first) or inherits


def save_own_policy(*, user: User, place: QueuePlace, values: Mapping[str, PolicyValue]) -> Mapping[str, list[str]]:
    """Set it; a policy that inherits everything is removed. Answers what is wrong by field: nothing was changed then.

    Raises RoleTooLowError, NamespaceNotFoundError.
    """
    need(place, Role.ADMIN)
    with transaction.atomic():
        namespace = Namespace.objects.filter(pool__name=place.pool, name=place.namespace).first()
        if namespace is None:
            raise NamespaceNotFoundError
        row = QueuePolicy.objects.filter(namespace=namespace, queue=place.queue).first()
        row = row or QueuePolicy(namespace=namespace, queue=place.queue)
        before = {name: getattr(row, name) for name in POLICY_FIELDS}
        for name in POLICY_FIELDS:
            setattr(row, name, values[name])
        try:
            row.full_clean()
        except ValidationError as error:
            return error.message_dict
        changes = [f"{name}: {before[name]} → {values[name]}" for name in POLICY_FIELDS if before[name] != values[name]]
        if not changes:
            return {}
        if all(values[name] in (None, "") for name in POLICY_FIELDS):
            row.delete()
        else:
            row.save()
    note_activity(
        user=user,
        action=ActivityAction.POLICY_CHANGED,
        pool=place.pool,
        namespace=place.namespace,
        queue=place.queue,
        detail=", ".join(changes).replace("None", "–"),
    )
    return {}
