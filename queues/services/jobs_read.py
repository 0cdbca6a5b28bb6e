"""Looking at jobs without changing them."""

from __future__ import annotations

from queues.engine import AsyncEngine, detail, list_jobs, peek, result
from queues.engine.keys import QueueKeys
from queues.engine.operation import Operation, Plan
from queues.engine.values import Delivery, JobDetail, JobResult, JobState, Page


def peek_queue(*, queue: QueueKeys) -> Plan[Delivery | None]:
    """The job that the next consume would get, or None."""
    return peek(queue)


def get_job(*, queue: QueueKeys, job_id: str) -> Operation[JobDetail | None]:
    """All that is known of a job, or None."""
    return detail(queue, job_id)


def get_result(*, queue: QueueKeys, job_id: str) -> Operation[JobResult]:
    """The state of a job and, when it is completed, its result."""
    return result(queue, job_id)


async def wait_for_result(*, engine: AsyncEngine, queue: QueueKeys, job_id: str, timeout_s: float) -> JobResult:
    """As get_result, waiting up to `timeout_s` for the job to be completed."""
    return await engine.wait_result(queue, job_id, timeout_s=timeout_s)


def list_jobs_in(*, queue: QueueKeys, state: JobState, after: str | None = None, limit: int = 50) -> Operation[Page]:
    """A page of the jobs in one state."""
    return list_jobs(queue, state, after=after, limit=limit)
