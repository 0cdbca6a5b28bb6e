"""PUT: publish one job or many."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from django.conf import settings

from queues.engine.limits import BODY_MAX_BYTES
from queues.engine.values import Published
from queues.services.jobs.publishing import publish_bulk as publish_bulk_jobs
from queues.services.jobs.publishing import publish_jobs, republish_job
from queues.services.tokens.access import limited

from ..attributes import read_attributes
from ..bulk import prepare, split_array
from ..context import ApiContext
from ..errors import ParameterError
from ..memory import LARGE_BYTES
from ..metrics import COUNTERS
from ..publish_options import read_publish_options
from ..request import ApiRequest
from ..response import ApiResponse, json_response
from ..slices import run_in_slices

FREE_BYTES: Final = 4 * 1024 * 1024
"""Job bodies that are freed in one slice; it takes about 0.3 ms."""


async def publish(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The body, whatever its bytes, is one job."""
    asked = read_publish_options(request.query, read_attributes(request.headers))
    body = await request.read_body(BODY_MAX_BYTES)
    resolved = await context.resolve_queue(request)
    operation = publish_jobs(queue=resolved.queue, bodies=(bytes(body),), request=asked, policy=resolved.policy)
    return _answer(request, await resolved.engine.run(limited(operation, request.limit)))


async def republish(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """As publish, in place of a job that is deleted in the same step."""
    asked = read_publish_options(request.query, read_attributes(request.headers))
    body = await request.read_body(BODY_MAX_BYTES)
    resolved = await context.resolve_queue(request)
    operation = republish_job(
        queue=resolved.queue, job_id=request.path["job_id"], body=bytes(body), request=asked, policy=resolved.policy
    )
    return _answer(request, await resolved.engine.run(limited(operation, request.limit)))


async def publish_bulk(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Each element of a JSON array is one job: all of them or none."""
    asked = read_publish_options(request.query, read_attributes(request.headers))
    if asked.key is not None:
        raise ParameterError("key fits one job only")
    bodies = await _read_bodies(request)
    resolved = await context.resolve_queue(request)
    work = publish_bulk_jobs(
        queue=resolved.queue, bodies=bodies, request=asked, policy=resolved.policy, limit=request.limit
    )
    published = await resolved.engine.run(work)
    access = request.granted
    COUNTERS.published(access.pool, access.namespace, request.path["queue"], len(published.job_ids))
    if request.memory is not None:  # which small bodies do not take
        await run_in_slices(_free(bodies))
    return json_response(201, {"msg": "published", "job_ids": published.job_ids})


async def _read_bodies(request: ApiRequest) -> list[bytes]:
    """The elements of the request's body, which is itself no longer needed, nor in memory."""
    body = await request.read_body(settings.TASKQ_BULK_MAX_BYTES)
    await prepare()
    return await run_in_slices(split_array(body), is_large=len(body) > LARGE_BYTES)


def _free(bodies: list[bytes]) -> Generator[None, None, None]:
    """Forget them, FREE_BYTES in a slice: the memory of each large one is given back to the system."""
    size = 0
    while bodies:
        size += len(bodies.pop())
        if size > FREE_BYTES:
            yield
            size = 0


def _answer(request: ApiRequest, published: Published) -> ApiResponse:
    if published.duplicate:
        return json_response(200, {"msg": "duplicate", "job_id": published.job_ids[0]})
    access = request.granted
    COUNTERS.published(access.pool, access.namespace, request.path["queue"], 1)
    return json_response(201, {"msg": "published", "job_id": published.job_ids[0]})
