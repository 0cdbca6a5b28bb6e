"""Dead letters."""

from __future__ import annotations

from typing import Final

from queues.engine import constants, dead_head, delete_dead
from queues.services.dead_letters.scanning import respawn_dead

from ..context import ApiContext
from ..http.body import ids_of, read_object
from ..http.request import ApiRequest, read_uint
from ..http.response import NO_CONTENT, ApiResponse, json_response

LIMIT_MAX: Final = 2**63 - 1
"""lmstfy takes any positive int64; the work is done in bounded batches."""


async def deadletter(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """How many there are, and the oldest."""
    head = await context.run(request, dead_head)
    return json_response(
        200,
        {
            "namespace": request.path["namespace"],
            "queue": request.path["queue"],
            "deadletter_size": head.size,
            "deadletter_head": head.job_id,
        },
    )


async def deadletter_size(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """How many there are."""
    head = await context.run(request, dead_head)
    return json_response(
        200, {"namespace": request.path["namespace"], "queue": request.path["queue"], "size": head.size}
    )


async def respawn(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The oldest ones get one more try."""
    limit = read_uint(request.query, "limit", 1, least=1, most=LIMIT_MAX)
    ttl_s = read_uint(request.query, "ttl", constants.DEFAULT_TTL_S)
    count = await context.run(request, lambda queue: respawn_dead(queue=queue, limit=limit, ttl_s=ttl_s))
    return json_response(200, {"msg": "respawned", "count": count})


async def delete(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The oldest ones go."""
    limit = read_uint(request.query, "limit", 1, least=1, most=LIMIT_MAX)
    await context.run(request, lambda queue: delete_dead(queue, limit=limit))
    return NO_CONTENT


async def respawn_ids(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Those named in the body get one more try; ids that are not dead letters are skipped."""
    ttl_s = read_uint(request.query, "ttl", constants.DEFAULT_TTL_S)
    job_ids = ids_of(await read_object(request))
    count = await context.run(request, lambda queue: respawn_dead(queue=queue, job_ids=job_ids, ttl_s=ttl_s))
    return json_response(200, {"msg": "respawned", "count": count})


async def delete_ids(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """Those named in the body go; ids that are not dead letters are skipped."""
    job_ids = ids_of(await read_object(request))
    count = await context.run(request, lambda queue: delete_dead(queue, ids=job_ids))
    return json_response(200, {"msg": "deleted", "count": count})
