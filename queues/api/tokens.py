"""Where a request carries its token, and how the token names its pool."""

from __future__ import annotations

from typing import Final

from .request import ApiRequest

DEFAULT_POOL: Final = "default"


def pool_and_secret(request: ApiRequest) -> tuple[str, str]:
    """Pool and secret of the request's token: header X-Token, else query `token`; `SECRET` or `POOL:SECRET`.

    The secret is "" when there is no token.
    """
    return split_token(request.headers.get(b"x-token") or request.query.get("token", ""))


def split_token(token: str) -> tuple[str, str]:
    """`POOL:SECRET` → both; without a prefix, or with an empty one, the pool is `default`."""
    pool, colon, secret = token.partition(":")
    return (pool or DEFAULT_POOL, secret) if colon else (DEFAULT_POOL, token)
