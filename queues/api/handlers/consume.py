"""GET on a queue, or on several: consume."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import groupby
from operator import itemgetter
from typing import Final

from queues.engine import AsyncEngine, constants
from queues.engine.keys import QueueKeys
from queues.services.consumers.presence import waiting_here
from queues.services.jobs.delivery import ConsumeRequest, consume_jobs
from queues.services.policies import EffectivePolicy

from ..context import ApiContext
from ..http.large_requests import LARGE_BYTES, MEMORY
from ..http.request import ApiRequest, Query, is_true, read_optional_uint, read_uint, split_queues
from ..http.response import ApiResponse, json_response
from ..metrics import COUNTERS
from .job_json import present_consumed

NO_JOB: Final = json_response(404, {"msg": "no job available"})


async def consume(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """One job as an object; with count > 1 up to so many, as an array."""
    query = request.query
    asked = _read_again(query) if query.may_be_kept else _read(query)
    access = request.granted
    MEMORY.check(access.namespace)
    engine, queues, policies = await _open(request, context)
    consume = partial(
        consume_jobs,
        engine=engine,
        queues=queues,
        request=asked,
        policies=policies,
        consumer=request.consumer,
        limit=request.limit,
    )
    # First a look: who finds something at once has no need of all that waiting takes.
    consumed = await consume(timeout_s=0)
    if asked.timeout_s and not consumed.jobs:
        here = waiting_here(engine=engine, queues=queues, consumer=request.consumer, address=request.client)
        with here, context.while_authorised(request), request.watch_client():
            consumed = await consume(timeout_s=asked.timeout_s)
            try:
                await request.check_client_connected()
            except asyncio.CancelledError:
                engine.give_back(consumed)
                raise
    if not consumed.jobs:
        return NO_JOB
    if sum([len(job.body) for job in consumed.jobs]) > LARGE_BYTES:
        consumed, delivered = consumed.without_bodies(), consumed
    else:
        delivered = consumed
    presented = [present_consumed(job) for job in delivered.jobs]
    for queue, jobs in groupby(presented, itemgetter("queue")):
        COUNTERS.consumed(access.pool, access.namespace, queue, [job["elapsed_ms"] for job in jobs])
    return json_response(
        200, presented[0] if asked.count == 1 else presented, on_undelivered=partial(engine.give_back, consumed)
    )


async def _open(
    request: ApiRequest, context: ApiContext
) -> tuple[AsyncEngine, Sequence[QueueKeys], Sequence[EffectivePolicy]]:
    names = split_queues(request.path["queue"])
    if len(names) == 1 and names[0] == request.path["queue"]:
        resolved = await context.resolve_queue(request)
        return resolved.engine, (resolved.queue,), (resolved.policy,)
    access = request.granted
    policies = [await context.policy(access, name) for name in names]
    engine = await context.engine(access.pool)
    return engine, [engine.queue(access.namespace, name) for name in names], policies


def _read(query: Query) -> ConsumeRequest:
    return ConsumeRequest(
        ttr_s=read_optional_uint(query, "ttr", least=1),
        timeout_s=read_uint(query, "timeout", 0, most=constants.CONSUME_MAX_TIMEOUT_S),
        count=read_uint(query, "count", 1, least=1, most=constants.CONSUME_MAX_COUNT),
        freeze_tries=is_true(query, "freeze_tries"),
    )


_read_again = lru_cache(maxsize=1024)(_read)
"""A consumer sends the same query over and over."""
