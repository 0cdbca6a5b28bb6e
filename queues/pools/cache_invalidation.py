"""Cache invalidation between processes, through a pool's Redis: no process waits for its cache entries to expire.

Notices are not needed for correctness: a process that misses one sees the change within a second, when its entry
expires (see `ttl_cache`). So a Redis that is away never keeps anybody from revoking a token.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

from django.db import transaction
from django.db.models import Model
from django.db.models.signals import post_delete, post_save

from queues.engine.errors import TaskqError
from queues.engine.waiting.subscription import announce, read_notice
from queues.models import Namespace, QueuePolicy, Token, TokenLimit

from .rows import find_pool

logger = logging.getLogger(__name__)

MUTED_S: Final = 5.0
"""After a failed publish none is tried for so long: of many changes at once each would wait for the Redis."""


class NoticeKind(StrEnum):
    """What has changed. Details of each notice: the pool's name, then what is said here."""

    TOKEN_REVOKED = "token-revoked"  # noqa: S105  public id
    TOKEN_CHANGED = "token-changed"  # noqa: S105  public id; its limit
    NAMESPACE_DELETED = "namespace-deleted"  # name
    POLICY_CHANGED = "policy-changed"  # namespace


Subscriber = Callable[[str, str], None]
"""Takes the name of a pool, and the detail."""

_subscribers: Final[dict[NoticeKind, list[Subscriber]]] = {kind: [] for kind in NoticeKind}
_resynchronisers: Final[list[Callable[[str], None]]] = []
_muted_until: Final[dict[str, float]] = {}


def subscribe(kind: NoticeKind, subscriber: Subscriber) -> None:
    """Call `subscriber` with notices of a kind: on the event loop that receives them, which it must not block, or in
    the thread that publishes them.
    """
    _subscribers[kind].append(subscriber)


def subscribe_to_gaps(resynchronise: Callable[[str], None]) -> None:
    """Call it with a pool's name when notices of that pool may have been lost; on the event loop, as above."""
    _resynchronisers.append(resynchronise)


def dispatch(message: bytes) -> None:
    """Pass a message of the notice channel to its subscribers. A kind that is unknown here is a newer taskq's."""
    try:
        kind, pool, detail = read_notice(message)
        known = NoticeKind(kind)
    except ValueError:
        logger.info("notice not understood", extra={"action": "notice.hear", "bytes": len(message)})
        return
    _dispatch(known, pool, detail)


def _dispatch(kind: NoticeKind, pool: str, detail: str) -> None:
    for subscriber in _subscribers[kind]:
        subscriber(pool, detail)


def dispatch_gap(pool: str) -> None:
    """Notices of the pool may have been lost."""
    for resynchronise in _resynchronisers:
        resynchronise(pool)


def publish_after_commit(kind: NoticeKind, *, pool: str, detail: str) -> None:
    """Publish a change to every process, once it is committed to the database."""
    transaction.on_commit(lambda: publish(kind, pool=pool, detail=detail), robust=True)


def publish(kind: NoticeKind, *, pool: str, detail: str) -> None:
    """Publish a change to every process now, this one first. A failure is only logged."""
    _dispatch(kind, pool, detail)
    if time.monotonic() < _muted_until.get(pool, 0.0):
        return
    try:
        announce(find_pool(pool).url, [(kind, pool, detail)])
    except TaskqError as error:
        _muted_until[pool] = time.monotonic() + MUTED_S
        fields = {"action": "notice.tell", "kind": kind.value, "pool": pool, "error": error.code}
        logger.info("processes not told of a change: they will notice by themselves", extra=fields)


def tell_changes() -> None:
    """Have changes of rows that processes cache announced, whether a service, the admin or a shell makes them.

    Once per process. What changes rows without Django's signals (`QuerySet.update`) publishes its notice itself, as
    `tokens.managing.revoke_token` does.
    """
    for signal in (post_save, post_delete):
        signal.connect(_tell_limit, sender=TokenLimit, dispatch_uid="queues.tell_limit")
        signal.connect(_tell_policy, sender=QueuePolicy, dispatch_uid="queues.tell_policy")
    post_delete.connect(_tell_token, sender=Token, dispatch_uid="queues.tell_token")
    post_delete.connect(_tell_namespace, sender=Namespace, dispatch_uid="queues.tell_namespace")


def _tell_limit(instance: TokenLimit, **signal: Any) -> None:
    if not _goes_with_another(instance, signal):
        _tell(NoticeKind.TOKEN_CHANGED, instance.token.namespace, instance.token.public_id)


def _tell_policy(instance: QueuePolicy, **signal: Any) -> None:
    if not _goes_with_another(instance, signal):
        _tell(NoticeKind.POLICY_CHANGED, instance.namespace, instance.namespace.name)


def _tell_token(instance: Token, **signal: Any) -> None:
    if not _goes_with_another(instance, signal):
        _tell(NoticeKind.TOKEN_REVOKED, instance.namespace, instance.public_id)


def _tell_namespace(instance: Namespace, **_signal: Any) -> None:
    _tell(NoticeKind.NAMESPACE_DELETED, instance, instance.name)


def _goes_with_another(instance: Model, signal: dict[str, Any]) -> bool:
    """Whether a row is deleted because of another one, of which all is told. `origin`: a row, or a query of rows."""
    origin = signal.get("origin")
    return origin is not None and not issubclass(getattr(origin, "model", type(origin)), type(instance))


def _tell(kind: NoticeKind, namespace: Namespace, detail: str) -> None:
    publish_after_commit(kind, pool=namespace.pool.name, detail=detail)
