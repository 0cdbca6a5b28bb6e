"""Caches resolved (access, engine, queue, policy) per token and queue for 50 ms, found by the header that was sent.

`queues.services.tokens.access` checks a token that is not in this cache.

Clients send thousands of requests a second with the same token to the same queue. Each piece has a cache of its own,
but to look all of them up costs as much as the rest of a request. A revocation that is announced drops all entries; one
that is not is known here at most GOOD_FOR_S later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Final

from queues.engine import AsyncEngine
from queues.engine.keys import QueueKeys
from queues.engine.values import value
from queues.services.policies import EffectivePolicy
from queues.services.tokens.access import Access, on_revocation

GOOD_FOR_S: Final = 0.05
SIZE: Final = 4096

Key = tuple[bytes, str, str]
"""Token, namespace, queue."""


@value
class ResolvedQueue:
    """A queue as a token may use it. `authorised_at`: when the token was checked, in monotonic seconds."""

    access: Access
    engine: AsyncEngine
    queue: QueueKeys
    policy: EffectivePolicy
    authorised_at: float


_last_revocation = 0.0
"""Monotonic seconds. What was authorised before is not used: entries are few and cheap to make again."""


def _note_revocation() -> None:
    global _last_revocation
    _last_revocation = time.monotonic()


on_revocation(_note_revocation)


class ResolvedQueueCache(threading.local):
    """One for each thread, since engines belong to its loop."""

    def __init__(self) -> None:
        self._resolved: dict[Key, ResolvedQueue] = {}

    def find(self, token: bytes | None, path: Mapping[str, str]) -> ResolvedQueue | None:
        """The entry for a token, as it was sent, and the queue of a path, if it is still fresh."""
        if not token or "queue" not in path:
            return None
        found = self._resolved.get((token, path["namespace"], path["queue"]))
        if (
            found is None
            or found.authorised_at <= _last_revocation
            or found.authorised_at <= time.monotonic() - GOOD_FOR_S
        ):
            return None
        if not found.engine.is_usable():
            return None
        return found

    def keep(self, token: bytes | None, path: Mapping[str, str], resolved: ResolvedQueue) -> None:
        """Cache it for GOOD_FOR_S from when the token was checked: a slow body may have been read since.

        Without a token in the header nothing is cached.
        """
        if token and "queue" in path:
            if len(self._resolved) >= SIZE:
                self._resolved.clear()
            self._resolved[token, path["namespace"], path["queue"]] = resolved
