"""What keeps a worker going: leases, ends that are refused, answers of others than taskq, threads that never return."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from queues.engine import PublishOptions
from taskq import App
from taskq.errors import NotConfiguredError
from taskq.worker.worker import PARKED_KINDS_MAX

from .conftest import until, work, working
from .test_command_line import Place, wait_for
from .test_worker import is_gone

pytestmark = pytest.mark.anyio


async def test_leases_are_renewed_while_the_worker_cannot_tell_that_it_lives(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, go_on, is_hanging = app.broker, asyncio.Event(), asyncio.Event()
    beat, arun, beats = broker.beat, broker.arun, list[Any]()

    def noted_beat(*args: Any, **kwargs: Any) -> Any:
        beats.append(beat(*args, **kwargs))
        return beats[-1]

    async def hanging(work: Any) -> Any:
        while any(work is one for one in beats) and not go_on.is_set():
            is_hanging.set()
            try:
                await go_on.wait()
            except asyncio.CancelledError:  # worse than what a broker does
                continue
        return await arun(work)

    @app.task
    async def run() -> None:
        await go_on.wait()

    job = await run.aenqueue()

    async def lease_ends() -> Any:
        found = await job.adetail()
        return found and found.lease_end_ms

    monkeypatch.setattr(broker, "beat", noted_beat)
    monkeypatch.setattr(broker, "arun", hanging)
    async with working(app, lease_s=3.0) as worker:
        await until(lambda: worker.active, or_fail="it did not begin")
        await is_hanging.wait()
        seen = {await lease_ends()}

        async def renewed() -> bool:
            seen.add(await lease_ends())
            return len(seen) > 1

        try:
            await until(renewed, or_fail="its lease is not renewed")
        finally:
            go_on.set()
        await until(lambda: is_gone(job), or_fail="it did not end")


async def test_of_ends_that_are_refused_together_only_the_faulty_one_waits(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    ack = app.broker.ack
    sent: list[list[str]] = []
    is_faulty = True

    def picky(queue: str, job_ids: Sequence[str], *, attempt: int) -> Any:
        sent.append(list(job_ids))
        refused = is_faulty and jobs[1].id in job_ids
        return ack(queue, [] if refused else job_ids, attempt=attempt)  # an ack of no job is refused as a whole

    @app.task
    async def noop() -> None: ...

    jobs = await app.aenqueue_many([noop.call() for _ in range(4)])
    monkeypatch.setattr(app.broker, "ack", picky)
    async with working(app, lease_s=30.0) as worker:
        for job in (jobs[0], *jobs[2:]):
            await until(lambda job=job: is_gone(job), or_fail="it waits for another one")
        await until(lambda: sent.count([jobs[1].id]) > 1, or_fail="it is not tried again")
        assert len(sent[0]) == 4
        assert [ids for ids in sent if len(ids) > 1] == [sent[0]]
        is_faulty = False
        await until(lambda: is_gone(jobs[1]), or_fail="its end was not told")
        await until(lambda: not worker._finisher.unsent, or_fail="an end is counted twice")
    assert worker.done == 4


async def test_an_answer_of_a_proxy_in_the_place_of_taskq_does_not_end_the_worker(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    consume = app.broker.consume
    answers = 0

    async def behind_a_proxy(*args: Any, **kwargs: Any) -> Any:
        nonlocal answers
        answers += 1
        if answers == 1:
            raise NotConfiguredError("404: is this the URL of a taskq server?")
        return await consume(*args, **kwargs)

    @app.task
    async def noop() -> None: ...

    monkeypatch.setattr(app.broker, "consume", behind_a_proxy)
    job = await noop.aenqueue()
    async with working(app) as worker:
        await until(lambda: is_gone(job), or_fail="it takes no more jobs")
        assert worker.is_well
    assert answers > 1


def test_the_names_that_a_worker_remembers_of_parked_jobs_are_bounded(app: App) -> None:
    bodies = [f'{{"task":"unknown-{number}"}}'.encode() for number in range(PARKED_KINDS_MAX + 20)]
    app.broker.run(app.broker.publish("default", bodies, PublishOptions()))
    worker = work(app)

    assert sum(worker.parked.values()) == len(bodies)
    assert len(worker.parked) == PARKED_KINDS_MAX + 1
    assert worker.parked["default", "others", ""] == 20


STUCK = """
import time
from pathlib import Path
from taskq import App

app = App()

@app.task(timeout=0.1, retry=1)
def stuck() -> None:
    Path("began").touch()
    time.sleep(600)
"""


def test_a_thread_that_never_returns_does_not_keep_the_process_from_ending(
    tmp_path: Path, redis_url: str, forked_taskq: list[str]
) -> None:
    place = Place(tmp_path, redis_url, forked_taskq)
    (tmp_path / "stuck.py").write_text(STUCK)
    with place.started("worker", "stuck") as process:
        place.run("enqueue", "stuck.stuck")
        wait_for(lambda: place.counts("default") == {"dead": 1}, "no timeout")
        assert (tmp_path / "began").exists()
        process.terminate()
        assert process.wait(20) == 0
    place.app.broker.close()
