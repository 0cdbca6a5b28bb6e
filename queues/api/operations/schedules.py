"""Schedules of a namespace. They are rows of the database, so these operations need it; only `run` needs Redis."""

from __future__ import annotations

from typing import Any

from queues.services.schedules.editing import delete_schedule, preview, put_schedule, run_now, set_paused
from queues.services.schedules.reading import HISTORY_MAX, LIMIT_MAX, list_schedules, read_schedule

from ..context import ApiContext
from ..http.body import read_object
from ..http.errors import ParameterError
from ..http.query import read_flag, read_uint
from ..http.request import ApiRequest
from ..http.response import NO_CONTENT, ApiResponse, json_response
from .schedule_json import BODY_LIMIT, app_of, fields_of, present_detail, present_fire, present_schedule


async def list_all(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A page of them by name, without their bodies."""
    limit = read_uint(request.query, "limit", 100, least=1, most=LIMIT_MAX)
    after, app = request.query.get("after", ""), request.query.get("app")
    if not after.isprintable():
        raise ParameterError("invalid after")
    if app is not None and not app.isprintable():
        raise ParameterError("invalid app")
    access = request.granted
    page = await context.call(
        list_schedules, pool=access.pool, namespace=access.namespace, after=after, limit=limit, app=app
    )
    shown = [present_schedule(one) for one in page.schedules]
    return json_response(200, {"namespace": access.namespace, "schedules": shown, "after": page.after})


async def show(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """One of them: its body, its next fires and its history."""
    history = read_uint(request.query, "history", 10, most=HISTORY_MAX)
    found = await context.call(read_schedule, **_which(request), history=history)
    return json_response(200, present_detail(found))


async def put(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Make or replace one; with `dry_run` only say when it would fire."""
    is_dry = read_flag(request.query, "dry_run")
    content = await read_object(request, BODY_LIMIT)
    fields, app = fields_of(content), app_of(content)
    await context.reauthorise_if_late(request)
    if is_dry:
        return json_response(200, {"msg": "valid", "upcoming_ms": await context.call(preview, fields=fields)})
    schedule, is_new = await context.call(put_schedule, **_which(request), fields=fields, app=app)
    message = "created" if is_new else "replaced"
    return json_response(201 if is_new else 200, {"msg": message, "schedule": present_schedule(schedule)})


async def delete(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Its jobs stay."""
    await context.call(delete_schedule, **_which(request), app=request.query.get("app", ""))  # compared, not looked up
    return NO_CONTENT


async def pause(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Fire it no more until it is resumed."""
    _, changed = await context.call(set_paused, **_which(request), paused=True)
    return json_response(200, {"msg": "paused", "changed": changed})


async def resume(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Fire it again from now on."""
    schedule, changed = await context.call(set_paused, **_which(request), paused=False)
    return json_response(200, {"msg": "resumed", "changed": changed, "next_ms": schedule.next_ms})


async def run(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Fire it once now."""
    fire = await context.call(run_now, **_which(request))
    return json_response(200, present_fire(fire))


def _which(request: ApiRequest) -> dict[str, Any]:
    access = request.granted
    return {"pool": access.pool, "namespace": access.namespace, "name": request.path["schedule"]}
