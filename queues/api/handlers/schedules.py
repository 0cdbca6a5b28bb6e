"""Schedules: what a client sends and is shown as JSON, and the operations."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final

from queues.engine.constants import MEBIBYTE, PRIORITY_MAX, PRIORITY_MIN, SECONDS_MAX, TRIES_MAX
from queues.services.schedules.editing import delete_schedule, preview, put_schedule, run_now, set_paused
from queues.services.schedules.reading import HISTORY_MAX, LIMIT_MAX, ScheduleDetail, list_schedules, read_schedule
from queues.services.schedules.values import CatchUp, Fire, Overlap, ScheduleFields, ScheduleKind, ScheduleView

from ..context import ApiContext
from ..http.body import read_object
from ..http.errors import ParameterError
from ..http.request import ApiRequest, read_flag, read_uint
from ..http.response import NO_CONTENT, ApiResponse, json_response
from .json_members import (
    check_known,
    read_attributes,
    read_body,
    read_choice,
    read_moment,
    read_number,
    read_text,
    read_whole,
)
from .json_members import read_flag as read_member_flag

BODY_LIMIT: Final = 2 * MEBIBYTE
"""Of the request: room for the largest job body in base64."""

APP_MAX: Final = 255

_WHEN: Final = ("cron", "every", "at")
_KNOWN: Final = frozenset(
    {
        *_WHEN,
        *("queue", "body", "data", "start", "zone", "tries", "ttl", "priority", "backoff", "retention", "attributes"),
        "limit_key",
        *("catch_up", "catch_up_max", "jitter", "overlap", "paused", "app"),
    }
)


def fields_of(content: dict[str, Any]) -> ScheduleFields:
    """What the client wants. Raises ParameterError, which names the member that is wrong."""
    check_known(content, _KNOWN)
    given = [name for name in _WHEN if content.get(name) is not None]
    if len(given) != 1:
        raise ParameterError(f"expected one of cron, every and at, not {len(given)}")
    kind = {"cron": ScheduleKind.CRON, "every": ScheduleKind.INTERVAL, "at": ScheduleKind.ONCE}[given[0]]
    if kind is not ScheduleKind.INTERVAL and content.get("start") is not None:
        raise ParameterError("start needs every")
    if "queue" not in content:
        raise ParameterError("invalid queue: it is missing")
    every = read_number(content, "every", least=0, most=SECONDS_MAX)
    return ScheduleFields(
        queue=read_text(content, "queue"),
        kind=kind,
        cron=read_text(content, "cron"),
        interval_ms=None if every is None else round(every * 1000),
        starts_ms=read_moment(content, "start"),
        at_ms=read_moment(content, "at"),
        zone=read_text(content, "zone") or "UTC",
        body=read_body(content),
        tries=read_whole(content, "tries", least=1, most=TRIES_MAX),
        ttl_s=read_whole(content, "ttl", least=0, most=SECONDS_MAX),
        priority=read_whole(content, "priority", least=PRIORITY_MIN, most=PRIORITY_MAX) or 0,
        backoff=read_text(content, "backoff"),
        retention_s=read_whole(content, "retention", least=0, most=SECONDS_MAX) or 0,
        attributes=read_attributes(content),
        limit_key=read_text(content, "limit_key"),
        catch_up=read_choice(content, "catch_up", CatchUp, CatchUp.LAST),
        catch_up_max=read_whole(content, "catch_up_max", least=1, most=1_000) or 100,
        jitter_s=read_whole(content, "jitter", least=0, most=86_400) or 0,
        overlap=read_choice(content, "overlap", Overlap, Overlap.ALLOW),
        paused=read_member_flag(content, "paused"),
    )


def app_of(content: dict[str, Any]) -> str:
    """The app whose code declares it; "": none does."""
    app = read_text(content, "app")
    if len(app) > APP_MAX or not app.isprintable():
        raise ParameterError("invalid app")
    return app


def present_schedule(schedule: ScheduleView) -> dict[str, Any]:
    """Without its body."""
    fields = schedule.fields
    return {
        "name": schedule.name,
        "queue": fields.queue,
        "state": schedule.state.value,
        "kind": fields.kind.value,
        "cron": fields.cron or None,
        "every": None if fields.interval_ms is None else fields.interval_ms / 1000,
        "start_ms": fields.starts_ms,
        "at_ms": fields.at_ms,
        "zone": fields.zone,
        "next_ms": schedule.next_ms,
        "body_bytes": schedule.body_bytes,
        "tries": fields.tries,
        "ttl": fields.ttl_s,
        "priority": fields.priority,
        "backoff": fields.backoff or None,
        "retention": fields.retention_s,
        "attributes": fields.attributes,
        "limit_key": fields.limit_key or None,
        "catch_up": fields.catch_up.value,
        "catch_up_max": fields.catch_up_max,
        "jitter": fields.jitter_s,
        "overlap": fields.overlap.value,
        "source": schedule.source.value,
        "app": schedule.app or None,
        "last": None if schedule.last is None else present_fire(schedule.last),
    }


def present_detail(detail: ScheduleDetail) -> dict[str, Any]:
    """With its body in base64, its next fires and its history."""
    return {
        **present_schedule(detail.schedule),
        "data": b64encode(detail.schedule.fields.body).decode("ascii"),
        "upcoming_ms": detail.upcoming_ms,
        "history": [present_fire(fire) for fire in detail.fires],
    }


def present_fire(fire: Fire) -> dict[str, Any]:
    """A row of the history."""
    return {
        "outcome": fire.outcome.value,
        "due_ms": fire.due_ms,
        "until_ms": fire.until_ms,
        "count": fire.count,
        "manual": fire.manual,
        "fired_ms": fire.fired_ms,
        "queue": fire.queue or None,
        "job_id": fire.job_id or None,
        "error": fire.error or None,
    }


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
