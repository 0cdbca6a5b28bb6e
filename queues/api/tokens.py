"""Where a request carries its token, and how the token names its pool."""

from __future__ import annotations

from queues.services.tokens.secrets import split_token

from .request import ApiRequest


def pool_and_secret(request: ApiRequest) -> tuple[str, str]:
    """Pool and secret of the request's token: header X-Token, else query `token`; `SECRET` or `POOL:SECRET`.

    The secret is "" when there is no token.
    """
    return split_token(request.headers.get(b"x-token") or request.query.get("token", ""))
