"""Jobs by their ids, whatever their state: delete, make ready."""

from __future__ import annotations

from queues.services.jobs_workers import delete_jobs_of, run_jobs_now

from ..context import ApiContext
from ..json_body import ids_of, read_object
from ..request import ApiRequest
from ..response import ApiResponse, json_response


async def delete_jobs(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Those named in the body go, whatever their state; unknown ids are skipped."""
    job_ids = ids_of(await read_object(request))
    count = await context.run(request, lambda queue: delete_jobs_of(queue=queue, job_ids=job_ids))
    return json_response(200, {"msg": "deleted", "count": count})


async def run_now(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Those named in the body that wait for their time are ready now; others are skipped."""
    job_ids = ids_of(await read_object(request))
    count = await context.run(request, lambda queue: run_jobs_now(queue=queue, job_ids=job_ids))
    return json_response(200, {"msg": "ready", "count": count})
