"""The Prometheus text of `/metrics`: whether each pool's Redis answers, and how many jobs its queues hold by state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from queues.engine.errors import TaskqError
from queues.engine.keys import QueueKeys
from queues.engine.values import JobState, QueueStats
from queues.services.jobs_namespaces import list_namespaces
from queues.services.jobs_queues import list_queues_of, read_stats
from queues.services.pools import list_pools

from ..context import ApiContext

QUEUES_PER_POOL: Final = 500
NAMESPACES_PER_POOL: Final = 200
"""Series are bounded: reply queues may be a hundred thousand, and Prometheus keeps each name it was ever told."""

_HEAD: Final = (
    "# HELP taskq_redis_up Whether the Redis of the pool answers.",
    "# TYPE taskq_redis_up gauge",
    "# HELP taskq_jobs Jobs of a queue by state.",
    "# TYPE taskq_jobs gauge",
    "# HELP taskq_queues_omitted Whether the pool has more queues than are listed here.",
    "# TYPE taskq_queues_omitted gauge",
)


async def render_metrics(context: ApiContext) -> str:
    """All pools. Names need no escaping: their characters are harmless by rule."""
    up: list[str] = []
    jobs: list[str] = []
    omitted: list[str] = []
    for pool in await context.call(list_pools):
        try:
            stats, more = await _read_pool(context, pool.name)
            alive = 1
        except TaskqError:
            stats, more, alive = [], False, 0
        up.append(f'taskq_redis_up{{pool="{pool.name}"}} {alive}')
        omitted.append(f'taskq_queues_omitted{{pool="{pool.name}"}} {int(more)}')
        jobs.extend(_lines(pool.name, stats))
    return "\n".join((*_HEAD[:2], *up, *_HEAD[2:4], *jobs, *_HEAD[4:], *omitted, ""))


async def _read_pool(context: ApiContext, pool: str) -> tuple[list[QueueStats], bool]:
    engine = await context.engine(pool)
    names = await context.call(list_namespaces, pool=pool, limit=NAMESPACES_PER_POOL + 1)
    more = len(names) > NAMESPACES_PER_POOL
    queues: list[QueueKeys] = []
    for name in names[:NAMESPACES_PER_POOL]:
        left = QUEUES_PER_POOL - len(queues)
        if left == 0:
            return await engine.batch([read_stats(queue=queue) for queue in queues]), True
        page = await engine.run(list_queues_of(layout=engine.layout, namespace=name, limit=left))
        queues.extend(engine.queue(name, queue) for queue in page.names)
        more = more or page.after is not None
    return await engine.batch([read_stats(queue=queue) for queue in queues]) if queues else [], more


def _lines(pool: str, stats: list[QueueStats]) -> Iterator[str]:
    for one in stats:
        labels = f'pool="{pool}",namespace="{one.namespace}",queue="{one.queue}"'
        for state in JobState:
            yield f'taskq_jobs{{{labels},state="{state.value}"}} {one.counts.get(state, 0)}'
