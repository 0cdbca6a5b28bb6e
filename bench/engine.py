"""The engine by itself, one synchronous caller: what a verb costs in Redis and how fast due jobs become ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from queues.engine import Engine, Operation, PublishOptions, ack, promote_due, publish
from queues.engine.operations.consume import consume_step

from .report import Figure, Section
from .settings import Settings
from .stores import fresh_engine

JOBS = 10_000
PIPELINE = 100
DUE_JOBS = 50_000
BODY = b"x" * 100


def microseconds_per_call(engine: Engine, operations: Sequence[Operation[Any]]) -> tuple[float, list[Any]]:
    """Redis's own time per script call, and the results."""
    results: list[Any] = []
    engine.client.config_resetstat()
    for start in range(0, len(operations), PIPELINE):
        results += engine.batch(operations[start : start + PIPELINE])
    return float(engine.client.info("commandstats")["cmdstat_evalsha"]["usec_per_call"]), results


def one_by_one() -> dict[str, float]:
    """µs of Redis per job, each job a script call of its own."""
    with fresh_engine() as engine:
        queue = engine.queue("bench", "single")
        options = PublishOptions(tries=3)
        warm = [publish(queue, [BODY], options) for _ in range(PIPELINE)]
        engine.batch(warm)
        published, _ = microseconds_per_call(engine, [publish(queue, [BODY], options) for _ in range(JOBS)])
        consumed, taken = microseconds_per_call(engine, [consume_step(queue, ttr_ms=60_000) for _ in range(JOBS)])
        acked, _ = microseconds_per_call(engine, [ack(queue, [one.jobs[0].job_id]) for one in taken])
        return {"publish": published, "consume": consumed, "ack": acked}


def in_bulk() -> dict[str, float]:
    """µs of Redis per job, many jobs in one script call."""
    with fresh_engine() as engine:
        queue = engine.queue("bench", "bulk")
        options = PublishOptions(tries=3)
        calls = JOBS // PIPELINE
        published, _ = microseconds_per_call(engine, [publish(queue, [BODY] * PIPELINE, options) for _ in range(calls)])
        consumed, taken = microseconds_per_call(
            engine, [consume_step(queue, ttr_ms=60_000, count=PIPELINE) for _ in range(calls)]
        )
        acked, _ = microseconds_per_call(engine, [ack(queue, [job.job_id for job in one.jobs]) for one in taken])
        return {"publish": published / PIPELINE, "consume": consumed / PIPELINE, "ack": acked / PIPELINE}


def due_per_second() -> float:
    """Jobs per second that a pump makes ready when many are due at once."""
    with fresh_engine() as engine:
        queue = engine.queue("bench", "due")
        now_ms = int(time.time() * 1000)
        for _ in range(DUE_JOBS // 500):
            engine.run(publish(queue, [BODY] * 500, PublishOptions(delay_ms=1_000), now_ms=now_ms))
        started = time.perf_counter()
        moved = 0
        while moved < DUE_JOBS:
            moved += engine.run(promote_due(engine.layout, now_ms=now_ms + 1_000)).jobs
        return moved / (time.perf_counter() - started)


def measure(settings: Settings) -> Section:
    """What the verbs cost, and the bare engine's speed with due jobs; the pump's own is the scenario `due`."""
    figures = [
        Figure(name=f"{verb}, {how}", unit="µs/job", runs=[values[verb] for values in measured])
        for how, measured in (
            ("one job a call", _repeat(one_by_one, settings.runs)),
            ("100 jobs a call", _repeat(in_bulk, settings.runs)),
        )
        for verb in ("publish", "consume", "ack")
    ]
    figures.append(
        Figure(
            name=f"{DUE_JOBS:,} due jobs made ready, engine alone",
            unit="jobs/s",
            runs=_repeat(due_per_second, settings.runs),
        )
    )
    return Section(title="Engine, time inside Redis (100-byte bodies)", figures=figures)


def _repeat(once: Callable[[], Any], runs: int) -> list[Any]:
    return [once() for _ in range(runs)]
