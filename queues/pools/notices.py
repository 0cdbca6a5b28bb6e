"""What processes tell each other through a pool's Redis, so that nobody waits for what he remembers to expire.

Telling is a courtesy: whoever does not hear of a change finds out within a second, when his memory expires (see
`remembered`). So a Redis that is away never keeps anybody from revoking a token.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from django.db import transaction

from queues.engine.errors import TaskqError
from queues.engine.waiting.notices import announce, read_notice

from .rows import find_pool

logger = logging.getLogger(__name__)

DEAF_S: Final = 5.0
"""When a Redis could not be told, nobody tries again for so long: of many changes at once each would wait for it."""


class NoticeKind(StrEnum):
    """What has changed. Details of each notice: the pool's name, then what is said here."""

    TOKEN_REVOKED = "token-revoked"  # noqa: S105  public id
    TOKEN_CHANGED = "token-changed"  # noqa: S105  public id; its limit
    NAMESPACE_DELETED = "namespace-deleted"  # name
    POLICY_CHANGED = "policy-changed"  # namespace


Hearer = Callable[[str, str], None]
"""Takes the name of a pool, and the detail."""

_hearers: Final[dict[NoticeKind, list[Hearer]]] = {kind: [] for kind in NoticeKind}
_resynchronisers: Final[list[Callable[[str], None]]] = []
_deaf_until: Final[dict[str, float]] = {}


def hear(kind: NoticeKind, hearer: Hearer) -> None:
    """Have notices of a kind given to `hearer`: on the event loop that hears them, where it must not wait for anything,
    or in the thread of whoever tells them.
    """
    _hearers[kind].append(hearer)


def hear_gap(resynchronise: Callable[[str], None]) -> None:
    """Call it with a pool's name when notices of that pool may have been lost; on the event loop, as above."""
    _resynchronisers.append(resynchronise)


def hand_on(message: bytes) -> None:
    """A message of the notice channel, to those whom it concerns. A kind that is unknown here is a newer taskq's."""
    try:
        kind, pool, detail = read_notice(message)
        known = NoticeKind(kind)
    except ValueError:
        logger.info("notice not understood", extra={"action": "notice.hear", "bytes": len(message)})
        return
    _hand_on(known, pool, detail)


def _hand_on(kind: NoticeKind, pool: str, detail: str) -> None:
    for hearer in _hearers[kind]:
        hearer(pool, detail)


def hand_on_gap(pool: str) -> None:
    """Notices of the pool may have been lost."""
    for resynchronise in _resynchronisers:
        resynchronise(pool)


def tell_after_commit(kind: NoticeKind, *, pool: str, detail: str) -> None:
    """Tell every process of a change, once it is in the database for all to see."""
    transaction.on_commit(lambda: tell(kind, pool=pool, detail=detail), robust=True)


def tell(kind: NoticeKind, *, pool: str, detail: str) -> None:
    """Tell every process now, this one first. If that fails, the log says so and nobody else."""
    _hand_on(kind, pool, detail)
    if time.monotonic() < _deaf_until.get(pool, 0.0):
        return
    try:
        announce(find_pool(pool).url, [(kind, pool, detail)])
    except TaskqError as error:
        _deaf_until[pool] = time.monotonic() + DEAF_S
        fields = {"action": "notice.tell", "kind": kind.value, "pool": pool, "error": error.code}
        logger.info("processes not told of a change: they will notice by themselves", extra=fields)
