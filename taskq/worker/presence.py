"""What a worker tells taskq of itself once a second, for `taskq workers` and the dashboard."""

from __future__ import annotations

import os
import time

from queues import __version__
from queues.engine.stats.workers import ParkedTask, RunningJob, WorkerBeat

from .state import WorkerState


def beat_of(worker: WorkerState, cpu_percent: float, memory_bytes: int) -> WorkerBeat:
    """What a worker says of itself."""
    now = time.monotonic()
    running = [
        RunningJob(
            queue=attempt.delivery.queue,
            job_id=job_id,
            attempt=attempt.delivery.attempt,
            task=attempt.task.name,
            run_ms=round(1_000 * (now - attempt.started)),
            percent=attempt.context.percent,
            note=attempt.context.note,
        )
        for job_id, attempt in worker.active.items()
    ]
    parked = [ParkedTask(queue=q, task=t, reason=r, jobs=n) for (q, t, r), n in worker.parked.most_common(50)]
    return WorkerBeat(
        worker=worker.id,
        host=worker.host,
        pid=os.getpid(),
        version=__version__,
        namespace=worker.app.broker.namespace,
        state=worker.state,
        queues=dict(worker.options.queues),
        concurrency=worker.options.concurrency,
        up_ms=round(1_000 * (now - worker.started)),
        done=worker.done,
        failed=worker.failed,
        cpu_percent=round(cpu_percent, 1),
        memory_bytes=memory_bytes,
        running=tuple(running),
        parked=tuple(parked),
    )
