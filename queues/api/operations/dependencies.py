"""Dependencies of a job that was published with `dependencies=open`: add some, close it."""

from __future__ import annotations

from typing import Final

from queues.engine import OpenJob, close_dependencies
from queues.engine.limits import DEPENDENCIES_MAX_BYTES
from queues.services.jobs.publishing import add_to_open_job

from ..context import ApiContext
from ..http.body import read_object
from ..http.errors import ParameterError
from ..http.request import ApiRequest
from ..http.response import ApiResponse, json_response

VALUES_MAX: Final = 20_000
"""Of the JSON of a request. More are a list of something else, which takes longer to decode than to refuse."""


async def add(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Add up to DEPENDENCIES_MAX dependencies. A request that is repeated changes nothing."""
    depends_on = (await read_object(request, DEPENDENCIES_MAX_BYTES, values_max=VALUES_MAX)).get("depends_on")
    if not isinstance(depends_on, list) or not all(isinstance(one, str) for one in depends_on):
        raise ParameterError("invalid depends_on")
    job_id = request.path["job_id"]
    resolved = await context.resolve_queue(request)
    work = add_to_open_job(layout=resolved.engine.layout, queue=resolved.queue, job_id=job_id, depends_on=depends_on)
    return _present(await resolved.engine.run(work))


async def close(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """No more dependencies: the job is ready once those that it has are acked."""
    job_id = request.path["job_id"]
    return _present(await context.run(request, lambda queue: close_dependencies(queue, job_id)))


def _present(job: OpenJob) -> ApiResponse:
    return json_response(200, {"state": job.state.value, "waits_for_total": job.waits_for})
