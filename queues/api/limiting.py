"""A token's rate limit: taken before the operation, given back if the operation gives the client nothing.

If this process dies between the two, the client has one request less until the interval ends.
"""

from __future__ import annotations

import logging
from math import ceil

from queues.engine.errors import TaskqError
from queues.engine.values import LimitTaken
from queues.services.access import Access
from queues.services.jobs_limits import RateKind, give_back_request, take_request

from .context import ApiContext
from .response import ApiResponse, json_response

logger = logging.getLogger(__name__)


def allowance_of(access: Access, kind: RateKind | None) -> int:
    """Requests of this kind per interval; 0: not limited, and nothing needs to be asked."""
    if kind is None or access.limit is None:
        return 0
    return access.limit.read if kind == "read" else access.limit.write


async def take(access: Access, kind: RateKind, context: ApiContext) -> LimitTaken:
    """Count the request."""
    assert access.limit is not None
    engine = await context.engine(access.pool)
    return await engine.run(take_request(access=access, limit=access.limit, kind=kind))


def refusal_of(kind: RateKind, taken: LimitTaken) -> ApiResponse:
    """The answer to one request too many."""
    verb = "consume" if kind == "read" else "publish"
    seconds = max(1, ceil(taken.retry_after_ms / 1000))
    return json_response(
        429, {"msg": f"{verb} rate limit reached, please retry later"}, (b"retry-after", str(seconds).encode())
    )


async def give_back(access: Access, taken: LimitTaken, context: ApiContext) -> None:
    """Uncount the request. A fault here changes nothing for the client, so it is only logged."""
    try:
        engine = await context.engine(access.pool)
        await engine.run(give_back_request(taken=taken))
    except TaskqError as error:
        fields = {"action": "limit.give_back", "token_id": access.token_id, "error": error.code}
        logger.info("limit could not be given back", extra=fields)
