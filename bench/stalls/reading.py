"""What it costs Redis to look at queues whose jobs are huge: the longest script call, by Redis's own clock."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from queues.engine import Engine, JobFilter, JobState, PublishOptions, detail, fail, list_jobs, peek, publish, stats
from queues.engine.constants import (
    BODY_MAX_BYTES,
    ERROR_MAX_BYTES,
    PRIORITY_MAX,
    PRIORITY_MIN,
    SCAN_LOOKS,
    SCAN_TEXT_MAX_BYTES,
)
from queues.engine.operations.consume import consume_step
from queues.engine.operations.scan import scan_jobs
from queues.engine.operations.survey import survey

from ..report import Bar, Figure
from ..settings import Settings
from ..stores import fresh_engine

SCRIPT_MS: Final = 5
CALLS: Final = 20
JOBS: Final = 50
"""In one call."""


def longest_ms(engine: Engine, work: Callable[[], Any]) -> float:
    """The longest of the script calls that `work` makes, without what it waits for the processor: the best of three."""
    best = float("inf")
    engine.client.config_set("slowlog-log-slower-than", 0)
    for _ in range(3):
        engine.client.slowlog_reset()
        engine.run(work())
        calls = [entry for entry in engine.client.slowlog_get(128) if entry["command"].startswith(b"EVALSHA")]
        best = min(best, max(entry["duration"] for entry in calls) / 1_000)
    return best


def figures(_settings: Settings) -> list[Figure]:
    """A queue with a job of 1 MiB at the head of each of 200 priorities, and of the list."""
    with fresh_engine() as engine:
        queue = engine.queue("bench", "huge")
        body = b"x" * BODY_MAX_BYTES
        job_id = ""
        for priority in (*range(PRIORITY_MIN, PRIORITY_MAX + 1), *[0] * CALLS):
            job_id = engine.run(publish(queue, [body], PublishOptions(priority=priority))).job_ids[0]
        looks: dict[str, Callable[[], Any]] = {
            "stats": lambda: stats(queue),
            "survey": lambda: survey(queue),
            "peek": lambda: peek(queue),
            "detail": lambda: detail(queue, job_id),
            "a page of a listing": lambda: list_jobs(queue, JobState.READY),
            "a filtered listing": lambda: scan_jobs(queue, JobState.READY, JobFilter(body="none")),
            "a consume of 100": lambda: consume_step(queue, ttr_ms=60_000, count=100),
        }
        measured = {
            f"1 MiB in each of 200 priorities: {name}": longest_ms(engine, work) for name, work in looks.items()
        }
        measured |= _filters(engine)
    bar = Bar(sense="≤", value=SCRIPT_MS)
    return [Figure(name=name, unit="ms", runs=[ms], bar=bar) for name, ms in measured.items()]


def _filters(engine: Engine) -> dict[str, float]:
    """Texts that almost match at each place of many short ones."""
    queue = engine.queue("bench", "filtered")
    text = "a" * (SCAN_TEXT_MAX_BYTES - 1) + "b"
    attributes = {f"{number:02d}": "a" * 128 for number in range(16)}
    options = PublishOptions(tries=1, attributes=attributes)
    for _ in range(SCAN_LOOKS // JOBS):
        engine.run(publish(queue, [b"a" * 400] * JOBS, options))
    of_ready = {
        "bodies": JobFilter(body=text),
        "attributes": JobFilter(attribute=text[-100:]),
        "ids": JobFilter(job_id="none"),
    }
    measured = {
        name: longest_ms(engine, partial(scan_jobs, queue, JobState.READY, wanted)) for name, wanted in of_ready.items()
    }
    while jobs := engine.run(consume_step(queue, ttr_ms=60_000, count=JOBS)).jobs:
        for job in jobs:
            engine.run(fail(queue, job.job_id, error="a" * ERROR_MAX_BYTES))
    wanted = JobFilter(error=text)
    measured["errors"] = longest_ms(engine, lambda: scan_jobs(queue, JobState.DEAD, wanted))
    return {f"{SCAN_LOOKS} jobs filtered by their {name}": ms for name, ms in measured.items()}
