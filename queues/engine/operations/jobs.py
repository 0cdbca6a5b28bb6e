"""Jobs by their ids: delete (edge M), reschedule (edge Q)."""

from __future__ import annotations

from collections.abc import Sequence

from .. import constants
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..operation import Operation, Plan, Reply, clock_argument, expect_ok, paced
from ..scripts import load
from ..values import Rescheduled

_DELETE = load("delete")
_RESCHEDULE = load("reschedule")
_MAX_MS = constants.SECONDS_MAX * 1000


def delete_jobs(queue: QueueKeys, job_ids: Sequence[str], *, only: str = "", now_ms: int | None = None) -> Plan[int]:
    """Delete jobs in any state, or only those in the state `only`. Number of jobs deleted; unknown ids are no error.

    Runs in bounded batches, so another may see part of it done.
    """
    if not 1 <= len(job_ids) <= constants.BULK_MAX_JOBS:
        raise InvalidArgumentError("invalid job ids")
    total = seen = 0
    while seen < len(job_ids):
        batch = job_ids[seen : seen + constants.DELETE_BATCH]
        args = (clock_argument(now_ms), queue.name, queue.events_cap, only, constants.FREE_BUDGET_BYTES, *batch)
        operation = Operation(_DELETE, queue.select(_DELETE.keys), args, lambda reply: tuple(expect_ok(_DELETE, reply)))
        ((count, came_to),) = yield paced(operation, jobs=len(batch))
        total += count
        seen += came_to
    return total


def reschedule(
    queue: QueueKeys,
    job_ids: Sequence[str],
    *,
    at_ms: int | None = None,
    delay_ms: int = 0,
    now_ms: int | None = None,
) -> Plan[tuple[Rescheduled, ...]]:
    """Make delayed and retried jobs due at `at_ms`, or `delay_ms` from now; a time that has come makes them ready.

    They stay delayed or in retry otherwise. Outcomes come in the order of `job_ids`. Runs in bounded batches, so
    another may see part of it done.
    """
    if not 0 <= delay_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid delay")
    if at_ms is not None and (delay_ms or not 0 <= at_ms <= 2 * _MAX_MS):
        raise InvalidArgumentError("invalid at")
    if not 1 <= len(job_ids) <= constants.BULK_MAX_JOBS:
        raise InvalidArgumentError("invalid job ids")
    outcomes: list[Rescheduled] = []
    head = (clock_argument(now_ms), queue.name, queue.channel, queue.events_cap, "" if at_ms is None else at_ms)
    while len(outcomes) < len(job_ids):
        batch = job_ids[len(outcomes) : len(outcomes) + constants.RESCHEDULE_BATCH]
        args = (*head, delay_ms, constants.READ_BUDGET_BYTES, *batch)
        (found,) = yield paced(Operation(_RESCHEDULE, queue.select(_RESCHEDULE.keys), args, _outcomes), jobs=len(batch))
        outcomes += found
    return tuple(outcomes)


def _outcomes(reply: Reply) -> list[Rescheduled]:
    return [Rescheduled(str(word, "ascii")) for word in expect_ok(_RESCHEDULE, reply)]
