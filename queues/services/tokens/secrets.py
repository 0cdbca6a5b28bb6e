"""Secrets of tokens: how they are made, checked and looked up."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final

from queues.models import DEFAULT_POOL as DEFAULT_POOL

from ..errors import InvalidArgumentError

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
