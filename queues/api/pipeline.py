"""Handles one API request: validates names, resolves the pool, authenticates the token, applies the rate limit, runs
the operation, maps errors to responses. The fast path and the Django views both call `answer`."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable

from queues.services.errors import InvalidTokenError
from queues.services.tokens.access import Access

from .context import ApiContext
from .cross_site import SAFE_METHODS, check_origin
from .errors import TokenMissingError, error_response
from .limiting import run_limited
from .log_paths import loggable_namespace, loggable_path
from .metrics import CLIENT_GONE, COUNTERS, opens_metrics
from .operations.admin_info import metrics
from .outages import OUTAGES, cause_of
from .request import ApiRequest
from .response import ApiResponse
from .route import STAFF, AuthKind, Route
from .tokens import pool_and_secret

logger = logging.getLogger(__name__)


async def answer(route: Route, request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The response to a request; never raises but CancelledError, when the client has gone."""
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
