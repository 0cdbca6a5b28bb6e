"""Staff: what there is, and how it is doing."""

from __future__ import annotations

from typing import Any, Final

from queues import __version__
from queues.engine import list_queues
from queues.services.activity import ActivityAction, note_activity
from queues.services.errors import PoolNotFoundError
from queues.services.permissions import list_visible, visible_names
from queues.services.pools.managing import list_pools
from queues.services.tokens.secrets import DEFAULT_POOL

from ..context import ApiContext
from ..http.errors import ParameterError
from ..http.request import ApiRequest
from ..http.response import ApiResponse, json_response, text_response
from ..logs import ACCESS_LOG
from ..metrics.page import render_metrics

INFO_NAMESPACES: Final = 100
INFO_QUEUES: Final = 1_000
"""How much one answer of `/info` lists; `truncated` says that there is more."""


async def pools(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Names of the pools."""
    return json_response(200, [pool.name for pool in await context.call(list_pools)])


async def info(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Namespaces of a pool that the user may see, and their queues."""
    pool = request.query.get("pool") or DEFAULT_POOL
    try:
        engine = await context.engine(pool)
    except PoolNotFoundError:
        raise ParameterError("pool not found") from None
    names = await context.call(list_visible, user=request.staff, pool=pool, limit=INFO_NAMESPACES + 1)
    truncated = len(names) > INFO_NAMESPACES
    namespaces: dict[str, Any] = {}
    for name in names[:INFO_NAMESPACES]:
        page = await engine.run(list_queues(engine.layout, name, limit=INFO_QUEUES))
        namespaces[name] = page.names
        truncated = truncated or page.after is not None
    return json_response(200, {"pool": pool, "namespaces": namespaces, "truncated": truncated})


async def version(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """What runs here."""
    return json_response(200, {"version": __version__})


async def metrics(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """For Prometheus: all namespaces with the secret for scraping, else those that the user may see."""
    visible = None if request.staff is None else await context.call(visible_names, user=request.staff)
    return text_response(200, await render_metrics(context, visible=visible))


async def show_access_log(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Whether each request is logged."""
    await ACCESS_LOG.read_switch()
    return json_response(200, {"status": "enabled" if ACCESS_LOG.enabled else "disabled"})


async def switch_access_log(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Log each request from now on, or stop; in all processes within seconds."""
    status = request.query.get("status")
    if status not in ("enable", "disable"):
        raise ParameterError("invalid status")
    await context.call(ACCESS_LOG.switch, status == "enable")
    await context.call(
        note_activity, user=request.staff, action=ActivityAction.ACCESS_LOG_SWITCHED, pool="", detail=f"{status}d"
    )
    return json_response(200, {"status": f"{status}d"})
