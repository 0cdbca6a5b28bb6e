"""Jobs by their ids, whatever their state: delete, make ready."""

from __future__ import annotations

from queues.engine import delete_jobs as delete_jobs_of
from queues.engine import find_key
from queues.services.jobs.delivery import make_jobs_ready

from ..context import ApiContext
from ..http.body import ids_of, read_object
from ..http.request import ApiRequest
from ..http.response import ApiResponse, json_response


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
