"""Tokens: make, list, revoke; when each was used last, and what was done to it."""

from __future__ import annotations

import logging
import threading
import time
import unicodedata
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from django.db import Error as DatabaseFault
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from queues.engine.names import check_namespace
from queues.models import DEFAULT_POOL, Namespace, Token
from queues.pools.cache_invalidation import NoticeKind, publish_after_commit

from ..activity import ActivityAction, note_activity
from ..errors import InvalidArgumentError, TokenExistsError
from ..permissions import User
from ..pools.managing import find_pool_row
from .limit_settings import Limit, delete_limit, get_limit, list_limits, set_limit
from .secrets import check_secret, digest_of, display_token, find_token_rows, new_public_id, new_secret, split_token

__all__ = [
    "NewToken",
    "TokenInfo",
    "add_token",
    "check_description",
    "create_token",
    "delete_limit",
    "find_public_id",
    "get_limit",
    "list_limits",
    "list_tokens",
    "revoke_token",
    "set_limit",
]

logger = logging.getLogger(__name__)

_UNPRINTABLE: Final = ("Cc", "Cs")
"""Control characters (NUL is one, which PostgreSQL cannot store) and halves of surrogate pairs (no UTF-8 has them)."""

NOTE_USE_EVERY_S: Final = 60
"""Per token."""

NOTE_SLOW_S: Final = 1.0
NOTE_REST_S: Final = 60.0
"""When a write failed or took longer than NOTE_SLOW_S, nothing is noted for so long: no other write matters less."""

NOTES_AT_ONCE: Final = 500
NOTES_WAITING_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token at the only moment when its secret is known. `display` is what clients send: `[POOL:]SECRET`.

    `is_first`: its namespace came into being with it.
    """

    public_id: str
    secret: str = field(repr=False)
    display: str = field(repr=False)
    is_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenInfo:
    """All that is known of a token later."""

    public_id: str
    pool: str
    namespace: str
    description: str
    created: datetime
    last_used: datetime | None
    revoked_at: datetime | None
    limit: Limit | None


def create_token(*, namespace: str, pool: str | None = None, description: str, secret: str | None = None) -> NewToken:
    """Make a token, and its namespace if it is new. `secret`: one that its owner chose; None: a random one.

    Raises InvalidArgumentError, PoolNotFoundError, TokenExistsError.
    """
    check_namespace(namespace)
    description = check_description(description)
    if secret is not None:
        check_secret(secret)
    row = find_pool_row(pool or DEFAULT_POOL)
    owner, is_new = Namespace.objects.get_or_create(pool=row, name=namespace)
    return replace(add_token(owner=owner, description=description, secret=secret), is_first=is_new)


def add_token(*, owner: Namespace, description: str, secret: str | None = None) -> NewToken:
    """Make a token of an existing namespace. Raises InvalidArgumentError, TokenExistsError."""
    if secret is not None:
        check_secret(secret)
    chosen = secret or new_secret()
    token = Token(
        public_id=new_public_id(),
        namespace=owner,
        digest=digest_of(chosen),
        description=check_description(description),
    )
    try:
        with transaction.atomic():
            token.save(force_insert=True)
    except IntegrityError:
        raise TokenExistsError from None
    fields = {"pool": owner.pool.name, "namespace": owner.name, "token_id": token.public_id}
    logger.info("token created", extra={"action": "token.create", **fields})
    return NewToken(
        public_id=token.public_id, secret=chosen, display=display_token(pool=owner.pool.name, secret=chosen)
    )


def list_tokens(
    *, namespace: str | None = None, pool: str | None = None, include_revoked: bool = False
) -> list[TokenInfo]:
    """Tokens of a namespace, of a pool, or of all; newest first. An unknown namespace has none.

    Raises PoolNotFoundError for an unknown pool.
    """
    rows = Token.objects.select_related("namespace__pool", "limit")
    if pool is not None:
        rows = rows.filter(namespace__pool=find_pool_row(pool))
    if namespace is not None:
        rows = rows.filter(namespace__name=namespace)
    if not include_revoked:
        rows = rows.filter(revoked_at=None)
    return [token_info(row) for row in rows]


def revoke_token(*, pool: str | None = None, namespace: str, public_id_or_secret: str) -> bool:
    """Refuse the token from now on; other processes do when they hear of it, at the latest within 2 s.

    False if there is no such token that works.
    """
    rows = find_token_rows(pool=pool, namespace=namespace, public_id_or_secret=public_id_or_secret)
    working = [row for row in rows.select_related("namespace__pool") if row.revoked_at is None]
    public_ids = [row.public_id for row in working]
    done = Token.objects.filter(public_id__in=public_ids, revoked_at=None).update(revoked_at=timezone.now())
    for row in working:
        publish_after_commit(NoticeKind.TOKEN_REVOKED, pool=row.namespace.pool.name, detail=row.public_id)
        fields = {"action": "token.revoke", "namespace": namespace, "token_id": row.public_id}
        logger.info("token revoked", extra=fields)
    return done > 0


def find_public_id(*, pool: str | None = None, namespace: str, public_id_or_secret: str) -> str:
    """What the token may be called in lists and logs; "" if there is no such token."""
    rows = find_token_rows(pool=pool, namespace=namespace, public_id_or_secret=public_id_or_secret)
    return rows.values_list("public_id", flat=True).first() or ""


def check_description(text: str) -> str:
    """What the token is for, as it is kept: a list of nameless tokens is one that nobody dares to revoke from.

    Raises InvalidArgumentError.
    """
    text = text.strip()
    if not text:
        raise InvalidArgumentError("empty description")
    if len(text) > 255:
        raise InvalidArgumentError("description too long: at most 255 characters")
    if any(unicodedata.category(character) in _UNPRINTABLE for character in text):
        raise InvalidArgumentError("description contains control characters")
    return text


def token_info(row: Token) -> TokenInfo:
    """What is known of the row, whose namespace, pool and limit have been read with it."""
    limit = getattr(row, "limit", None)
    return TokenInfo(
        public_id=row.public_id,
        pool=row.namespace.pool.name,
        namespace=row.namespace.name,
        description=row.description,
        created=row.created,
        last_used=row.last_used,
        revoked_at=row.revoked_at,
        limit=None if limit is None else Limit.of(limit),
    )


class _Notes:
    """Uses not yet written. A thread writes them and ends, with its connection, when there are no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[int] = set()
        self._writer: threading.Thread | None = None
        self._rest_until = float("-inf")

    def add(self, pk: int) -> None:
        with self._lock:
            if time.monotonic() < self._rest_until or len(self._waiting) >= NOTES_WAITING_MAX:
                return
            self._waiting.add(pk)
            if self._writer is None or not self._writer.is_alive():
                self._writer = threading.Thread(target=self._write_all, name="taskq-last-use", daemon=True)
                self._writer.start()

    def _write_all(self) -> None:
        try:
            while pks := self._take():
                started = time.monotonic()
                if not _write(pks) or time.monotonic() - started > NOTE_SLOW_S:
                    self._rest()
        finally:
            connection.close()

    def _take(self) -> list[int]:
        with self._lock:
            pks = list(self._waiting)[:NOTES_AT_ONCE]
            self._waiting.difference_update(pks)
            if not pks:
                self._writer = None
            return pks

    def _rest(self) -> None:
        with self._lock:
            self._waiting.clear()
            self._rest_until = time.monotonic() + NOTE_REST_S


