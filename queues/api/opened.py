"""What tokens opened a moment ago: access, engine, keys and policy of a queue, found by the header that was sent.

Clients send thousands of requests a second with the same token to the same queue. Each piece is remembered where it
belongs, but to ask for all of them costs as much as the rest of a request; so the answers together are good for as long
as a blink. That much later, at most, a revocation that was announced is known here.
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
class Opened:
    """A queue, opened by a token. `authorised_at`: when that was asked, in monotonic seconds."""

    access: Access
    engine: AsyncEngine
    queue: QueueKeys
    policy: EffectivePolicy
    authorised_at: float


class OpenedLately(threading.local):
    """One for each thread, since engines belong to its loop."""

    def __init__(self) -> None:
        self._opened: dict[Key, Opened] = {}

    def find(self, request: ApiRequest) -> Opened | None:
        """What the request's token opened just now."""
        key = _key(request)
        opened = None if key is None else self._opened.get(key)
        if opened is None or time.monotonic() > opened.authorised_at + GOOD_FOR_S or not opened.engine.is_usable():
            return None
        return opened

    def keep(
        self, request: ApiRequest, *, access: Access, engine: AsyncEngine, queue: QueueKeys, policy: EffectivePolicy
    ) -> Opened:
        """Remember it for GOOD_FOR_S from when the token was asked for: a body may have been long in coming since."""
        opened = Opened(access, engine, queue, policy, request.authorised_at)
        key = _key(request)
        if key is not None:
            if len(self._opened) >= SIZE:
                self._opened.clear()
            self._opened[key] = opened
        return opened


def _key(request: ApiRequest) -> Key | None:
    """None when the token is not in the header: then it is looked for elsewhere, which takes its time."""
    token = request.headers.first.get(b"x-token")
    queue = request.path.get("queue")
    return (token, request.path["namespace"], queue) if token and queue is not None else None
