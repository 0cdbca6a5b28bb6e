"""A token's rate limit.

The call that publishes or consumes counts its request too, and not one that gives the client nothing. Only in a Redis
Cluster it cannot: there a request is counted before, and uncounted again. If this process dies between the two, the
client has one request less until the interval ends.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from queues.engine import AsyncEngine
from queues.engine.errors import LimitReachedError, TaskqError
from queues.engine.values import LimitTaken, RequestLimit
from queues.services.tokens.access import RateKind, give_back_request, limit_of, take_request

from .context import ApiContext
from .outages import OUTAGES, cause_of
from .request import ApiRequest
from .response import ApiResponse
from .route import OperationFunction

_background: Final[set[asyncio.Task[None]]] = set()


async def run_limited(
    operation: OperationFunction, kind: RateKind, request: ApiRequest, context: ApiContext
) -> ApiResponse:
    """The operation's response, if the request fits the token's limit. Raises LimitReachedError."""
    access = request.granted
    limit = limit_of(access=access, kind=kind)
    if limit is None:
        return await operation(request, context)
    engine = await context.engine(access.pool)
    if engine.counts_in_call:
        request.limit = limit
        return await operation(request, context)
    return await _run_counted(operation, limit, engine, request, context)


async def _run_counted(
    operation: OperationFunction, limit: RequestLimit, engine: AsyncEngine, request: ApiRequest, context: ApiContext
) -> ApiResponse:
    taken = await engine.run(take_request(limit=limit))
    if not taken.allowed:
        raise LimitReachedError(limit.kind, taken.retry_after_ms)
    gave_nothing = True
    try:
        response = await operation(request, context)
        gave_nothing = not response.succeeded
        return response
    except asyncio.CancelledError:
        # The client has gone. A publish of its is carried out all the same, so it counts; a consume took no job.
        gave_nothing = limit.kind == "read"
        raise
    finally:
        if gave_nothing:
            # A task of its own, for this one may be in the middle of being cancelled.
            task = asyncio.ensure_future(_give_back(engine, limit, taken))
            _background.add(task)
            task.add_done_callback(_background.discard)


async def _give_back(engine: AsyncEngine, limit: RequestLimit, taken: LimitTaken) -> None:
    """Uncount the request. A fault here changes nothing for the client, so it is only logged."""
    try:
        await engine.run(give_back_request(taken=taken))
    except TaskqError as error:
        OUTAGES.note(
            "limit could not be given back",
            {"action": "limit.give_back", **cause_of(error)},
            {"token_id": limit.token_id},
            level=logging.INFO,
        )
