"""Whether a token may do what it asks for: checked here for the API, from memory or in the database."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from queues.engine.names import is_name
from queues.models import Token
from queues.pools import check_pool_name, find_pool
from queues.pools.cache_invalidation import NoticeKind, subscribe, subscribe_to_gaps
from queues.pools.ttl_cache import TtlCache

from ..errors import InvalidTokenError
from .limit_settings import Limit
from .managing import NOTE_USE_EVERY_S, note_use
from .secrets import digest_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What the token `token_id` gives access to, and how often it may be used."""

    pool: str
    namespace: str
    token_id: str
    limit: Limit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A remembered access, and when this process last asked to note that the token is in use (monotonic seconds)."""

    access: Access
    noted_at: float


_known: TtlCache[tuple[str, str, str], _Known] = TtlCache()


def authorise(*, pool: str, secret: str, namespace: str) -> Access:
    """The access that the secret gives. Raises PoolNotFoundError, InvalidTokenError, MetadataUnavailableError.

    A token that was used here lately is known for a second without asking the database, and for ten minutes while the
    database is away. Another namespace's token gets the same error as an unknown one.
    """
    check_pool_name(pool)
    if not is_name(namespace):
        raise InvalidTokenError
    digest = digest_of(secret)
    return _known.get((pool, namespace, digest), lambda old: _read(pool, namespace, digest, old)).access


def peek_access(*, pool: str, secret: str, namespace: str) -> Access | None:
    """The same from memory alone, for callers on an event loop. None says nothing: ask `authorise` in a thread."""
    known = _known.peek((pool, namespace, digest_of(secret)))
    return None if known is None else known.access


def _forget_revoked(pool: str, public_id: str) -> None:
    _known.drop(lambda key, known: key[0] == pool and known.access.token_id == public_id)


def _reread_changed(pool: str, public_id: str) -> None:
    _known.expire(lambda key, known: key[0] == pool and known.access.token_id == public_id)


def _forget_namespace(pool: str, namespace: str) -> None:
    _known.drop(lambda key, _known: key[:2] == (pool, namespace))


def _reread_pool(pool: str) -> None:
    _known.expire(lambda key, _known: key[0] == pool)


def on_revocation(callback: Callable[[], None]) -> None:
    """Call it, in any thread, when tokens were revoked and are forgotten here."""
    for kind in (NoticeKind.TOKEN_REVOKED, NoticeKind.NAMESPACE_DELETED):
        subscribe(kind, lambda _pool, _detail: callback())


subscribe(NoticeKind.TOKEN_REVOKED, _forget_revoked)

subscribe(NoticeKind.TOKEN_CHANGED, _reread_changed)

subscribe(NoticeKind.NAMESPACE_DELETED, _forget_namespace)

subscribe_to_gaps(_reread_pool)


def _read(pool: str, namespace: str, digest: str, old: _Known | None) -> _Known:
    token = (
        Token.objects.select_related("limit")
        .filter(digest=digest, revoked_at=None, namespace__name=namespace, namespace__pool__name=pool)
        .first()
    )
    if token is None:
        find_pool(pool)
        raise InvalidTokenError
    limit = getattr(token, "limit", None)
    access = Access(
        pool=pool,
        namespace=namespace,
        token_id=token.public_id,
        limit=None if limit is None else Limit.of(limit),
    )
    return _Known(access=access, noted_at=_note_use(token, old))


def _note_use(token: Token, old: _Known | None) -> float:
    now = time.monotonic()
    if old is not None and now - old.noted_at < NOTE_USE_EVERY_S:
        return old.noted_at
    note_use(token.pk)
    return now
