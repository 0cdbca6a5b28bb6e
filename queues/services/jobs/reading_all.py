"""All jobs of a state, for a download: batch by batch, bodies whole, a bounded amount of them at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from queues.engine import JobDetail, JobFilter, JobState, constants, detail
from queues.pools import reading_engine_for

from ..queues.page import QueuePlace, find_jobs

BYTES_AT_ONCE: Final = 4 * constants.MEBIBYTE
"""Bodies that are in memory at once, and one more."""


def read_all_jobs(*, place: QueuePlace, state: JobState, wanted: JobFilter) -> Iterator[Sequence[JobDetail]]:
    """The jobs in `state` that match, in order. What comes or leaves meanwhile may be missing.

    Raises InvalidArgumentError, StoreUnavailableError.
    """
    after: str | None = None
    while True:
        found = find_jobs(place=place, state=state, wanted=wanted, after=after)
        part: list[JobDetail] = []
        size = 0
        for job in found.jobs:
            part.append(job)
            size += job.body_bytes
            if size >= BYTES_AT_ONCE:
                yield _with_bodies(place, state, part)
                part, size = [], 0
        yield _with_bodies(place, state, part)
        after = found.after
        if after is None:
            return


def _with_bodies(place: QueuePlace, state: JobState, jobs: Sequence[JobDetail]) -> Sequence[JobDetail]:
    """Listings have only the first bytes of a body. What has left the state meanwhile is left out."""
    cut = [job.job_id for job in jobs if len(job.body) < job.body_bytes]
    if not cut:
        return jobs
    engine = reading_engine_for(place.pool)
    queue = engine.queue(place.namespace, place.queue)
    whole = dict(zip(cut, engine.batch([detail(queue, job_id) for job_id in cut]), strict=True))
    found = [whole.get(job.job_id, job) for job in jobs]
    return [job for job in found if job is not None and job.state is state]
