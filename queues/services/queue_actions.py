"""What a person may do with a queue as a whole: each act is checked and noted."""

from __future__ import annotations

from queues.engine import destroy, pause, publish, resume
from queues.engine.values import Published
from queues.pools import engine_for

from .activity import ActivityAction, note_activity
from .errors import RoleTooLowError
from .jobs_publish import PublishRequest, effective_options
from .policies import policy_for
from .queue_page import QueuePlace
from .roles import Role
from .visible import User


def set_paused(*, user: User, place: QueuePlace, paused: bool) -> bool:
    """Hand nothing out, or hand jobs out again. Whether that changed anything. Raises RoleTooLowError."""
    need(place, Role.OPERATE)
    engine = engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    changed = engine.run(pause(queue) if paused else resume(queue))
    if changed:
        _note(user, place, ActivityAction.PAUSED if paused else ActivityAction.RESUMED)
    return changed


def publish_by_hand(*, user: User, place: QueuePlace, body: bytes, request: PublishRequest) -> Published:
    """One job. Raises RoleTooLowError, InvalidArgumentError, StoreFullError."""
    need(place, Role.OPERATE)
    policy = policy_for(pool=place.pool, namespace=place.namespace, queue=place.queue)
    options = effective_options(request=request, policy=policy)
    engine = engine_for(place.pool)
    published = engine.run(publish(engine.queue(place.namespace, place.queue), [body], options))
    if not published.duplicate:
        _note(user, place, ActivityAction.PUBLISHED, target=published.job_ids[0], count=1)
    return published


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
