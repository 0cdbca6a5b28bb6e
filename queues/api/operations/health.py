"""For load balancers and supervisors; open to everybody, so it says little and costs little."""

from __future__ import annotations

import asyncio
from typing import Final

from queues.engine.errors import TaskqError
from queues.services.errors import MetadataUnavailableError, PoolNotFoundError
from queues.services.namespaces import check_metadata
from queues.services.pools.engines import check_writes
from queues.services.tokens.secrets import DEFAULT_POOL

from ..context import ApiContext
from ..outages import OUTAGES, cause_of
from ..recent_checks import RecentChecks
from ..request import ApiRequest
from ..response import ApiResponse, json_response

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
        await context.call(check_metadata)
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
