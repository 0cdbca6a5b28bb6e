"""The paths that log lines show. They never hold a token, whatever the client sent in front of it or around it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from queues.engine.constants import NAME_MAX_BYTES
from queues.engine.names import is_name

from .http.errors import ApiError
from .routes import ROUTER

PATH_SHOWN_MAX: Final = 600

_READ_MAX_BYTES: Final = 4 * PATH_SHOWN_MAX
_DECODINGS_MAX: Final = 5
"""How often a path may have been percent-encoded: a proxy may have encoded it again."""

_TOKEN: Final = re.compile("token", re.IGNORECASE)
MASK: Final = "***"


def loggable_path(method: str, raw_path: bytes) -> str:
    """The path to log for a request. `raw_path`: as the client sent it, without the query.

    Routes of tokens appear as their pattern, `/token/{namespace}/{token}`. Where no route matches, the token's place is
    unknown, so everything after the word `token` is masked.
    """
    try:
        route, _ = ROUTER.match(method, raw_path)
    except ApiError:
        return _mask_after_token(_decode(raw_path))[:PATH_SHOWN_MAX]
    if "{token}" in route.path:
        return route.path
    return unquote(raw_path.decode("utf-8", "replace"))[:PATH_SHOWN_MAX]


def loggable_namespace(name: str) -> str:
    """The name of a namespace as a path has it; "***" for what cannot be a name, such as `ns%2FTOKEN`."""
    return name[:NAME_MAX_BYTES] if not name or is_name(name) else MASK


def _decode(raw_path: bytes) -> str:
    """Percent-decoded until there is nothing left to decode."""
    path = raw_path[:_READ_MAX_BYTES].decode("utf-8", "replace")
    for _ in range(_DECODINGS_MAX):
        decoded = unquote(path)
        if decoded == path:
            return path
        path = decoded
    return MASK


def _mask_after_token(path: str) -> str:
    found = _TOKEN.search(path)
    if found is None or found.end() == len(path):
        return path
    return path[: found.end()] + MASK
