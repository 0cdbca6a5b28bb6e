"""Refuses requests that a browser sends because a page of another site told it to.

A browser adds the password that it keeps for HTTP Basic to whatever goes to this server, so a form on any page could
otherwise make a token. Browsers say where a request comes from in `Sec-Fetch-Site` and `Origin`, which no page can
change; programs such as curl send neither.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.http import is_same_domain

from .http.errors import CrossSiteError
from .http.request import Headers

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_OUR_OWN: Final = frozenset({"", "same-origin", "none"})
"""Values of Sec-Fetch-Site. `none`: the person typed the address. "": the client says nothing, or is no browser."""

_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}


def check_origin(headers: Headers) -> None:
    """Raise CrossSiteError for a request from a page of another origin, unless CSRF_TRUSTED_ORIGINS has that origin."""
    origin = headers.get(b"origin").lower()
    if origin and _is_trusted(origin):
        return
    if headers.get(b"sec-fetch-site").lower() not in _OUR_OWN or (origin and not _is_of_host(origin, headers)):
        raise CrossSiteError(
            "cross-site request refused: a page of another origin may not do this; "
            "behind a proxy that changes the header Host, list the pages' origin in CSRF_TRUSTED_ORIGINS"
        )


def _is_of_host(origin: str, headers: Headers) -> bool:
    """Whether the origin is where the request was sent to; "null" never is."""
    scheme, separator, place = origin.partition("://")
    default_port = _DEFAULT_PORTS.get(scheme)
    if not separator or default_port is None:
        return False
    return place.removesuffix(default_port) == headers.get(b"host").lower().removesuffix(default_port)


def _is_trusted(origin: str) -> bool:
    return any(_matches(origin, trusted.lower()) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _matches(origin: str, trusted: str) -> bool:
    """`trusted`: as Django reads it, `https://example.org` or `https://*.example.org`."""
    if "*" not in trusted:
        return origin == trusted
    scheme, _, pattern = trusted.partition("://*")
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme == scheme and is_same_domain(parts.netloc, pattern)
