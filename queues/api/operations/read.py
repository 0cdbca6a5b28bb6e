"""Looking at jobs: peek, detail, result, lists."""

from __future__ import annotations

from typing import Final

from queues.engine import find_detail, find_result
from queues.engine import list_jobs as list_jobs_in
from queues.engine import peek as peek_queue
from queues.engine.errors import JobNotFoundError
from queues.engine.limits import CONSUME_MAX_TIMEOUT_S, PAGE_MAX
from queues.engine.values import JobState
from queues.services.jobs.finding import get_job_and_awaited

from ..context import ApiContext
from ..http.errors import ParameterError
from ..http.query import read_flag, read_uint
from ..http.request import ApiRequest
from ..http.response import ApiResponse, json_response, raw_response
from .job_json import present_awaited, present_delivery, present_detail, present_job

QUEUE_EMPTY: Final = json_response(404, {"error": "the queue is empty"})


async def peek(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The job that the next consume would get."""
    delivery = await context.run(request, peek_queue)
    return QUEUE_EMPTY if delivery is None else json_response(200, present_delivery(delivery))


async def peek_job(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A job in any state, in the form of a peek."""
    job_id = request.path["job_id"]
    job = await context.run(request, lambda queue: find_detail(queue, job_id))
    if job is None:
        raise JobNotFoundError(job_id)
    return json_response(200, present_job(job))


async def detail(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """All that is known of a job; with `data` its body, too."""
    data = read_flag(request.query, "data")
    job_id = request.path["job_id"]
    found = await context.run(request, lambda queue: get_job_and_awaited(queue=queue, job_id=job_id))
    if found is None:
        raise JobNotFoundError(job_id)
    job, awaited = found
    return json_response(200, present_detail(job, data=data) | present_awaited(awaited))


async def result(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The bytes that the ack brought; 202 while the job is not completed, after waiting up to `timeout` for it."""
    timeout_s = read_uint(request.query, "timeout", 0, most=CONSUME_MAX_TIMEOUT_S)
    job_id = request.path["job_id"]
    engine, queue = await context.queue(request)
    if timeout_s:
        with context.while_authorised(request), request.watch_client():
            outcome = await engine.wait_result(queue, job_id, timeout_s=timeout_s)
    else:
        outcome = await engine.run(find_result(queue, job_id))
    if outcome.state is None:
        raise JobNotFoundError(job_id)
    if outcome.state is not JobState.COMPLETED:
        return json_response(202, {"state": outcome.state.value})
    return raw_response(200, outcome.body or b"")


async def list_jobs(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """A page of the jobs in one state."""
    query = request.query
    try:
        state = JobState(query.get("state", JobState.READY))
    except ValueError:
        raise ParameterError("invalid state") from None
    limit = read_uint(query, "limit", 50, least=1, most=PAGE_MAX)
    after = query.get("after")
    data = read_flag(query, "data")
    page = await context.run(request, lambda queue: list_jobs_in(queue, state, after=after, limit=limit))
    return json_response(
        200,
        {
            "namespace": request.path["namespace"],
            "queue": request.path["queue"],
            "state": state.value,
            "jobs": [present_detail(job, data=data) for job in page.jobs],
            "after": page.after,
        },
    )
