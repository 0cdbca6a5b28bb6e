"""Expired jobs: what they cost the next consumer, how soon they are no longer counted, and what the sweeper takes."""

from __future__ import annotations

import time
from typing import Final

from queues.engine import Engine, PublishOptions, ack, delete_jobs, publish, size, sweep
from queues.engine.keys import QueueKeys
from queues.engine.operations.consume import consume_step

from ..report import Bar, Figure
from ..settings import Settings
from ..stores import fresh_engine

TOMBSTONES: Final = 100_000
QUEUES: Final = 10_000
LIVE: Final = 1_000_000
BATCH: Final = 500
TTL_MS: Final = 2_000
LARGE_TTL_MS: Final = 1_000
TICK_S: Final = 0.25
BUDGET_S: Final = 0.1
IDLE_S: Final = 5.0
GIVE_UP_S: Final = 60
BODY: Final = b"x" * 64


def figures(settings: Settings) -> list[Figure]:
    """Of a list of tombstones, then of many queues beside a large one."""
    return [*_behind_tombstones(settings.scaled(TOMBSTONES)), *_many_queues(settings)]


def _publish(engine: Engine, queue: QueueKeys, number: int, options: PublishOptions) -> list[str]:
    ids: list[str] = []
    for first in range(0, number, BATCH):
        ids += engine.run(publish(queue, [BODY] * min(BATCH, number - first), options)).job_ids
    return ids


def _sweep_for(engine: Engine, seconds: float) -> float:
    """Turns of the sweeper as the pump takes them. The CPU time of this process that they took, in s."""
    began, busy = time.monotonic(), 0.0
    while time.monotonic() - began < seconds:
        busy += _turn(engine)
        time.sleep(TICK_S)
    return busy


def _turn(engine: Engine) -> float:
    began, cpu = time.monotonic(), time.process_time()
    while engine.run(sweep(engine.layout)).more and time.monotonic() - began < BUDGET_S:
        pass
    return time.process_time() - cpu


def _behind_tombstones(number: int) -> list[Figure]:
    with fresh_engine() as engine:
        queue = engine.queue("bench", "tombstones")
        head, *doomed = _publish(engine, queue, number + 1, PublishOptions())
        (tail,) = _publish(engine, queue, 1, PublishOptions())
        for first in range(0, number, BATCH):
            engine.run(delete_jobs(queue, doomed[first : first + BATCH]))
        began = time.monotonic()
        while engine.client.llen(queue.select(("ready",))[0]) > 2 * 2 + 1_000 and time.monotonic() - began < 60:
            _turn(engine)
        compacted_s = time.monotonic() - began
        engine.client.config_resetstat()
        taken = [engine.run(consume_step(queue, ttr_ms=60_000)).jobs[0].job_id for _ in range(2)]
        assert taken == [head, tail], "the order is wrong"
        consume_ms = engine.client.info("commandstats")["cmdstat_evalsha"]["usec"] / 2 / 1_000
        engine.run(ack(queue, taken))
    return [
        Figure(name=f"consume of a job behind {number:,} deleted ones", unit="ms", runs=[consume_ms], bar=_at_most(5)),
        Figure(name="until the list is short again", unit="s", runs=[compacted_s], bar=_at_most(60)),
    ]


def _many_queues(settings: Settings) -> list[Figure]:
    """Each small queue has a job that expires and one that does not; so has the large one, a few hundred among many."""
    queues, live = settings.scaled(QUEUES), settings.scaled(LIVE)
    with fresh_engine() as engine:
        large = engine.queue("bench", "large")
        for part in range(2):
            _publish(engine, large, live // 2, PublishOptions())
            if part == 0:
                _publish(engine, large, BATCH, PublishOptions(ttl_ms=LARGE_TTL_MS))
        small = [engine.queue("bench", f"small{number}") for number in range(queues)]
        for first in range(0, queues, BATCH):
            part_of = small[first : first + BATCH]
            engine.batch([publish(queue, [BODY], PublishOptions()) for queue in part_of])
            engine.batch([publish(queue, [BODY], PublishOptions(ttl_ms=TTL_MS)) for queue in part_of])
        began, busy = time.monotonic(), 0.0
        while sum(engine.batch([size(queue) for queue in (*small, large)])) > queues + live:
            busy += _sweep_for(engine, TICK_S)
            if time.monotonic() - began > GIVE_UP_S:
                break
        right_s = time.monotonic() - began - TTL_MS / 1_000
        idle = _sweep_for(engine, IDLE_S)
    return [
        Figure(
            name=f"until `ready` is right in {queues:,} queues and one of {live:,} jobs",
            unit="s",
            runs=[right_s],
            bar=_at_most(10),
        ),
        Figure(
            name="the sweeper's share of a core meanwhile", unit="%", runs=[100 * busy / (right_s + TTL_MS / 1_000)]
        ),
        Figure(name="its share when nothing expires", unit="%", runs=[100 * idle / IDLE_S], bar=_at_most(5)),
    ]


def _at_most(value: float) -> Bar:
    return Bar(sense="≤", value=value)
