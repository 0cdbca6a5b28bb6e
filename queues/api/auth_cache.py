"""Caches resolved (access, engine, queue, policy) per token and queue for 50 ms, found by the header that was sent.

Clients send thousands of requests a second with the same token to the same queue. Each piece has a cache of its own,
but to look all of them up costs as much as the rest of a request. A revocation that was announced is known here at
most GOOD_FOR_S later.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from queues.engine import AsyncEngine
from queues.engine.keys import QueueKeys
from queues.engine.value_class import value
from queues.services.policies import EffectivePolicy
from queues.services.tokens.access import Access

from .request import ApiRequest

GOOD_FOR_S: Final = 0.05
SIZE: Final = 4096

Key = tuple[bytes, str, str]


@value
class ResolvedQueue:
    """A queue as a token may use it. `authorised_at`: when the token was checked, in monotonic seconds."""

    access: Access
    engine: AsyncEngine
    queue: QueueKeys
    policy: EffectivePolicy
    authorised_at: float


class ResolvedQueueCache(threading.local):
    """One for each thread, since engines belong to its loop."""

    def __init__(self) -> None:
        self._resolved: dict[Key, ResolvedQueue] = {}

    def find(self, request: ApiRequest) -> ResolvedQueue | None:
        """The entry for the request's token and queue, if it is still fresh."""
        key = _key(request)
        found = None if key is None else self._resolved.get(key)
        if found is None or time.monotonic() > found.authorised_at + GOOD_FOR_S or not found.engine.is_usable():
            return None
        return found

    def keep(
        self, request: ApiRequest, *, access: Access, engine: AsyncEngine, queue: QueueKeys, policy: EffectivePolicy
    ) -> ResolvedQueue:
        """Cache it for GOOD_FOR_S from when the token was checked: a slow body may have been read since."""
        resolved = ResolvedQueue(access, engine, queue, policy, request.authorised_at)
        key = _key(request)
        if key is not None:
            if len(self._resolved) >= SIZE:
                self._resolved.clear()
            self._resolved[key] = resolved
        return resolved


def _key(request: ApiRequest) -> Key | None:
    """None when the token is not in the header or the path names no queue: such requests are not cached."""
    token = request.headers.first.get(b"x-token")
    queue = request.path.get("queue")
    return (token, request.path["namespace"], queue) if token and queue is not None else None
