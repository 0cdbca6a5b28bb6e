"""Finds the rows of tokens that callers name."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from queues.models import Token
from queues.pools import check_pool_name

from ..errors import PoolNotFoundError, TokenNotFoundError
from .secrets import digest_of, split_token


def find_token_rows(*, pool: str | None, namespace: str, public_id_or_secret: str) -> QuerySet[Token]:
    """The token, or none, with this public id or secret (also as `POOL:SECRET`)."""
    prefix, secret = split_token(public_id_or_secret)
    try:
        check_pool_name(pool or prefix)
    except PoolNotFoundError:
        return Token.objects.none()
    if not (secret.isascii() and secret.isprintable()):  # neither ids nor secrets are like that; a database may choke
        return Token.objects.none()
    return Token.objects.filter(
        Q(public_id=secret) | Q(digest=digest_of(secret)),
        namespace__name=namespace,
        namespace__pool__name=pool or prefix,
    )


def find_token_row(*, pool: str | None, namespace: str, public_id_or_secret: str) -> Token:
    """One that works. Raises TokenNotFoundError."""
    rows = find_token_rows(pool=pool, namespace=namespace, public_id_or_secret=public_id_or_secret)
    row = rows.filter(revoked_at=None).select_related("namespace__pool").first()
    if row is None:
        raise TokenNotFoundError
    return row
