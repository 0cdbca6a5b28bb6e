"""Tasks in processes of their own: what they say, how they end, and what the worker does to them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from pebble.pool.process import TaskManager

from queues.engine import JobState
from taskq import App, Job
from taskq.worker import processes
from taskq.worker.processes import ProcessRunner

from . import process_tasks
from .conftest import until, work, working
from .test_worker import detail, is_gone, is_in, told

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def tasks(app: App) -> None:
    app.tasks |= process_tasks.app.tasks


async def enqueue(app: App, name: str, *args: Any) -> Job[Any]:
    """A job of a task of `process_tasks`, whose own app has no Redis."""
    task = process_tasks.app.tasks[name]
    published = await app.broker.arun(task.prepare(task.options, args, {}).work(app))
    return Job(app, "default", published.job_ids[0], task=task)


async def test_a_process_that_takes_too_long_is_killed(app: App, tmp_path: Path) -> None:
    job = await enqueue(app, "hang", str(tmp_path))
    async with working(app, lease_s=30.0):
        await until(lambda: is_in(job, JobState.DEAD), or_fail="no timeout", timeout_s=20)
        await until(lambda: not process_tasks.hanging(tmp_path), or_fail="its process lives")


async def test_a_process_tells_its_progress_and_goes_on_from_its_cursor(app: App, tmp_path: Path) -> None:
    path = tmp_path / "steps"
    job = await enqueue(app, "walk", str(path), 5)
    async with working(app, grace_s=0.1) as worker:
        progress = await until(lambda: told(job), or_fail="nothing was told", timeout_s=10)
        await until(lambda: len(path.read_text().splitlines()) == 3, or_fail="it does not run")
        progress = await until(lambda: told(job, lines=3), or_fail="its steps were not told")
        assert (progress.percent, progress.note) == (40.0, "step 2")
        worker.stop()
    async with working(app):
        await until(lambda: is_gone(job), or_fail="it did not end")
    assert path.read_text().split() == ["0", "1", "2", "3", "4"]


def test_a_process_knows_its_worker_and_the_attributes_of_its_job(app: App) -> None:
    task = process_tasks.introduce
    prepared = task.prepare(task.options.changed(attributes={"tenant": "acme"}), (), {})
    job: Job[Any] = task.job_of(prepared, app.broker.run(prepared.work(app)))
    worker = work(app, processes=1)
    assert app.job("default", job.id).result() == [worker.id, {"tenant": "acme"}]


def test_whatever_a_process_raises_ends_its_attempt_and_no_other(app: App) -> None:
    jobs = [process_tasks.enqueue_raise(app, what) for what in ("odd", "retry", "snooze")]
    jobs.append(process_tasks.enqueue_square(app, 3))
    work(app, processes=1)

    odd, again, snoozed = (detail(job) for job in jobs[:3])
    assert (odd.state, odd.history[0].error.splitlines()[0]) == (
        JobState.DEAD, "tests.sdk.process_tasks.OddError: 1 2",
    )  # fmt: skip
    assert (again.state, again.history[0].error) == (JobState.RETRY, "later, at attempt 1")
    assert (snoozed.state, snoozed.used) == (JobState.DELAYED, 0)
    assert jobs[3].result() == 9


async def test_a_process_that_is_killed_within_a_message_silences_no_other(app: App, tmp_path: Path) -> None:
    talk = await enqueue(app, "talk", str(tmp_path / "go-on"))
    async with working(app, processes=2) as worker:
        await until(lambda: told(talk), or_fail="it did not begin")
        killed = await enqueue(app, "die_within_a_message")
        await until(lambda: is_in(killed, JobState.DEAD), or_fail="its process lives", timeout_s=30)
        (tmp_path / "go-on").touch()
        found = await until(lambda: told(talk, lines=2), or_fail="nothing more was told")
        assert found.log == ("before", "after")
        pipes = worker._runner._processes._pipes
        await until(lambda: len(pipes) == 2, or_fail="the pipe of the dead process is open")
    assert not pipes


async def test_a_process_that_dies_before_pebble_knows_its_task_ends_its_attempt_and_no_other(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = TaskManager.task_start

    def start_late(tasks: TaskManager, number: int, pid: int | None) -> None:
        if number == 1:  # as where this thread of the worker waits for a processor
            time.sleep(1)
        start(tasks, number, pid)

    monkeypatch.setattr(TaskManager, "task_start", start_late)
    monkeypatch.setattr(processes, "EXPIRED_AFTER_S", 0.1)
    talk = await enqueue(app, "talk", str(tmp_path / "go-on"))
    async with working(app, processes=2):
        await until(lambda: told(talk), or_fail="it did not begin")
        killed = await enqueue(app, "die_within_a_message")
        await until(lambda: is_in(killed, JobState.DEAD), or_fail="its attempt goes on", timeout_s=30)
        walk = await enqueue(app, "walk", str(tmp_path / "steps"), 1)
        await until(lambda: is_gone(walk), or_fail="its slot is taken", timeout_s=30)
        (tmp_path / "go-on").touch()
        await until(lambda: is_gone(talk), or_fail="it did not end", timeout_s=30)
    assert "ProcessExpired" in detail(killed).history[0].error


async def test_the_last_words_of_a_process_are_told_and_its_cursor_is_cleared(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the event loop had not come to look at the pipe before the task ended.
    monkeypatch.setattr(ProcessRunner, "_watch_pipe", lambda *_: None)
    talk = await enqueue(app, "talk", "/")
    walk = await enqueue(app, "walk", str(tmp_path / "steps"), 2)
    stopped = await enqueue(app, "yield_and_fail")
    async with working(app):
        for job in (talk, walk):
            await until(lambda job=job: is_gone(job), or_fail="it did not end")
        await until(lambda: is_in(stopped, JobState.RETRY), or_fail="it did not fail")
        notes = [await app.broker.arun(app.broker.note("default", job.id)) for job in (talk, walk, stopped)]
    assert notes[0]["log"] == b"before\nafter\n"
    assert notes[1]["log"] == b"at 0\nat 1\n"
    assert [note.get("cursor", b"") for note in notes] == [b"", b"", b'"first"']


async def test_a_cursor_is_cleared_when_a_process_has_saved_one_and_ends(app: App, tmp_path: Path) -> None:
    path = tmp_path / "steps"
    job = await enqueue(app, "walk", str(path), 3)
    async with working(app, grace_s=0.1) as worker:
        await until(lambda: told(job, lines=3), or_fail="it did not begin")
        worker.stop()
    assert (await app.broker.arun(app.broker.note("default", job.id)))["cursor"] == b"3"
    async with working(app):
        await until(lambda: is_gone(job), or_fail="it did not end")
    assert (await app.broker.arun(app.broker.note("default", job.id)))["cursor"] == b""
    assert path.read_text().split() == ["0", "1", "2"]


async def test_the_time_of_a_process_begins_when_it_has_a_slot(app: App, tmp_path: Path) -> None:
    first = await enqueue(app, "talk", str(tmp_path / "go-on"))
    async with working(app, processes=1) as worker:
        await until(lambda: told(first), or_fail="it did not begin")
        second = await enqueue(app, "limited")
        attempt = await until(lambda: worker.active.get(second.id), or_fail="it was not taken")
        for _ in range(10):  # turns of the event loop in which it comes to wait for the slot
            await asyncio.sleep(0)
        assert attempt.context.deadline is None
        (tmp_path / "go-on").touch()
        left = await second.aresult(timeout=20)
    assert 0 < left <= process_tasks.LIMIT_S


def test_an_outcome_of_the_users_own_ends_its_attempt_and_breaks_nothing(app: App) -> None:
    app.tasks |= process_tasks.app.tasks
    task = process_tasks.app.tasks["odd_outcome"]
    calls = [task.prepare(task.options, (what,), {}) for what in ("cancel", "snooze")]
    cancelled, snoozed = [
        Job[Any](app, "default", app.broker.run(call.work(app)).job_ids[0], task=task) for call in calls
    ]
    square = process_tasks.enqueue_square(app, 5)

    work(app, processes=1)

    assert (cancelled.state(), snoozed.state()) == (JobState.DEAD, JobState.DELAYED)
    found = cancelled.detail()
    assert found is not None
    assert found.history[-1].error == "7: not wanted"
    assert square.result(timeout=1) == 25
