"""The synchronous call: a publish with `wait=` is answered with how its job ended."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Mapping

from queues.engine import detail
from queues.engine.constants import WAIT_MAX_S
from queues.engine.errors import StoreUnavailableError
from queues.engine.values import JobResult, JobState, Published

from ..context import ApiContext
from ..http.request import ApiRequest, read_uint
from ..http.response import ApiResponse, json_response
from ..token_cache import ResolvedQueue


def read_wait_s(query: Mapping[str, str]) -> int:
    """For how long the caller waits, in seconds; 0: not at all. Raises ParameterError."""
    return read_uint(query, "wait", 0, most=WAIT_MAX_S)


async def answer_with_result(
    request: ApiRequest, context: ApiContext, resolved: ResolvedQueue, published: Published, wait_s: int
) -> ApiResponse:
    """200 once the job has ended, whichever way; 202 if it has not within `wait_s`: it goes on.

    A client that hangs up ends the waiting and nothing else.
    """
    (job_id,) = published.job_ids
    answer = {"job_id": job_id, "duplicate": published.duplicate}
    try:
        with context.while_authorised(request), request.watch_client():
            found = await resolved.engine.wait_result(resolved.queue, job_id, timeout_s=wait_s)
        return await _present(resolved, found, answer)
    except StoreUnavailableError:  # the job is published all the same, and its id must not be lost
        return json_response(202, {"msg": "published", **answer, "state": None})


async def _present(resolved: ResolvedQueue, found: JobResult, answer: dict[str, object]) -> ApiResponse:
    if found.state is JobState.COMPLETED:
        result = None if found.body is None else str(b2a_base64(found.body, newline=False), "ascii")
        return json_response(200, {"msg": "done", **answer, "result": result})
    if found.state is JobState.DEAD:
        job = await resolved.engine.run(detail(resolved.queue, str(answer["job_id"])))
        error = job.history[-1].error if job is not None and job.history else ""
        return json_response(200, {"msg": "dead", **answer, "error": error})
    if found.state is None:
        return json_response(200, {"msg": "gone", **answer})
    return json_response(202, {"msg": "published", **answer, "state": found.state.value})