_notes = _Notes()


def note_use(pk: int) -> None:
    """Write `last_used` of the token soon, unless somebody did within the last minute or the database is slow.

    Within a transaction it is written at once: another connection would wait for that transaction's end.
    """
    if connection.in_atomic_block:
        _write([pk])
    else:
        _notes.add(pk)


def _write(pks: list[int]) -> bool:
    """Whether the database took it."""
    now = timezone.now()
    long_ago = Q(last_used=None) | Q(last_used__lt=now - timedelta(seconds=NOTE_USE_EVERY_S))
    long_ago |= Q(last_used__gt=now)  # the clock was put back
    try:
        with transaction.atomic():
            Token.objects.filter(long_ago, pk__in=pks).update(last_used=now)
    except DatabaseFault:
        fields = {"action": "token.note_use", "tokens": len(pks)}
        logger.warning("last use of a token could not be noted", extra=fields, exc_info=True)
        return False
    return True


def note_new_token(*, user: User | None, pool: str | None, namespace: str, token: NewToken) -> None:
    """`user` made the token, and its namespace if it is the first; None: a command on the server."""
    pool = pool or DEFAULT_POOL
    if token.is_first:
        note_activity(user=user, action=ActivityAction.NAMESPACE_CREATED, pool=pool, namespace=namespace)
    note_activity(
        user=user, action=ActivityAction.TOKEN_CREATED, pool=pool, namespace=namespace, target=token.public_id
    )


def note_token_act(
    *,
    user: User | None,
    action: ActivityAction,
    pool: str | None,
    namespace: str,
    public_id_or_secret: str,
    detail: str = "",
) -> None:
    """`user` did that to the token, which is written down by its public id."""
    prefix, _ = split_token(public_id_or_secret)
    target = find_public_id(pool=pool, namespace=namespace, public_id_or_secret=public_id_or_secret)
    note_activity(user=user, action=action, pool=pool or prefix, namespace=namespace, target=target, detail=detail)
