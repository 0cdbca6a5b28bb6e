"""PUT: publish one job or many."""

from __future__ import annotations

import asyncio
from typing import Final

from django.conf import settings

from queues.engine.limits import BODY_MAX_BYTES
from queues.engine.values import Published
from queues.services.jobs_limits import limited
from queues.services.jobs_publish import publish_bulk as publish_bulk_jobs
from queues.services.jobs_publish import publish_jobs, republish_job

from ..attributes import read_attributes
from ..bulk import bodies_by_step, find_elements
from ..context import ApiContext
from ..errors import ParameterError
from ..metrics import COUNTERS
from ..publish_options import read_publish_options
from ..request import ApiRequest
from ..response import ApiResponse, json_response

_LARGE_BULK_BYTES: Final = 128 * 1024
"""The elements of a larger bulk body are found in a thread, while the event loop serves others."""


async def publish(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The body, whatever its bytes, is one job."""
    asked = read_publish_options(request.query, read_attributes(request.headers))
    body = await request.read_body(BODY_MAX_BYTES)
    opened = await context.open(request)
    operation = publish_jobs(queue=opened.queue, bodies=(body,), request=asked, policy=opened.policy)
    return _answer(request, await opened.engine.run(limited(operation, request.limit)))


async def republish(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """As publish, in place of a job that is deleted in the same step."""
    asked = read_publish_options(request.query, read_attributes(request.headers))
    body = await request.read_body(BODY_MAX_BYTES)
    opened = await context.open(request)
    operation = republish_job(
        queue=opened.queue, job_id=request.path["job_id"], body=body, request=asked, policy=opened.policy
    )
    return _answer(request, await opened.engine.run(limited(operation, request.limit)))


async def publish_bulk(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Each element of a JSON array is one job. All of them or none, if they fit into one step."""
    asked = read_publish_options(request.query, read_attributes(request.headers))
    if asked.key is not None:
        raise ParameterError("key fits one job only")
    body = await request.read_large_body(settings.TASKQ_BULK_MAX_BYTES)
    elements = find_elements(body) if len(body) <= _LARGE_BULK_BYTES else await asyncio.to_thread(find_elements, body)
    opened = await context.open(request)
    steps = bodies_by_step(body, elements)
    published = await opened.engine.run(
        publish_bulk_jobs(queue=opened.queue, steps=steps, request=asked, policy=opened.policy, limit=request.limit)
    )
    _count(request, len(published.job_ids))
    return json_response(201, {"msg": "published", "job_ids": published.job_ids})


def _answer(request: ApiRequest, published: Published) -> ApiResponse:
    if published.duplicate:
        return json_response(200, {"msg": "duplicate", "job_id": published.job_ids[0]})
    _count(request, 1)
    return json_response(201, {"msg": "published", "job_id": published.job_ids[0]})


def _count(request: ApiRequest, jobs: int) -> None:
    access = request.granted
    COUNTERS.published(access.pool, access.namespace, request.path["queue"], jobs)
