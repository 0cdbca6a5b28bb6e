"""Jobs: peek, detail, result, lists; deleted or made ready by their ids; dependencies added to an open one."""

from __future__ import annotations

from typing import Final

from queues.engine import OpenJob, find_detail, find_key, find_result
from queues.engine import close_dependencies as close_dependencies_of
from queues.engine import delete_jobs as delete_jobs_of
from queues.engine import list_jobs as list_jobs_in
from queues.engine import peek as peek_queue
from queues.engine.constants import CONSUME_MAX_TIMEOUT_S, DEPENDENCIES_MAX_BYTES, PAGE_MAX
from queues.engine.errors import JobNotFoundError
from queues.engine.values import JobState
from queues.services.jobs.delivery import make_jobs_ready
from queues.services.jobs.finding import get_job_and_awaited
from queues.services.jobs.publishing import add_to_open_job

from ..context import ApiContext
from ..http.body import ids_of, read_object
from ..http.errors import ParameterError
from ..http.request import ApiRequest, read_flag, read_uint
from ..http.response import ApiResponse, json_response, raw_response
from .job_json import present_awaited, present_delivery, present_detail, present_job

_VALUES_MAX: Final = 20_000
"""Of the JSON of a request. More are a list of something else, which takes longer to decode than to refuse."""


async def delete_jobs(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Those named in the body go, whatever their state; unknown ids are skipped."""
    job_ids = ids_of(await read_object(request))
    count = await context.run(request, lambda queue: delete_jobs_of(queue, job_ids))
    return json_response(200, {"msg": "deleted", "count": count})


async def find_by_key(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The job that was published with a key last."""
    key = request.query.get("key") or ""
    job_id = await context.run(request, lambda queue: find_key(queue, key))
    return json_response(404, {"error": "job not found"}) if job_id is None else json_response(200, {"job_id": job_id})


async def run_now(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Those named in the body that wait for their time are ready now; others are skipped."""
    job_ids = ids_of(await read_object(request))
    count = await context.run(request, lambda queue: make_jobs_ready(queue=queue, job_ids=job_ids))
    return json_response(200, {"msg": "ready", "count": count})


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


async def add_dependencies(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Add up to DEPENDENCIES_MAX dependencies. A request that is repeated changes nothing."""
    depends_on = (await read_object(request, DEPENDENCIES_MAX_BYTES, values_max=_VALUES_MAX)).get("depends_on")
    if not isinstance(depends_on, list) or not all(isinstance(one, str) for one in depends_on):
        raise ParameterError("invalid depends_on")
    job_id = request.path["job_id"]
    resolved = await context.resolve_queue(request)
    work = add_to_open_job(layout=resolved.engine.layout, queue=resolved.queue, job_id=job_id, depends_on=depends_on)
    return _present(await resolved.engine.run(work))


async def close_dependencies(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """No more dependencies: the job is ready once those that it has are acked."""
    job_id = request.path["job_id"]
    return _present(await context.run(request, lambda queue: close_dependencies_of(queue, job_id)))


def _present(job: OpenJob) -> ApiResponse:
    return json_response(200, {"state": job.state.value, "waits_for_total": job.waits_for})
