"""A worker's options, and the reasons for which it ends."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Final

from queues.engine import InvalidArgumentError
from queues.engine.constants import CONSUME_MAX_QUEUES
from queues.engine.names import check_queue

from ..errors import NotConfiguredError

DEFAULT_CONCURRENCY: Final = 50
DEFAULT_LEASE_S: Final = 30.0
DEFAULT_GRACE_S: Final = 25.0
"""Below the 30 s that Kubernetes gives a container between SIGTERM and SIGKILL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """`queues`: name → weight: of two, the one with the higher weight is first so much more often; `strict`: always.

    `concurrency`: jobs at once. `processes`: how many of them may be tasks with `process=True`. `lease_s`: after so
    long a job of a worker that died is run by another; it is renewed while the job runs. `grace_s`: how long running
    jobs may take after SIGTERM. `burst`: end when nothing is left. `max_jobs`, `max_memory_mb`: end, to be started
    again, after so many jobs, or with more memory. `schedules_of`: sync the schedules that the tasks declare when it
    starts, as those of this app unless the app has a name (None: do not).
    """

    queues: Mapping[str, int]
    strict: bool = False
    concurrency: int = DEFAULT_CONCURRENCY
    processes: int = os.cpu_count() or 1
    lease_s: float = DEFAULT_LEASE_S
    grace_s: float = DEFAULT_GRACE_S
    burst: bool = False
    max_jobs: int | None = None
    max_memory_mb: int | None = None
    schedules_of: str | None = None

    def __post_init__(self) -> None:
        if not self.queues or any(weight < 1 for weight in self.queues.values()):
            raise NotConfiguredError("a worker needs queues, with weights of 1 or more")
        if len(self.queues) > CONSUME_MAX_QUEUES:
            raise NotConfiguredError(f"a worker takes jobs from at most {CONSUME_MAX_QUEUES} queues")
        for queue in self.queues:
            try:
                check_queue(queue)
            except InvalidArgumentError as error:
                raise NotConfiguredError(f"queue {queue!r}: {error}") from error
        if not (isfinite(self.lease_s) and isfinite(self.grace_s)):
            raise NotConfiguredError("lease and grace must be finite numbers of seconds")
        if min(self.concurrency, self.processes, self.lease_s) < 1 or self.grace_s < 0:
            raise NotConfiguredError("concurrency, task processes and lease must be 1 or more, grace 0 or more")
        if any(limit is not None and limit < 1 for limit in (self.max_jobs, self.max_memory_mb)):
            raise NotConfiguredError("max jobs and max memory must be 1 or more")


class StopReason(StrEnum):
    """Why a worker ended."""

    STOPPED = "stopped"
    EMPTY = "nothing left to do"
    MAX_JOBS = "max_jobs reached"
    MAX_MEMORY = "max_memory reached"
