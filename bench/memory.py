"""Redis memory per job: 200,000 jobs with 64-byte bodies, all included but the capped event stream, shown apart."""

from __future__ import annotations

from queues.engine import PublishOptions, publish

from .report import Bar, Figure, Section
from .settings import Settings
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


def measure(_settings: Settings) -> Section:
    """Memory does not vary between runs: one is made, of full size also when quick."""
    delayed, delayed_events = bytes_per_job(PublishOptions(delay_ms=3_600_000, tries=3))
    ready, ready_events = bytes_per_job(PublishOptions(tries=3))
    return Section(
        title=f"Redis memory, {JOBS:,} jobs with {len(BODY)}-byte bodies",
        figures=[
            Figure(name="per ready job", unit="bytes", runs=[ready], bar=Bar(sense="≤", value=200)),
            Figure(name="per delayed job", unit="bytes", runs=[delayed], bar=Bar(sense="≤", value=300)),
            Figure(name="apart: capped event stream, per ready job", unit="bytes", runs=[ready_events]),
            Figure(name="apart: capped event stream, per delayed job", unit="bytes", runs=[delayed_events]),
        ],
    )
