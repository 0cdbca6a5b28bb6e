"""Expired jobs: what they cost the next consumer, how soon they are no longer counted, and what the pump takes."""

from __future__ import annotations

import os
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, Self

from queues.engine import Engine, PublishOptions, ack, consume, delete_jobs, open_engine, publish, size, sweep
from queues.engine.keys import QueueKeys
from queues.engine.operations.consume import consume_step

from ..report import Bar, Figure
from ..servers import Service, running_service
from ..settings import Settings
from ..stores import fresh_engine
from ..tools import VoidRunError

TOMBSTONES: Final = 100_000
QUEUES: Final = 10_000
LIVE: Final = 1_000_000
BATCH: Final = 500
TTL_MS: Final = 40_000
"""Long enough for the drain to be through with what was published: it is the same pump."""

SHORT_TTL_MS: Final = 1_000
KNOWN_TTL_MS: Final = 15_000
"""Longer than the sweeper looks ahead."""

EARLY_S: Final = 0.1
"""So long before the jobs expire the sweeper pauses, and so long after it they are consumed."""

INTERVAL_S: Final = 0.25
BUDGET_S: Final = 0.15
"""As the pump's sweeper has them (queues/pump/roles)."""

POLL_S: Final = 0.1
MINUTE_S: Final = 60.0
GIVE_UP_S: Final = 60
BODY: Final = b"x" * 64


def figures(settings: Settings) -> list[Figure]:
    """Of tombstones, of jobs that have expired and are not deleted yet, and of many queues beside a large one."""
    number = settings.scaled(TOMBSTONES)
    return [
        *_behind_tombstones(number),
        *_behind_expired(number),
        *_nothing_but_expired(number),
        *_many_queues(settings),
    ]


def _publish(engine: Engine, queue: QueueKeys, number: int, options: PublishOptions) -> list[str]:
    ids: list[str] = []
    for first in range(0, number, BATCH):
        ids += engine.run(publish(queue, [BODY] * min(BATCH, number - first), options)).job_ids
    return ids


