"""What people do with tokens on their page: make one, revoke one. Both go into the activity log."""

from __future__ import annotations

from django.db import transaction

from ..activity import ActivityAction, note_activity
from ..errors import NamespaceNotFoundError, TokenNotFoundError
from ..permissions import Right, User, check_right, sees_everything
from .limit_settings import Limit, check_limit, set_limit
from .managing import NewToken, create_token, note_new_token, revoke_token


def create_token_by_hand(
    *, user: User, pool: str, namespace: str, description: str, secret: str = "", limit: Limit | None = None
) -> NewToken:
    """Make a token, with a limit of its requests if one is given. A superuser's may be the first of a new namespace.

    Raises NamespaceNotFoundError, RoleTooLowError, InvalidArgumentError, PoolNotFoundError, TokenExistsError.
    """
    try:
        check_right(user=user, pool=pool, namespace=namespace, right=Right.CREATE_TOKENS)
    except NamespaceNotFoundError:
        if not sees_everything(user):
            raise
    if limit is not None:
        check_limit(limit)
    with transaction.atomic():
        new = create_token(namespace=namespace, pool=pool, description=description, secret=secret or None)
        if limit is not None:
            set_limit(pool=pool, namespace=namespace, public_id_or_secret=new.public_id, limit=limit)
    note_new_token(user=user, pool=pool, namespace=namespace, token=new)
    if limit is not None:
        note_activity(
            user=user,
            action=ActivityAction.LIMIT_CHANGED,
            pool=pool,
            namespace=namespace,
            target=new.public_id,
            detail=str(limit),
        )
    return new


def revoke_token_by_hand(*, user: User, pool: str, namespace: str, public_id: str) -> None:
    """Refuse the token from now on, everywhere within 2 s.

    Raises NamespaceNotFoundError, RoleTooLowError, TokenNotFoundError.
    """
    check_right(user=user, pool=pool, namespace=namespace, right=Right.REVOKE_TOKENS)
    if not revoke_token(pool=pool, namespace=namespace, public_id_or_secret=public_id):
        raise TokenNotFoundError
    note_activity(user=user, action=ActivityAction.TOKEN_REVOKED, pool=pool, namespace=namespace, target=public_id)
