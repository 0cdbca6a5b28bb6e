"""What the event lake knows of a job that Redis no longer has: for its page."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.utils import timezone

from queues.engine.names import is_job_id, published_ms
from queues.lake.job_events import JobEvent, JobEvents, find_job_events
from queues.lake.storage import LakeError
from queues.pools import engine_for

from ..queues.page import QueuePlace

logger = logging.getLogger(__name__)

_ENDS: Final = ("acked", "expired", "deleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneJob:
    """`events`: what happened to it, in order; at least one. `is_whole`: all that the lake has of it. `damaged`: names
    of files that were left out, without the place of the lake."""

    place: QueuePlace
    job_id: str
    events: tuple[JobEvent, ...]
    is_whole: bool
    damaged: tuple[str, ...] = ()

    @property
    def published_ms(self) -> int:
        """As its id says."""
        return published_ms(self.job_id)

    @property
    def end(self) -> JobEvent | None:
        """How it ended; None: the lake does not say."""
        return next((event for event in reversed(self.events) if event.kind in _ENDS), None)

    @property
    def error(self) -> str:
        """The last one."""
        return next((event.error for event in reversed(self.events) if event.kind in ("failed", "dead")), "")

    @property
    def attempts(self) -> int:
        """Deliveries."""
        return sum(event.kind == "consumed" for event in self.events)

    @property
    def size(self) -> int | None:
        """Bytes of the body, of which the lake has nothing else."""
        return next((event.size for event in self.events if event.size is not None), None)


def read_gone_job(*, place: QueuePlace, job_id: str) -> GoneJob | None:
    """None: the lake has nothing of it, or cannot be read. A bounded amount of reading (`queues.lake.job_events`)."""
    if not is_job_id(job_id):
        return None
    queue = engine_for(place.pool).queue(place.namespace, place.queue)
    try:
        found: JobEvents = find_job_events(
            settings.TASKQ_LAKE_URL,
            pool=place.pool,
            namespace=place.namespace,
            queue=place.queue,
            partition=queue.partition,
            job_id=job_id,
            published_ms=published_ms(job_id),
            now_ms=round(timezone.now().timestamp() * 1000),
        )
    except LakeError as error:
        logger.warning("lake cannot be read", extra={"action": "job.gone", "job_id": job_id, "reason": str(error)})
        return None
    for file in found.damaged:
        fields = {"action": "job.damaged_file", "job_id": job_id, "file": file.url, "reason": file.reason}
        logger.warning("a file of the lake is damaged", extra=fields)
    if not found.events:
        return None
    damaged = tuple(file.url.rpartition("/")[2] for file in found.damaged)
    return GoneJob(place=place, job_id=job_id, events=found.events, is_whole=found.is_whole, damaged=damaged)
