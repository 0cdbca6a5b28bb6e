"""Redis memory per job: 200,000 jobs with 64-byte bodies, all included but the capped event stream, shown apart."""

from __future__ import annotations

from queues.engine import PublishOptions, publish

from .report import Figure, show
from .stores import event_stream_bytes, fresh_engine, used_memory

JOBS = 200_000
BATCH = 500
BODY = b"x" * 64


def bytes_per_job(options: PublishOptions) -> tuple[float, float]:
    """Bytes of Redis memory per job without events, and bytes of events per job."""
    with fresh_engine() as engine:
        queue = engine.queue("bench", "orders")
        before = used_memory(engine)
        for _ in range(JOBS // BATCH):
            engine.run(publish(queue, [BODY] * BATCH, options))
        events = event_stream_bytes(engine)
        return (used_memory(engine) - before - events) / JOBS, events / JOBS


def run(runs: int) -> None:
    """Memory does not vary between runs: `runs` is not used."""
    delayed, delayed_events = bytes_per_job(PublishOptions(delay_ms=3_600_000, tries=3))
    ready, ready_events = bytes_per_job(PublishOptions(tries=3))
    show(
        f"Memory, {JOBS:,} jobs with {len(BODY)}-byte bodies",
        [
            Figure(name="per delayed job", unit="bytes", runs=[delayed], bar="≤ 300 (lmstfy 373, asynq 618)"),
            Figure(name="per ready job", unit="bytes", runs=[ready], bar="≤ 200 (lmstfy 262)"),
            Figure(name="apart: capped event stream, per delayed job", unit="bytes", runs=[delayed_events]),
            Figure(name="apart: capped event stream, per ready job", unit="bytes", runs=[ready_events]),
        ],
    )
