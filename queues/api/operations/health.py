"""For load balancers and supervisors; open to everybody, so it says little."""

from __future__ import annotations

from typing import Final

from queues.engine.errors import TaskqError
from queues.services.errors import MetadataUnavailableError
from queues.services.jobs_namespaces import check_metadata
from queues.services.jobs_queues import count_ready
from queues.services.secrets import DEFAULT_POOL

from ..context import ApiContext
from ..request import ApiRequest
from ..response import ApiResponse, json_response

_ALIVE: Final = json_response(200, {"status": "ok"})


async def healthz(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """This process answers."""
    return _ALIVE


async def readyz(request: ApiRequest, context: ApiContext) -> ApiResponse:
    """The database and the default pool's Redis answer. Names what does not; the log has the reason."""
    checks = {"database": await _database_answers(context), "redis": await _redis_answers(context)}
    if all(checks.values()):
        return json_response(200, {"status": "ready"})
    failing = [name for name, answers in checks.items() if not answers]
    return json_response(503, {"error": f"not ready: {', '.join(failing)}"}, (b"retry-after", b"1"))


async def _database_answers(context: ApiContext) -> bool:
    try:
        await context.call(check_metadata)
    except MetadataUnavailableError:
        return False
    return True


async def _redis_answers(context: ApiContext) -> bool:
    try:
        engine = await context.engine(DEFAULT_POOL)
        await engine.run(count_ready(queue=engine.queue("taskq", "readyz")))
    except TaskqError:
        return False
    return True
