"""For load balancers and supervisors; open to everybody, so it says little and costs little."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakKeyDictionary

from queues.engine.errors import TaskqError
from queues.pools.database import check_database
from queues.services.errors import MetadataUnavailableError, PoolNotFoundError
from queues.services.pools.load import check_writes
from queues.services.tokens.secrets import DEFAULT_POOL

from ..context import ApiContext
from ..http.request import ApiRequest
from ..http.response import ApiResponse, json_response
from ..logs import OUTAGES, cause_of

KEPT_S: Final = 1.0


class _Checks:
    """Those of one event loop."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, str]] = {}
        self.under_way: dict[str, asyncio.Future[str]] = {}


class RecentChecks:
    """Results of checks by name, kept for KEPT_S: what is wrong, or "". Concurrent callers share one check."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _Checks] = WeakKeyDictionary()

    async def ask(self, name: str, check: Callable[[], Awaitable[str]], *, patience_s: float | None = None) -> str:
        """What `check` found lately, or finds now, whatever becomes of the caller. Raises what `check` raises.

        If that takes longer than `patience_s`, what it found before, if it ever did.
        """
        checks = self._by_loop.setdefault(asyncio.get_running_loop(), _Checks())
        before = checks.found.get(name)
        if before is not None and self._clock() - before[0] < KEPT_S:
            return before[1]
        under_way = checks.under_way.get(name)
        if under_way is None:
            under_way = checks.under_way[name] = asyncio.ensure_future(self._check(name, check, checks))
            under_way.add_done_callback(_note_error)
        if before is not None and patience_s is not None:
            done, _ = await asyncio.wait([under_way], timeout=patience_s)
            if not done:
                return before[1]
        return await asyncio.shield(under_way)

    async def _check(self, name: str, check: Callable[[], Awaitable[str]], checks: _Checks) -> str:
        try:
            answer = await check()
            checks.found[name] = (self._clock(), answer)
            return answer
        finally:
            del checks.under_way[name]


def _note_error(under_way: asyncio.Future[str]) -> None:
    """All callers may be gone by then, and asyncio logs an error that is never retrieved."""
    if not under_way.cancelled():
        under_way.exception()


_ALIVE: Final = json_response(200, {"status": "ok"})
_CHECKS: Final = RecentChecks()

PUBLISH_PATIENCE_S: Final = 0.3
"""After so long the answer is the one before: replicas may take longer than a load balancer waits for `/readyz`."""


async def healthz(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """This process answers."""
    return _ALIVE


async def readyz(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The database answers and the pool's Redis takes writes. Names what does not; the log has the reason.

    Where consumers can go on and producers cannot, it is ready, and says what a publish would.

    Raises PoolNotFoundError.
    """
    pool = request.query.get("pool") or DEFAULT_POOL
    database, redis = await asyncio.gather(
        _CHECKS.ask("database", lambda: _check_database(context)),
        _CHECKS.ask(f"pool {pool}", lambda: _check_pool(context, pool)),
    )
    failing = [check for check in (database, redis) if check]
    if failing:
        return json_response(503, {"error": f"not ready: {', '.join(failing)}"}, (b"retry-after", b"1"))
    publish = await _CHECKS.ask(
        f"publish to {pool}", lambda: _check_publish(context, pool), patience_s=PUBLISH_PATIENCE_S
    )
    return json_response(200, {"status": "ready", "publish": publish} if publish else {"status": "ready"})


async def _check_database(context: ApiContext) -> str:
    try:
        await context.call(check_database)
    except MetadataUnavailableError:
        return "database"
    return ""


async def _check_pool(context: ApiContext, pool: str) -> str:
    try:
        await check_writes(await context.engine(pool))
    except PoolNotFoundError:
        raise
    except TaskqError as error:
        OUTAGES.note("pool is not ready", {"action": "readyz", "pool": pool, **cause_of(error)})
        return "redis"
    return ""


async def _check_publish(context: ApiContext, pool: str) -> str:
    try:
        await check_writes(await context.engine(pool), as_publish=True)
    except PoolNotFoundError:
        raise
    except TaskqError as error:
        OUTAGES.note("pool takes no publishes", {"action": "readyz", "pool": pool, **cause_of(error)})
        return error.code
    return ""
