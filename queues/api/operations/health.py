"""For load balancers and supervisors; open to everybody, so it says little and costs little."""

from __future__ import annotations

import asyncio
from typing import Final

from queues.engine.errors import TaskqError
from queues.services.errors import MetadataUnavailableError, PoolNotFoundError
from queues.services.jobs_namespaces import check_metadata
from queues.services.jobs_run import check_writes
from queues.services.secrets import DEFAULT_POOL

from ..context import ApiContext
from ..outages import OUTAGES, cause_of
from ..recent_checks import RecentChecks
from ..request import ApiRequest
from ..response import ApiResponse, json_response

_ALIVE: Final = json_response(200, {"status": "ok"})
_CHECKS: Final = RecentChecks()


async def healthz(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """This process answers."""
    return _ALIVE


async def readyz(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The database answers and the pool's Redis takes writes. Names what does not; the log has the reason.

    Raises PoolNotFoundError.
    """
    pool = request.query.get("pool") or DEFAULT_POOL
    database, redis = await asyncio.gather(
        _CHECKS.ask("database", lambda: _database_answers(context)),
        _CHECKS.ask(f"pool {pool}", lambda: _redis_takes_writes(context, pool)),
    )
    if database and redis:
        return json_response(200, {"status": "ready"})
    failing = [name for name, answers in (("database", database), ("redis", redis)) if not answers]
    return json_response(503, {"error": f"not ready: {', '.join(failing)}"}, (b"retry-after", b"1"))


async def _database_answers(context: ApiContext) -> bool:
    try:
        await context.call(check_metadata)
    except MetadataUnavailableError:
        return False
    return True


async def _redis_takes_writes(context: ApiContext, pool: str) -> bool:
    try:
        await check_writes(await context.engine(pool))
    except PoolNotFoundError:
        raise
    except TaskqError as error:
        OUTAGES.note("pool is not ready", {"action": "readyz", "pool": pool, **cause_of(error)})
        return False
    return True
