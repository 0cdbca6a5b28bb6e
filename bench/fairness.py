"""Limit keys: what 10,000 of them cost a consume, how long a tenant with few jobs waits beside one with a million."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TypeAlias

from queues.engine import (
    ConsumeLimits,
    Engine,
    Operation,
    Published,
    PublishOptions,
    QueueKeys,
    ack,
    consume,
    list_limit_keys,
    publish,
)
from queues.engine.constants import STAGE_MIN_JOBS
from queues.engine.operations.consume import consume_step

from .report import Bar, Figure, Section
from .settings import Settings
from .stores import fresh_engine

KEYS = 10_000
LARGE_TENANT = 1_000_000
CALLS = 5_000
COUNT = 100
"""Jobs of a call that asks for many: a queue with limit keys gives at most 128."""

PIPELINE = 50
BATCH = STAGE_MIN_JOBS
SMALL_TENANT_JOBS = 100
SLOW_US = 1_000
BODY = b"x" * 100
LIMITS = ConsumeLimits(key_in_flight=2)
Variant: TypeAlias = tuple[list[str | None], ConsumeLimits | None]
"""Limit keys of the jobs, by turns, and the limits of their queue."""


def _fill(engine: Engine, queue: QueueKeys, keys: list[str | None], jobs: int) -> None:
    """`jobs` jobs, of the keys by turns."""
    operations: list[Operation[Published]] = []
    each = max(1, jobs // len(keys))
    for key in keys:
        options = PublishOptions(limit_key=key)
        for first in range(0, each, BATCH):
            operations.append(publish(queue, [BODY] * min(BATCH, each - first), options))
    for first in range(0, len(operations), PIPELINE):
        engine.batch(operations[first : first + PIPELINE])


def _consumes_per_second(variants: Sequence[Variant], count: int) -> list[float]:
    """Jobs per second that one client consumes, `count` by a call, many calls in a pipeline. Variants take turns."""
    with ExitStack() as stack:
        queues = [_filled(stack.enter_context(fresh_engine()), variant) for variant in variants]
        seconds, taken = [0.0] * len(queues), [0] * len(queues)
        calls = PIPELINE if count == 1 else 1
        for _ in range(CALLS // PIPELINE):
            for place, (engine, queue, limits) in enumerate(queues):
                steps = [consume_step(queue, ttr_ms=600_000, count=count, queue_limits=limits) for _ in range(calls)]
                began = time.perf_counter()
                taken[place] += sum(len(consumed.jobs) for consumed in engine.batch(steps))
                seconds[place] += time.perf_counter() - began
        return [jobs / took for jobs, took in zip(taken, seconds, strict=True)]


def _filled(engine: Engine, variant: Variant) -> tuple[Engine, QueueKeys, ConsumeLimits | None]:
    """A queue with more jobs than will be consumed, of which one has been."""
    keys, limits = variant
    queue = engine.queue("bench", "keys")
    _fill(engine, queue, keys, 4 * CALLS)
    engine.run(consume(queue, ttr_ms=600_000, queue_limits=limits))
    return engine, queue, limits


def _wait_ms(engine: Engine, queue: QueueKeys) -> float:
    """How long a job of a tenant with few jobs waits for a consumer that takes and acks one after the other."""
    began = time.perf_counter()
    (wanted,) = engine.run(publish(queue, [BODY], PublishOptions(limit_key="small"))).job_ids
    while True:
        (job,) = engine.run(consume(queue, ttr_ms=600_000)).jobs
        engine.run(ack(queue, [job.job_id]))
        if job.job_id == wanted:
            return (time.perf_counter() - began) * 1_000


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def _beside_a_large_tenant(jobs: int) -> tuple[float, float, float]:
    """p95 of waits in an idle queue, the same beside a large tenant, and the slowest script's time in ms."""
    with fresh_engine() as engine:
        idle_queue, queue = engine.queue("bench", "idle"), engine.queue("bench", "shared")
        engine.client.config_set("slowlog-log-slower-than", SLOW_US)
        engine.client.slowlog_reset()
        _fill(engine, queue, ["large"], jobs)
        waits = [(_wait_ms(engine, idle_queue), _wait_ms(engine, queue)) for _ in range(SMALL_TENANT_JOBS)]
        idle, beside = (_p95(list(one)) for one in zip(*waits, strict=True))
        for number in range(KEYS // BATCH):
            few = range(number * BATCH, (number + 1) * BATCH)
            engine.batch([publish(queue, [BODY], PublishOptions(limit_key=f"tenant {key}")) for key in few])
        for count in (1, 100, 1_000, 1_000, 1_000):
            engine.run(consume(queue, ttr_ms=600_000, count=count, queue_limits=LIMITS))
        engine.run(list_limit_keys(queue, limit=1_000))
        slow = [entry["duration"] / 1_000 for entry in engine.client.slowlog_get(1_000)]
        return idle, beside, max(slow, default=SLOW_US / 1_000)


def measure(settings: Settings) -> Section:
    """The engine alone; what a web process does for a request comes on top of both sides of each ratio."""
    keys: list[str | None] = [f"tenant {number}" for number in range(KEYS)]
    variants: list[Variant] = [([None], None), (keys, None), (keys, LIMITS)]
    singly = [_consumes_per_second(variants, 1) for _ in range(settings.runs)]
    plain, keyed, limited = (list(rates) for rates in zip(*singly, strict=True))
    together = [_consumes_per_second(variants[:2], COUNT) for _ in range(settings.runs)]
    plain_bulk, keyed_bulk = (list(rates) for rates in zip(*together, strict=True))
    large = settings.scaled(LARGE_TENANT)
    beside = [_beside_a_large_tenant(large) for _ in range(settings.runs)]
    return Section(
        title=f"Limit keys, engine alone: {KEYS:,} of them; a small tenant beside one with {large:,} jobs",
        figures=[
            Figure(name="consume, no keys", unit="jobs/s", runs=plain),
            Figure(name=f"consume, {KEYS:,} keys", unit="jobs/s", runs=keyed),
            Figure(name=f"consume, {KEYS:,} keys, at most 2 of each in flight", unit="jobs/s", runs=limited),
            Figure(
                name="of the rate without keys",
                unit="×",
                runs=[one / other for one, other in zip(keyed, plain, strict=True)],
                bar=Bar(sense="≥", value=0.5),
            ),
            Figure(name=f"consume, {COUNT} a call, no keys", unit="jobs/s", runs=plain_bulk),
            Figure(name=f"consume, {COUNT} a call, {KEYS:,} keys", unit="jobs/s", runs=keyed_bulk),
            Figure(
                name=f"of the rate without keys, {COUNT} a call",
                unit="×",
                runs=[one / other for one, other in zip(keyed_bulk, plain_bulk, strict=True)],
                bar=Bar(sense="≥", value=0.5),
            ),
            Figure(name="wait of a small tenant, idle queue, p95", unit="ms", runs=[idle for idle, _, _ in beside]),
            Figure(name="wait beside a large tenant, p95", unit="ms", runs=[wait for _, wait, _ in beside]),
            Figure(
                name="of the wait in an idle queue",
                unit="×",
                runs=[wait / idle for idle, wait, _ in beside],
                bar=Bar(sense="≤", value=2),
            ),
            Figure(
                name="slowest script",
                unit="ms",
                runs=[slowest for _, _, slowest in beside],
                bar=Bar(sense="≤", value=5),
            ),
        ],
    )
