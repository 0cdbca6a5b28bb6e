"""What people do with namespaces: make, describe and delete them. All goes into the activity log."""

from __future__ import annotations

from typing import Final

from django.db import IntegrityError, transaction

from queues.engine.names import check_namespace
from queues.models import Namespace

from ..activity import ActivityAction, note_activity
from ..errors import InvalidArgumentError, NamespaceNotFoundError
from ..permissions import Right, User, check_right, check_sees_everything
from ..pools.managing import find_pool_row

DESCRIPTION_MAX: Final = 255


def create_namespace(*, user: User, pool: str, namespace: str, description: str) -> None:
    """Only for superusers: a name that is refused would tell anybody else that a hidden namespace has it.

    Raises RoleTooLowError, InvalidArgumentError, PoolNotFoundError.
    """
    check_sees_everything(user)
    check_namespace(namespace)
    row = Namespace(pool=find_pool_row(pool), name=namespace, description=_checked(description))
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise InvalidArgumentError("namespace exists already") from None
    note_activity(user=user, action=ActivityAction.NAMESPACE_CREATED, pool=pool, namespace=namespace)


def describe_namespace(*, user: User, pool: str, namespace: str, description: str) -> None:
    """Raises NamespaceNotFoundError, RoleTooLowError, InvalidArgumentError."""
    check_right(user=user, pool=pool, namespace=namespace, right=Right.CHANGE_NAMESPACE)
    row = _find(pool, namespace)
    if row.description != _checked(description):
        row.description = _checked(description)
        row.save(update_fields=["description"])
        note_activity(
            user=user, action=ActivityAction.NAMESPACE_CHANGED, pool=pool, namespace=namespace, detail="description"
        )


def delete_namespace(*, user: User, pool: str, namespace: str) -> None:
    """Delete it with its tokens and policies. Its jobs stay in Redis: a later namespace of that name has them.

    Raises NamespaceNotFoundError, RoleTooLowError.
    """
    check_right(user=user, pool=pool, namespace=namespace, right=Right.DELETE_NAMESPACE)
    _find(pool, namespace).delete()
    note_activity(user=user, action=ActivityAction.NAMESPACE_DELETED, pool=pool, namespace=namespace)


def _find(pool: str, namespace: str) -> Namespace:
    row = Namespace.objects.filter(pool__name=pool, name=namespace).first()
    if row is None:
        raise NamespaceNotFoundError
    return row


def _checked(description: str) -> str:
    description = description.strip()
    if len(description) > DESCRIPTION_MAX:
        raise InvalidArgumentError("description too long: at most 255 characters")
    return description
