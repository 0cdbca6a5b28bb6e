"""Jobs that are published open: dependencies are added to them in pages, until they are closed.

So a job may depend on more jobs than fit one publish, or on jobs that are not yet known. An open job stays blocked when
all its dependencies are acked. If its producer dies, it stays so until it is closed or deleted, or its ttl ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from .. import constants
from ..errors import DependenciesClosedError, InvalidArgumentError, JobNotFoundError
from ..keys import Layout, QueueKeys
from ..operation import Operation, Plan, Relay, Reply, clock_argument, expect_ok, in_pages, is_ok_above_zero, tag_of
from ..scripts import load
from ..values import Dependency, JobState
from .dependencies import POLICIES, Settlement, check_dependency, list_waits, refuse_cycle, settle
from .inspect import detail

_ADD_DEPENDENCIES: Final = load("add_dependencies")


class OpenJob(NamedTuple):
    """A job to which dependencies were added, or that was closed. `waits_for`: number of dependencies left."""

    state: JobState
    waits_for: int


def add_dependencies(
    layout: Layout, queue: QueueKeys, job_id: str, depends_on: Sequence[Dependency], *, now_ms: int | None = None
) -> Plan[OpenJob]:
    """Have an open job wait for these, too. Those that it waits for already change nothing.

    Raises InvalidArgumentError for a bad name, too many of them, or a cycle; JobNotFoundError; DependenciesClosedError.
    """
    if not depends_on:
        raise InvalidArgumentError("no dependencies")
    if len(depends_on) > constants.DEPENDENCIES_MAX:
        raise InvalidArgumentError(f"too many dependencies, cannot exceed {constants.DEPENDENCIES_MAX}")
    for dependency in depends_on:
        check_dependency(dependency)
    (page,) = yield [list_waits(queue, job_id=job_id, limit=1)]
    if page.is_blocked:
        yield from refuse_cycle(layout, queue, page.key, depends_on, job_id=job_id)
    names, most = list(dict.fromkeys(map(str, depends_on))), constants.DEPENDENCIES_OF_JOB_MAX
    first, *others = in_pages(names, constants.DEPENDENCIES_PER_CALL)
    # The first call leaves room for the others, so that it is the one that is refused if not all fit. A call of which
    # all is known already is never refused.
    totals = yield [_add(queue, job_id, first, most - (len(names) - len(first)), now_ms)]
    if others:
        totals = yield [_add(queue, job_id, part, most, now_ms) for part in others]
    return OpenJob(JobState.BLOCKED, totals[-1])


def _add(queue: QueueKeys, job_id: str, names: Sequence[str], room: int, now_ms: int | None) -> Operation[int]:
    def decode(reply: Reply) -> int:
        tag = tag_of(reply)
        if tag == "missing":
            raise JobNotFoundError(job_id)
        if tag == "closed":
            raise DependenciesClosedError(job_id)
        if tag == "full":
            raise InvalidArgumentError(f"too many dependencies, cannot exceed {constants.DEPENDENCIES_OF_JOB_MAX}")
        _added, total = expect_ok(_ADD_DEPENDENCIES, reply)
        return int(total)

    return Operation(
        _ADD_DEPENDENCIES,
        queue.select(_ADD_DEPENDENCIES.keys),
        (clock_argument(now_ms), queue.name, job_id, room, *names),
        decode,
        alone=len(names) >= constants.ALONE_MIN_JOBS,
        replicated=True,
        relay=Relay(queue.partition, now_ms, is_ok_above_zero),
    )


def close_dependencies(queue: QueueKeys, job_id: str, *, now_ms: int | None = None) -> Plan[OpenJob]:
    """Have an open job take no more dependencies: it is ready, or delayed, once all that it has are acked (edge O).

    A job that is closed already, or was never open, is left as it is. Raises JobNotFoundError.
    """
    mark = [Settlement(job_id, policy, "acked") for policy in POLICIES.values()]  # it has one of these
    (settled,) = yield [settle(queue, mark, now_ms=now_ms)]
    job, page = yield [detail(queue, job_id, preview=1, now_ms=now_ms), list_waits(queue, job_id=job_id, limit=1)]
    if job is not None:
        return OpenJob(job.state, page.total if page.is_blocked else 0)
    if settled.ended:  # a consumer was quicker than the look
        return OpenJob(JobState.READY, 0)
    raise JobNotFoundError(job_id)
