"""What a consumer does with the job it holds: ack, fail, release, extend."""

from __future__ import annotations

from queues.engine.limits import BODY_MAX_BYTES, UINT32_MAX
from queues.services.jobs_finish import ack_job, extend_lease, fail_job, release_job

from ..context import ApiContext
from ..json_body import flag_of, read_object, seconds_as_ms_of, text_of
from ..metrics import COUNTERS
from ..query import read_optional_uint, read_seconds_as_ms
from ..request import ApiRequest
from ..response import NO_CONTENT, ApiResponse, json_response


async def ack(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """204, also for an unknown job. With `attempt`, only if that attempt still holds it. A body is the job's result.

    One that is too large for a result is refused only if the job would keep it: some clients of lmstfy send their last
    publish's body again with whatever comes after it.
    """
    attempt = _attempt(request)
    body = await request.read_or_discard_body(BODY_MAX_BYTES)
    job_id = request.path["job_id"]
    ended = await context.run(
        request,
        lambda queue: ack_job(
            queue=queue,
            job_id=job_id,
            attempt=attempt,
            result=bytes(body) if body else None,
            result_too_large=body is None,
        ),
    )
    if ended.run_ms is not None:
        access = request.granted
        COUNTERS.acked(access.pool, access.namespace, request.path["queue"], ended.run_ms)
    return NO_CONTENT


async def fail(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """End the attempt as failed now, rather than when its lease runs out."""
    attempt = _attempt(request)
    fields = await read_object(request)
    error, delay_ms, dead = text_of(fields, "error"), seconds_as_ms_of(fields, "delay"), flag_of(fields, "dead")
    job_id = request.path["job_id"]
    failed = await context.run(
        request,
        lambda queue: fail_job(queue=queue, job_id=job_id, attempt=attempt, error=error, delay_ms=delay_ms, dead=dead),
    )
    access = request.granted
    COUNTERS.failed(access.pool, access.namespace, request.path["queue"])
    return json_response(200, {"state": failed.state.value, "due_ms": failed.due_ms})


async def release(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Give the job back without burning its try."""
    attempt = _attempt(request)
    delay_ms = read_seconds_as_ms(request.query, "delay")
    job_id = request.path["job_id"]
    await context.run(
        request, lambda queue: release_job(queue=queue, job_id=job_id, attempt=attempt, delay_ms=delay_ms)
    )
    return json_response(200, {"msg": "released"})


async def extend(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A new lease, from now on."""
    attempt = _attempt(request)
    ttr_s = read_optional_uint(request.query, "ttr", least=1)
    opened = await context.open(request)
    lease_end_ms = await opened.engine.run(
        extend_lease(
            queue=opened.queue, job_id=request.path["job_id"], policy=opened.policy, attempt=attempt, ttr_s=ttr_s
        )
    )
    return json_response(200, {"msg": "extended", "lease_end_ms": lease_end_ms})


def _attempt(request: ApiRequest) -> int | None:
    return read_optional_uint(request.query, "attempt", least=1, most=UINT32_MAX)
