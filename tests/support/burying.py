"""Makes real dead letters."""

from __future__ import annotations

from collections.abc import Sequence

from queues.engine import Engine, PublishOptions, consume, fail, publish
from queues.pools import engine_for


def bury(
    namespace: str, queue: str, errors: Sequence[str], *, pool: str = "default", now_ms: int | None = None
) -> list[str]:
    """A job per error, published, taken and failed with it. Their ids, in the same order."""
    engine: Engine = engine_for(pool)
    keys = engine.queue(namespace, queue)
    options = PublishOptions(tries=1)
    for _ in errors:
        engine.run(publish(keys, [b"{}"], options, now_ms=now_ms))
    ids: list[str] = []
    while len(ids) < len(errors):
        taken = engine.run(
            consume(keys, ttr_ms=60_000, count=min(100, len(errors) - len(ids)), consumer="worker-1", now_ms=now_ms)
        )
        for job in taken.jobs:
            engine.run(fail(keys, job.job_id, error=errors[len(ids)], now_ms=now_ms))
            ids.append(job.job_id)
    return ids
