"""What a consumer does with the jobs it holds: ack one or many, fail, release, extend."""

from __future__ import annotations

import binascii
from collections.abc import Generator
from time import perf_counter
from typing import Any, Final

import orjson

from queues.engine import ack_attempt
from queues.engine import fail as fail_job
from queues.engine import release as release_job
from queues.engine.constants import BODY_MAX_BYTES, BULK_ACK_MAX_BYTES, BULK_ACK_MAX_VALUES, BULK_MAX_JOBS, UINT32_MAX
from queues.services.jobs.delivery import JobAck, ack_jobs_of, extend_lease

from ..context import ApiContext
from ..http.body import flag_of, read_object, seconds_as_ms_of, text_of
from ..http.errors import ParameterError
from ..http.large_requests import LARGE_BYTES, run_in_slices
from ..http.request import ApiRequest, read_optional_uint, read_seconds_as_ms
from ..http.response import NO_CONTENT, ApiResponse, json_response
from ..metrics import COUNTERS

NOT_JOBS: Final = "request body should be an object with jobs"
SLICE_S: Final = 0.001
RESULT_MAX_CHARS: Final = 4 * ((BODY_MAX_BYTES + 2) // 3)
"""Base64 of the longest result."""


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
        lambda queue: ack_attempt(
            queue,
            job_id,
            attempt=attempt,
            result=bytes(body) if body else None,
            result_too_large=body is None,
        ),
    )
    if ended.run_ms is not None:
        access = request.granted
        COUNTERS.acked(access.pool, access.namespace, request.path["queue"], ended.run_ms)
    return NO_CONTENT


async def ack_many(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Ack up to BULK_MAX_JOBS jobs. 200 with an outcome for each, in order, whatever the outcomes are."""
    body = await request.read_body(BULK_ACK_MAX_BYTES)
    is_large = len(body) > LARGE_BYTES
    if is_large:
        request.take_memory(len(body))  # what it is decoded to is about as long
    acks = await run_in_slices(_read_acks(body), is_large=is_large)
    ended = await context.run(request, lambda queue: ack_jobs_of(queue=queue, acks=acks))
    access, queue_name = request.granted, request.path["queue"]
    for one in ended:
        if one.run_ms is not None:
            COUNTERS.acked(access.pool, access.namespace, queue_name, one.run_ms)
    return json_response(200, {"outcomes": [one.outcome.value for one in ended]})


def _read_acks(body: bytes | bytearray) -> Generator[None, None, list[JobAck]]:
    """The jobs of a bulk ack. Raises ParameterError.

    It yields before and after a large body is decoded, and after each SLICE_S in which results are.
    """
    is_large = len(body) > LARGE_BYTES
    # Decoding takes far longer for many small values than for a few long texts, so these are counted first. A comma in
    # a text counts, too; neither ids nor base64 have any.
    if len(body) - len(body.translate(None, b"[{,")) > BULK_ACK_MAX_VALUES:
        raise ParameterError("too many values")
    if is_large:
        yield
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ParameterError(NOT_JOBS) from None
    if is_large:
        yield
    jobs = content.get("jobs") if isinstance(content, dict) else None
    if not isinstance(jobs, list):
        raise ParameterError(NOT_JOBS)
    if not jobs:
        raise ParameterError("no jobs")
    if len(jobs) > BULK_MAX_JOBS:
        raise ParameterError("too many jobs")
    acks: list[JobAck] = []
    began = perf_counter()
    for job in jobs:
        acks.append(_read_ack(job))
        if perf_counter() - began > SLICE_S:
            yield
            began = perf_counter()
    return acks


def _read_ack(job: Any) -> JobAck:
    if not isinstance(job, dict):
        raise ParameterError(NOT_JOBS)
    job_id, attempt, result = job.get("id"), job.get("attempt"), job.get("result")
    if not isinstance(job_id, str) or not job_id:
        raise ParameterError("invalid id")
    is_number = isinstance(attempt, int) and not isinstance(attempt, bool)
    if attempt is not None and not (is_number and 1 <= attempt <= UINT32_MAX):
        raise ParameterError("invalid attempt")
    if result is None or result == "":
        return JobAck(job_id, attempt)
    if not isinstance(result, str):
        raise ParameterError("invalid result")
    if len(result) > RESULT_MAX_CHARS:
        return JobAck(job_id, attempt, result_too_large=True)
    try:
        raw = binascii.a2b_base64(result, strict_mode=True)
    except ValueError:  # binascii.Error, and characters that are not ASCII
        raise ParameterError("invalid result") from None
    if len(raw) > BODY_MAX_BYTES:
        return JobAck(job_id, attempt, result_too_large=True)
    return JobAck(job_id, attempt, raw)


async def fail(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """End the attempt as failed now, rather than when its lease runs out."""
    attempt = _attempt(request)
    fields = await read_object(request)
    error, delay_ms, dead = text_of(fields, "error"), seconds_as_ms_of(fields, "delay"), flag_of(fields, "dead")
    job_id = request.path["job_id"]
    failed = await context.run(
        request,
        lambda queue: fail_job(queue, job_id, attempt=attempt, error=error, delay_ms=delay_ms, dead=dead),
    )
    access = request.granted
    COUNTERS.failed(access.pool, access.namespace, request.path["queue"])
    return json_response(200, {"state": failed.state.value, "due_ms": failed.due_ms})


async def release(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Give the job back without burning its try."""
    attempt = _attempt(request)
    delay_ms = read_seconds_as_ms(request.query, "delay")
    job_id = request.path["job_id"]
    await context.run(request, lambda queue: release_job(queue, job_id, attempt=attempt, delay_ms=delay_ms))
    return json_response(200, {"msg": "released"})


async def extend(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A new lease, from now on."""
    attempt = _attempt(request)
    ttr_s = read_optional_uint(request.query, "ttr", least=1)
    resolved = await context.resolve_queue(request)
    lease_end_ms = await resolved.engine.run(
        extend_lease(
            queue=resolved.queue, job_id=request.path["job_id"], policy=resolved.policy, attempt=attempt, ttr_s=ttr_s
        )
    )
    return json_response(200, {"msg": "extended", "lease_end_ms": lease_end_ms})


def _attempt(request: ApiRequest) -> int | None:
    return read_optional_uint(request.query, "attempt", least=1, most=UINT32_MAX)
