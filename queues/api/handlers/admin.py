"""Staff: pools, information, metrics, the access log; tokens and their limits.

Secrets come in and, once, go out; they are never logged nor repeated in an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from queues import __version__
from queues.engine import list_queues
from queues.services.activity import ActivityAction, note_activity
from queues.services.errors import PoolNotFoundError
from queues.services.permissions import check_visible, list_visible, visible_names
from queues.services.pools.managing import list_pools
from queues.services.tokens import limit_settings as limit_service
from queues.services.tokens import managing as token_service
from queues.services.tokens.limit_settings import Limit, delete_limit, get_limit, set_limit
from queues.services.tokens.managing import note_new_token, note_token_act
from queues.services.tokens.secrets import DEFAULT_POOL, split_token

from ..context import ApiContext
from ..http.body import JSON_BODY_MAX_BYTES, number_of, read_object
from ..http.errors import ParameterError
from ..http.request import ApiRequest, parse_query
from ..http.response import NO_CONTENT, ApiResponse, json_response, text_response
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


async def create_token(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A new token. Parameters come in the query or in a form body, as in lmstfy."""
    given = {**await _form(request), **request.query}
    if not given.get("description"):
        raise ParameterError("invalid description")
    pool, secret = given.get("pool") or DEFAULT_POOL, given.get("token") or None
    if secret is not None and ":" in secret:
        pool, secret = split_token(secret)
    await _check_visible(request, context, pool)
    try:
        token = await context.call(
            token_service.create_token,
            namespace=request.path["namespace"],
            pool=pool,
            description=given["description"],
            secret=secret,
        )
    except PoolNotFoundError:
        raise ParameterError("pool not found") from None
    await context.call(note_new_token, user=request.staff, pool=pool, namespace=request.path["namespace"], token=token)
    return json_response(201, {"token": token.display})


async def list_tokens(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Public ids and descriptions; a secret is shown once, when it is made."""
    pool = request.query.get("pool") or DEFAULT_POOL
    await _check_visible(request, context, pool)
    try:
        tokens = await context.call(token_service.list_tokens, namespace=request.path["namespace"], pool=pool)
    except PoolNotFoundError:
        raise ParameterError("pool not found") from None
    return json_response(200, {"tokens": {token.public_id: token.description for token in tokens}})


async def revoke_token(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """204 also when there is no such token, as in lmstfy."""
    which = await _which(request, context)
    if await context.call(token_service.revoke_token, **which):
        await _note(request, context, ActivityAction.TOKEN_REVOKED, which)
    return NO_CONTENT


async def add_limit(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A limit for a token that has none."""
    limit = await _limit(request)
    which = await _which(request, context)
    await context.call(set_limit, limit=limit, only_new=True, **which)
    await _note(request, context, ActivityAction.LIMIT_CHANGED, which, detail=str(limit))
    return json_response(201, _present_set_limit(limit))


async def put_limit(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A limit, in place of the one there may be."""
    limit = await _limit(request)
    which = await _which(request, context)
    await context.call(set_limit, limit=limit, **which)
    await _note(request, context, ActivityAction.LIMIT_CHANGED, which, detail=str(limit))
    return json_response(200, _present_set_limit(limit))


async def show_limit(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """404 when the token has none."""
    return json_response(200, present_limit(await context.call(get_limit, **await _which(request, context))))


async def remove_limit(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """200 also when there was none, as in lmstfy."""
    which = await _which(request, context)
    if await context.call(delete_limit, **which):
        await _note(request, context, ActivityAction.LIMIT_DELETED, which)
    return json_response(200, {"msg": "success"})


async def list_limits(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The limits of all namespaces that the user may see, and whose they are."""
    visible = await context.call(visible_names, user=request.staff)
    limits = await context.call(limit_service.list_limits)
    return json_response(
        200,
        [
            {
                "pool": one.pool,
                "namespace": one.namespace,
                "token": one.public_id,
                "limiter": present_limit(one.limit),
            }
            for one in limits
            if visible is None or (one.pool, one.namespace) in visible
        ],
    )


def present_limit(limit: Limit) -> dict[str, int]:
    """lmstfy's form of a limit."""
    return {"read": limit.read, "write": limit.write, "interval": limit.interval_s}


def _present_set_limit(limit: Limit) -> dict[str, Any]:
    """As lmstfy answers to the setting of a limit, and as it is shown."""
    presented = present_limit(limit)
    return {**presented, "limiter": presented}


async def _which(request: ApiRequest, context: ApiContext) -> dict[str, Any]:
    """The token in the path: a public id or a secret, the latter also with its pool; else `?pool=` says which pool.

    Raises NamespaceNotFoundError if the user may not see its namespace.
    """
    prefix, _ = split_token(request.path["token"])
    pool = request.query.get("pool") or prefix
    await _check_visible(request, context, pool)
    return {"pool": pool, "namespace": request.path["namespace"], "public_id_or_secret": request.path["token"]}


async def _note(
    request: ApiRequest, context: ApiContext, action: ActivityAction, which: dict[str, Any], detail: str = ""
) -> None:
    await context.call(note_token_act, user=request.staff, action=action, detail=detail, **which)


async def _check_visible(request: ApiRequest, context: ApiContext, pool: str) -> None:
    await context.call(check_visible, user=request.staff, pool=pool, namespace=request.path["namespace"])


async def _limit(request: ApiRequest) -> Limit:
    fields = await read_object(request)
    return Limit(
        read=number_of(fields, "read", 0),
        write=number_of(fields, "write", 0),
        interval_s=number_of(fields, "interval", 0),
    )


async def _form(request: ApiRequest) -> Mapping[str, str]:
    if not request.headers.get(b"content-type").startswith("application/x-www-form-urlencoded"):
        return {}
    return parse_query(bytes(await request.read_body(JSON_BODY_MAX_BYTES)))
