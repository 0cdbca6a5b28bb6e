"""Jobs that take more dependencies after their publish, until they are closed."""

from __future__ import annotations

from collections.abc import Sequence

from queues.engine import Layout, OpenJob, add_dependencies, parse_dependency
from queues.engine.errors import InvalidArgumentError
from queues.engine.keys import QueueKeys
from queues.engine.limits import DEPENDENCIES_MAX
from queues.engine.operation import Plan


def add_to_open_job(*, layout: Layout, queue: QueueKeys, job_id: str, depends_on: Sequence[str]) -> Plan[OpenJob]:
    """Have a job wait for these, too, each as `parse_dependency` reads it.

    Raises InvalidArgumentError, JobNotFoundError, DependenciesClosedError.
    """
    if len(depends_on) > DEPENDENCIES_MAX:
        raise InvalidArgumentError(f"too many dependencies, cannot exceed {DEPENDENCIES_MAX}")
    needed = [parse_dependency(text, queue=queue.queue) for text in depends_on]
    return add_dependencies(layout, queue, job_id, needed)
