"""Secrets of tokens: how they are made, checked and looked up."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final

from django.db.models import Q, QuerySet

from queues.models import DEFAULT_POOL as DEFAULT_POOL
from queues.models import Token
from queues.pools import check_pool_name

from ..errors import InvalidArgumentError, PoolNotFoundError, TokenNotFoundError

SECRET_BYTES: Final = 32
SECRET_MIN_LENGTH: Final = 20
SECRET_MAX_LENGTH: Final = 255
_GIVEN: Final = re.compile(r"[!-.0-9;-~]+\Z")
PUBLIC_ID_BYTES: Final = 6


def new_secret() -> str:
    """256 random bits in characters that need no escaping in a URL. Never looks like an option of a command (`-x`)."""
    while (secret := secrets.token_urlsafe(SECRET_BYTES)).startswith("-"):
        pass
    return secret


def new_public_id() -> str:
    """12 characters: shorter than any secret, so that `DELETE /token/NS/TOKEN` can take either."""
    return secrets.token_hex(PUBLIC_ID_BYTES)


def digest_of(secret: str) -> str:
    """What is kept of a secret, and looked up by: a comparison's timing then tells nothing about the secret itself."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def check_secret(secret: str) -> None:
    """Raise InvalidArgumentError unless a secret that somebody chose may be used."""
    if len(secret) < SECRET_MIN_LENGTH:
        raise InvalidArgumentError(f"token too short: at least {SECRET_MIN_LENGTH} characters")
    if len(secret) > SECRET_MAX_LENGTH:
        raise InvalidArgumentError(f"token too long: at most {SECRET_MAX_LENGTH} characters")
    if not _GIVEN.match(secret):
        raise InvalidArgumentError("token contains forbidden characters: printable ASCII but no space, ':' or '/'")


def display_token(*, pool: str, secret: str) -> str:
    """What clients send: `SECRET`, or `POOL:SECRET` for any pool but `default`."""
    return secret if pool == DEFAULT_POOL else f"{pool}:{secret}"


def split_token(token: str) -> tuple[str, str]:
    """`[POOL:]SECRET` → pool, secret."""
    pool, colon, secret = token.partition(":")
    return (pool or DEFAULT_POOL, secret) if colon else (DEFAULT_POOL, token)


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
