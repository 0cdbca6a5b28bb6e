"""What is wrong with one queue, by the numbers of its latest survey. Pure: for the watch, and for lists of queues.

| kind | facts besides the queue's name |
| --- | --- |
| no_consumer | `ready`, `oldest_s` |
| too_slow | `ready`, `oldest_s`, `objective_s` |
| jobs_dying | `dead`, `died` (in the last five minutes), neither with those that are `muted` |
| leases_expiring | `lost` (in the last five minutes), `working` |
| paused | `ready`, `oldest_s` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from queues.engine import FoundQueue
from queues.models import IncidentKind

from .findings import Finding
from .severity import AT_REST_SHARE

QUEUE_KINDS: Final = frozenset(
    {
        IncidentKind.NO_CONSUMER,
        IncidentKind.TOO_SLOW,
        IncidentKind.JOBS_DYING,
        IncidentKind.LEASES_EXPIRING,
        IncidentKind.PAUSED,
    }
)

NO_CONSUMER_MS: Final = 15_000
"""Ready jobs that nobody has taken for so long, while nobody works or waits, have no consumer."""

LATELY: Final = timedelta(minutes=5)
"""What `died`, `leases_lost` and `acked` of a survey are about."""

Objective = Callable[[str, str], int]
"""Namespace and queue → age in ms that no ready job should exceed."""

Muted = Callable[[str, str], tuple[int, int]]
"""Namespace and queue → how many of its dead letters are muted, and how many of these died lately."""


def find_in_queues(
    queues: Iterable[FoundQueue],
    *,
    pool: str,
    read_at_ms: int,
    now: datetime,
    objective: Objective,
    muted: Muted,
) -> Iterator[Finding]:
    """All that is wrong with some queues. `read_at_ms`: now by the clock of the survey's Redis; `now`: by ours."""
    for queue in queues:
        if queue.ready or queue.dead or queue.leases_lost:
            yield from _find(queue, pool, read_at_ms, now, objective, muted)


def _find(
    queue: FoundQueue, pool: str, read_at_ms: int, now: datetime, objective: Objective, muted: Muted
) -> Iterator[Finding]:
    oldest_ms = queue.oldest_ready_ms(read_at_ms) or 0
    if queue.ready and (waiting := _of_ready(queue, oldest_ms, objective)):
        kind, share, facts = waiting
        yield Finding(
            kind=kind,
            pool=pool,
            namespace=queue.namespace,
            queue=queue.queue,
            size=queue.ready,
            share=share,
            since=now - timedelta(milliseconds=oldest_ms),
            facts={"ready": queue.ready, "oldest_s": oldest_ms // 1_000} | facts,
        )
    if queue.dead and (dying := _of_dead(queue, *muted(queue.namespace, queue.queue))):
        dead, share, facts = dying
        yield Finding(
            kind=IncidentKind.JOBS_DYING,
            pool=pool,
            namespace=queue.namespace,
            queue=queue.queue,
            size=dead,
            share=share,
            since=now,
            facts=facts,
        )
    if queue.leases_lost:
        yield Finding(
            kind=IncidentKind.LEASES_EXPIRING,
            pool=pool,
            namespace=queue.namespace,
            queue=queue.queue,
            size=queue.leases_lost,
            share=queue.leases_lost / (queue.leases_lost + queue.acked),
            since=now - LATELY,
            facts={"lost": queue.leases_lost, "working": queue.working},
        )


def _of_dead(queue: FoundQueue, muted: int, muted_died: int) -> tuple[int, float, dict[str, int]] | None:
    """Size, share and facts of the dead letters that are not muted. None: there are none."""
    dead, died = queue.dead - muted, max(0, queue.died - muted_died)
    if dead <= 0:
        return None
    share = died / (died + queue.acked) if died else 0.0
    return dead, max(share, AT_REST_SHARE), {"dead": dead, "died": died} | ({"muted": muted} if muted else {})


def _of_ready(
    queue: FoundQueue, oldest_ms: int, objective: Objective
) -> tuple[IncidentKind, float, dict[str, int]] | None:
    """One cause for what waits: a queue that nobody consumes is not also called too slow."""
    if queue.paused:
        return IncidentKind.PAUSED, 0.0, {}
    is_idle = not (queue.working or queue.waited_for or queue.consumed_per_s)
    if is_idle and oldest_ms >= NO_CONSUMER_MS:
        return IncidentKind.NO_CONSUMER, 1.0, {}
    objective_ms = objective(queue.namespace, queue.queue)
    if oldest_ms > objective_ms:
        # Of jobs that came evenly and are taken in order, this share has waited longer than the objective.
        share = (oldest_ms - objective_ms) / oldest_ms
        return IncidentKind.TOO_SLOW, share, {"objective_s": objective_ms // 1_000}
    return None
