"""Handles one API request: validates names, resolves the pool, authenticates the token, applies the rate limit, runs
the operation, maps errors to responses. The fast path and the Django views both call `answer`.

A token's rate limit: the call that publishes or consumes counts its request too, and not one that gives the client
nothing. Only in a Redis Cluster it cannot: there a request is counted before, and uncounted again. If this process dies
between the two, the client has one request less until the interval ends.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable
from typing import Final

from queues.engine import AsyncEngine, give_back_token_limit, take_token_limit
from queues.engine.errors import LimitReachedError, TaskqError
from queues.engine.values import LimitTaken, RequestLimit
from queues.services.errors import InvalidTokenError
from queues.services.tokens.authentication import Access
from queues.services.tokens.limit_settings import RateKind, limit_of

from .context import ApiContext
from .handlers.admin import metrics
from .http.errors import TokenMissingError, error_response
from .http.request import ApiRequest, pool_and_secret
from .http.response import ApiResponse
from .log_paths import loggable_namespace, loggable_path
from .logs import OUTAGES, cause_of
from .metrics import CLIENT_GONE, COUNTERS
from .metrics.page import opens_metrics
from .router import STAFF, AuthKind, OperationFunction, Route
from .staff import SAFE_METHODS, check_origin

logger = logging.getLogger(__name__)


async def answer(route: Route, request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The response to a request; never raises but CancelledError, when the client has gone."""
    alternative = route.alternative
    if alternative is not None and not alternative.parameters.isdisjoint(request.query):
        route, request.path = alternative.route, {**request.path, **alternative.path}
    begun = COUNTERS.begin()
    try:
        response = await _dispatch(route, request, context)
    except Exception as error:
        response = error_response(error)
        _log_refusal(route, request, response, error)
    except BaseException:
        COUNTERS.end(route, CLIENT_GONE, begun)
        raise
    status = response.status
    COUNTERS.end(route, status, begun)
    if status == 429 and request.access is not None:
        COUNTERS.limited(request.access.pool, request.access.namespace)
    return response


def _dispatch(route: Route, request: ApiRequest, context: ApiContext) -> Awaitable[ApiResponse]:
    """Authenticate and run the operation; skips the checks when the token and queue are in the cache."""
    if not route.documentation.body:
        request.skip_body()
    if route.auth is STAFF:
        return _dispatch_staff(route, request, context)
    resolved = request.resolved = context.resolved_queues.find(request.headers.first.get(b"x-token"), request.path)
    if resolved is None:
        return _dispatch_checked(route, request, context)
    access = request.access = resolved.access
    request.authorised_at = resolved.authorised_at
    return _operate(route, access, request, context)


async def _dispatch_staff(route: Route, request: ApiRequest, context: ApiContext) -> ApiResponse:
    if route.method not in SAFE_METHODS:
        check_origin(request.headers)
    if not (route.operation is metrics and opens_metrics(request)):
        request.staff = await request.check_staff(route.permissions)
    return await _dispatch_checked(route, request, context)


async def _dispatch_checked(route: Route, request: ApiRequest, context: ApiContext) -> ApiResponse:
    route.check_names(request)
    if route.auth is not AuthKind.TOKEN:
        return await route.operation(request, context)
    request.authorised_at = time.monotonic()
    access = request.access = await _authorise(request, context)
    return await _operate(route, access, request, context)


def _operate(route: Route, access: Access, request: ApiRequest, context: ApiContext) -> Awaitable[ApiResponse]:
    if access.limit is None or route.rate is None:
        return route.operation(request, context)
    return run_limited(route.operation, route.rate, request, context)


async def _authorise(request: ApiRequest, context: ApiContext) -> Access:
    """First the pool, then the token: with an unknown pool no token is looked at."""
    pool, secret = pool_and_secret(request)
    try:
        return await context.authorise(pool=pool, secret=secret, namespace=request.path["namespace"])
    except InvalidTokenError:
        if not secret:
            raise TokenMissingError("token not found") from None
        raise


def _log_refusal(route: Route, request: ApiRequest, response: ApiResponse, error: Exception) -> None:
    """What was wrong with what; never the query, a header or the body."""
    fields = {
        "route": route.name,
        "namespace": loggable_namespace(request.path.get("namespace", "")),
        "queue": request.path.get("queue", "")[:255],
        "client": request.client,
        "request_id": request.request_id.decode("ascii"),
    }
    _log(response, error, fields, pool=request.access.pool if request.access else "")


def refuse_unrouted(error: Exception, *, method: str, raw_path: bytes, client: str, request_id: bytes) -> ApiResponse:
    """The response to a request that no route fits, or whose query cannot be read."""
    response = error_response(error)
    COUNTERS.refused(response.status)
    path = loggable_path(method, raw_path)
    fields = {"method": method[:20], "path": path, "client": client, "request_id": request_id.decode("ascii")}
    _log(response, error, fields)
    return response


def _log(response: ApiResponse, error: Exception, fields: dict[str, str], pool: str = "") -> None:
    """One line for each request; of those that an outage refuses (503, 507), for the first."""
    known = {"action": "http.refuse", "status": response.status, **cause_of(error)}
    example = {"reason": str(error)[:200], **fields}
    if response.status > 500:
        OUTAGES.note("request refused", {**known, "pool": pool}, example)
    else:
        level = logging.WARNING if response.status == 500 else logging.INFO
        logger.log(level, "request refused", extra={**known, **example})


_background: Final[set[asyncio.Task[None]]] = set()


async def run_limited(
    operation: OperationFunction, kind: RateKind, request: ApiRequest, context: ApiContext
) -> ApiResponse:
    """The operation's response, if the request fits the token's limit. Raises LimitReachedError."""
    access = request.granted
    limit = limit_of(token_id=access.token_id, limit=access.limit, kind=kind)
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
    taken = await engine.run(take_token_limit(limit))
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
        await engine.run(give_back_token_limit(taken))
    except TaskqError as error:
        OUTAGES.note(
            "limit could not be given back",
            {"action": "limit.give_back", **cause_of(error)},
            {"token_id": limit.token_id},
            level=logging.INFO,
        )
