"""Queues as a whole."""

from __future__ import annotations

from queues.engine import NO_LIMITS, list_groups, list_limit_keys
from queues.engine import destroy as empty_queue
from queues.engine import flush_group as flush_group_of
from queues.engine import list_queues as list_queues_of
from queues.engine import pause as pause_queue
from queues.engine import resume as resume_queue
from queues.engine import size as queue_size
from queues.engine import stats as queue_stats
from queues.engine.constants import PAGE_MAX
from queues.engine.errors import InvalidArgumentError
from queues.engine.names import check_queue

from ..context import ApiContext
from ..http.errors import ParameterError
from ..http.request import ApiRequest, read_flag, read_uint
from ..http.response import NO_CONTENT, ApiResponse, json_response
from .job_json import present_counts, present_stats


async def size(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """How many jobs are ready."""
    count = await context.run(request, queue_size)
    return json_response(200, {"namespace": request.path["namespace"], "queue": request.path["queue"], "size": count})


async def destroy(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Empty the queue: its ready jobs, with `all` those of every state."""
    everything = read_flag(request.query, "all")
    await context.run(request, lambda queue: empty_queue(queue, everything=everything))
    return NO_CONTENT


async def list_queues(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A page of the namespace's queues with their counts."""
    limit = read_uint(request.query, "limit", 100, least=1, most=PAGE_MAX)
    after = _read_after(request)
    access = request.granted
    engine = await context.engine(access.pool)
    page = await engine.run(list_queues_of(engine.layout, access.namespace, after=after, limit=limit))
    stats = await engine.batch([queue_stats(engine.queue(access.namespace, name)) for name in page.names])
    queues = [{"queue": one.queue, "paused": one.paused, **present_counts(one)} for one in stats]
    return json_response(200, {"namespace": access.namespace, "queues": queues, "after": page.after})


async def stats(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Counts, rates and percentiles."""
    return json_response(200, present_stats(await context.run(request, queue_stats)))


async def limit_keys(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A page of the limit keys with ready jobs, and what each waits for."""
    limit = read_uint(request.query, "limit", 100, least=1, most=PAGE_MAX)
    first = read_uint(request.query, "after", 0)
    policy = await context.policy(request.granted, request.path["queue"])
    queue_limits = policy.queue_limits or NO_LIMITS
    page = await context.run(
        request, lambda queue: list_limit_keys(queue, first=first, limit=limit, queue_limits=queue_limits)
    )
    keys = [
        {
            "limit_key": key.key,
            "ready": key.ready,
            "working": key.working,
            "weight": key.weight,
            "waits_for": key.waits_for,
            "free_ms": key.free_ms,
        }
        for key in page.keys
    ]
    return json_response(
        200,
        {
            "namespace": request.path["namespace"],
            "queue": request.path["queue"],
            "now_ms": page.now_ms,
            "total": page.total,
            "throttled": page.throttled,
            "queue_free_ms": page.queue_free_ms,
            "limit_keys": keys,
            "after": page.after,
        },
    )


async def groups(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A page of the groups that fill."""
    limit = read_uint(request.query, "limit", 100, least=1, most=PAGE_MAX)
    first = read_uint(request.query, "after", 0)
    page = await context.run(request, lambda queue: list_groups(queue, first=first, limit=limit))
    found = [
        {
            "group": one.group,
            "members": one.members,
            "bytes": one.bytes,
            "first_ms": one.first_ms,
            "last_ms": one.last_ms,
            "flush_ms": one.flush_ms,
            "max_size": one.max_size,
            "max_delay_s": one.max_delay_ms // 1000,
            "grace_period_s": one.grace_ms // 1000,
        }
        for one in page.groups
    ]
    return json_response(
        200,
        {
            "namespace": request.path["namespace"],
            "queue": request.path["queue"],
            "now_ms": page.now_ms,
            "total": page.total,
            "joining": page.joining,
            "groups": found,
            "after": page.after,
        },
    )


async def flush_group(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Flush a group now, whatever it has."""
    group = request.query.get("group", "")
    flushed = await context.run(request, lambda queue: flush_group_of(queue, group))
    return json_response(
        200,
        {"msg": "flushed", "batches": flushed.batches, "members": flushed.members, "more": flushed.more},
    )


async def pause(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Deliver nothing until resumed; a queue that does not exist is not made by it."""
    changed = await context.run(request, lambda queue: pause_queue(queue, must_exist=True))
    return json_response(200, {"msg": "paused", "changed": changed})


async def resume(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Deliver jobs again."""
    changed = await context.run(request, resume_queue)
    return json_response(200, {"msg": "resumed", "changed": changed})


def _read_after(request: ApiRequest) -> str | None:
    """The last queue of the page before."""
    after = request.query.get("after")
    if after is not None:
        try:
            check_queue(after)
        except InvalidArgumentError:
            raise ParameterError("invalid after") from None
    return after