class _Sweeper:
    """Takes the turns of the pump's sweeper in a thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL_S):
            ends = time.monotonic() + BUDGET_S
            while self._engine.run(sweep(self._engine.layout)).more and time.monotonic() < ends:
                pass

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _behind_tombstones(number: int) -> list[Figure]:
    with fresh_engine() as engine:
        queue = engine.queue("bench", "tombstones")
        head, *doomed = _publish(engine, queue, number + 1, PublishOptions())
        (tail,) = _publish(engine, queue, 1, PublishOptions())
        for first in range(0, number, BATCH):
            engine.run(delete_jobs(queue, doomed[first : first + BATCH]))
        began = time.monotonic()
        with _Sweeper(engine):
            while engine.client.llen(queue.select(("ready",))[0]) > 2 * 2 + 1_000 and not _is_late(began):
                time.sleep(POLL_S)
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


def _behind_expired(number: int) -> list[Figure]:
    """One consume deletes them all, by many calls: what it waits, and others for the longest of these."""
    with fresh_engine() as engine:
        queue = engine.queue("bench", "expired")
        _publish(engine, queue, number, PublishOptions(ttl_ms=SHORT_TTL_MS))
        (last,) = _publish(engine, queue, 1, PublishOptions())
        time.sleep(SHORT_TTL_MS / 1_000)
        engine.client.config_set("slowlog-log-slower-than", 1_000)
        engine.client.slowlog_reset()
        began = time.monotonic()
        (job,) = engine.run(consume(queue, ttr_ms=60_000)).jobs
        took_s = time.monotonic() - began
        assert job.job_id == last, "the order is wrong"
        calls = [entry["duration"] for entry in engine.client.slowlog_get(-1)]
    return [
        Figure(name=f"consume of a job behind {number:,} expired ones", unit="s", runs=[took_s]),
        Figure(name="the longest script call of it", unit="ms", runs=[max(calls, default=0) / 1_000], bar=_at_most(5)),
    ]


def _nothing_but_expired(number: int) -> list[Figure]:
    """The consume after that of the only job that lives, in the moment in which all behind it have expired."""
    with fresh_engine() as engine:
        queue = engine.queue("bench", "nothing_but_expired")
        _publish(engine, queue, 1, PublishOptions())
        ends = time.monotonic() + KNOWN_TTL_MS / 1_000
        ids: list[str] = []
        while len(ids) < number:
            ttl_ms = round((ends - time.monotonic()) * 1_000)
            ids += _publish(engine, queue, BATCH, PublishOptions(ttl_ms=ttl_ms))
        with _Sweeper(engine):
            time.sleep(max(0.0, ends - time.monotonic() - EARLY_S))
        time.sleep(max(0.0, ends - time.monotonic() + EARLY_S))
        (job,) = engine.run(consume(queue, ttr_ms=60_000)).jobs
        began = time.monotonic()
        jobs = engine.run(consume(queue, ttr_ms=60_000)).jobs
        took_ms = 1_000 * (time.monotonic() - began)
        assert not jobs, "there is a job that lives"
        engine.run(ack(queue, [job.job_id]))
    return [
        Figure(
            name=f"consume that finds nothing but {number:,} jobs that have just expired",
            unit="ms",
            runs=[took_ms],
            bar=_at_most(5),
        )
    ]


def _many_queues(settings: Settings) -> list[Figure]:
    """Each small queue has a job that expires and one that does not; so has the large one, a few hundred among many."""
    queues, live = settings.scaled(QUEUES), settings.scaled(LIVE)
    with running_service() as service, closing(open_engine(service.redis_url)) as engine:
        large = engine.queue("bench", "large")
        for part in range(2):
            _publish(engine, large, live // 2, PublishOptions())
            if part == 0:
                _publish(engine, large, BATCH, PublishOptions(ttl_ms=TTL_MS))
        small = [engine.queue("bench", f"small{number}") for number in range(queues)]
        for first in range(0, queues, BATCH):
            part_of = small[first : first + BATCH]
            engine.batch([publish(queue, [BODY], PublishOptions()) for queue in part_of])
            engine.batch([publish(queue, [BODY], PublishOptions(ttl_ms=TTL_MS)) for queue in part_of])
        time.sleep(0.9 * TTL_MS / 1_000)
        began, used_s = time.monotonic(), _pump_s(service)
        _wait_until_right(engine, {large: live} | dict.fromkeys(small, 1), began)
        took_s = time.monotonic() - began
        time.sleep(max(0.0, MINUTE_S - took_s))
        pump_s = _pump_s(service) - used_s
        share = pump_s / (time.monotonic() - began)
    return [
        Figure(
            name=f"until `ready` is right in {queues:,} queues and one of {live:,} jobs",
            unit="s",
            runs=[max(0.0, took_s - 0.1 * TTL_MS / 1_000)],
            bar=_at_most(10),
        ),
        Figure(name="the pump's share of a core in that minute", unit="%", runs=[100 * share], bar=_at_most(5)),
    ]


def _pump_s(service: Service) -> float:
    """Processor time that the service's pump has taken, in seconds."""
    place = f"TASKQ_DATA_DIR={service.data_dir}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"runpump" in words and place in (process / "environ").read_bytes().split(b"\0"):
                times = (process / "stat").read_text().rpartition(")")[2].split()
                return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
    raise VoidRunError("the service has no pump")


def _wait_until_right(engine: Engine, wanted: dict[QueueKeys, int], began: float) -> None:
    """Until each queue has had the size that is wanted. Few are asked at a time, so that asking costs little."""
    wrong = list(wanted)
    while wrong and not _is_late(began):
        part, wrong = wrong[:BATCH], wrong[BATCH:]
        sizes = engine.batch([size(queue) for queue in part])
        still_wrong = [queue for queue, ready in zip(part, sizes, strict=True) if ready != wanted[queue]]
        wrong = still_wrong + wrong
        if still_wrong:
            time.sleep(POLL_S)


def _is_late(began: float) -> bool:
    return time.monotonic() - began > GIVE_UP_S


def _at_most(value: float) -> Bar:
    return Bar(sense="≤", value=value)
