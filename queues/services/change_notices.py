"""Announces changes of rows that processes cache to all of them, whether a service, the admin or a shell makes them.

What changes rows without Django's signals (`QuerySet.update`) tells by itself: see `tokens.revoke_token`.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from django.db.models.signals import post_delete, post_save

from queues.models import Namespace, QueuePolicy, Token, TokenLimit
from queues.pools.cache_invalidation import NoticeKind, publish_after_commit


def tell_changes() -> None:
    """Begin. Once per process."""
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
