"""What was done to tokens goes into the activity log, whoever did it by whichever door."""

from __future__ import annotations

from queues.models import DEFAULT_POOL

from .activity import ActivityAction, note_activity
from .secrets import split_token
from .tokens import NewToken, find_public_id
from .visible import User


def note_new_token(*, user: User | None, pool: str | None, namespace: str, token: NewToken) -> None:
    """`user` made the token, and its namespace if it is the first; None: a command on the server."""
    pool = pool or DEFAULT_POOL
    if token.is_first:
        note_activity(user=user, action=ActivityAction.NAMESPACE_CREATED, pool=pool, namespace=namespace)
    note_activity(
        user=user, action=ActivityAction.TOKEN_CREATED, pool=pool, namespace=namespace, target=token.public_id
    )


def note_token_act(
    *,
    user: User | None,
    action: ActivityAction,
    pool: str | None,
    namespace: str,
    public_id_or_secret: str,
    detail: str = "",
) -> None:
    """`user` did that to the token, which is written down by its public id."""
    prefix, _ = split_token(public_id_or_secret)
    target = find_public_id(pool=pool, namespace=namespace, public_id_or_secret=public_id_or_secret)
    note_activity(user=user, action=action, pool=pool or prefix, namespace=namespace, target=target, detail=detail)
