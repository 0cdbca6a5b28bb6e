"""Tasks of Django's Tasks in a real worker: contexts, retries, signals, what is parked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections

from queues.engine import JobState, LeaseLostError, PublishOptions, open_engine, reclaim_ended
from taskq.django import app
from taskq.django.backend import TaskqBackend
from taskq.django.compat import TaskResultStatus, task_finished, task_started
from taskq.worker import Worker
from tests.sdk.conftest import until, working
from tests.sdk.conftest import work as work_on

from . import tasks

pytestmark = pytest.mark.anyio


def work(**options: Any) -> Worker:
    return work_on(app, **options)


@contextlib.contextmanager
def heard() -> Iterator[list[tuple[str, str, int]]]:
    """Signals while it is open: which one, the status, and the number of errors."""
    signals: list[tuple[str, str, int]] = []

    def hear_start(sender: Any, task_result: Any, **_: Any) -> None:
        assert sender is TaskqBackend
        signals.append(("started", str(task_result.status), len(task_result.errors)))

    def hear_end(sender: Any, task_result: Any, **_: Any) -> None:
        assert sender is TaskqBackend
        assert task_result.finished_at is not None
        signals.append(("finished", str(task_result.status), len(task_result.errors)))

    task_started.connect(hear_start)
    task_finished.connect(hear_end)
    try:
        yield signals
    finally:
        task_started.disconnect(hear_start)
        task_finished.disconnect(hear_end)


def test_sync_and_async_tasks_run_and_say_so(backend: TaskqBackend) -> None:
    results = [tasks.add.enqueue(1, b=2), tasks.add_async.enqueue(3)]
    with heard() as signals:
        work(concurrency=1)
    for result in results:
        result.refresh()
    assert [result.return_value for result in results] == [3, 3]
    assert signals == [("started", "RUNNING", 0), ("finished", "SUCCESSFUL", 0)] * 2


def test_higher_priorities_run_first(backend: TaskqBackend) -> None:
    for priority in (0, -100, 100, 5):
        tasks.add.using(priority=priority).enqueue(priority)
    work(concurrency=1)
    assert tasks.ran == [(100, 0), (5, 0), (0, 0), (-100, 0)]


def test_arguments_arrive_as_json_has_them_whatever_the_annotation(backend: TaskqBackend) -> None:
    results = [tasks.echo.enqueue(1, "a", [None], key={"b": 1.5}), tasks.annotated.enqueue("2030-01-01")]
    work()
    for result in results:
        result.refresh()
    assert results[0].return_value == [[1, "a", [None]], {"key": {"b": 1.5}}]
    assert results[1].return_value == "str"


def test_arguments_that_do_not_fit_fail_the_task(backend: TaskqBackend) -> None:
    result = tasks.add.enqueue(c=1)
    work()
    result.refresh()
    assert result.status == TaskResultStatus.FAILED
    assert result.errors[0].exception_class is TypeError


@pytest.mark.parametrize("task", [tasks.fail, tasks.fail_async])
def test_a_task_that_fails_runs_once_and_has_finished(backend: TaskqBackend, task: Any) -> None:
    result = task.enqueue()
    with heard() as signals:
        worker = work()
    assert worker.failed == 1
    assert signals == [("started", "RUNNING", 0), ("finished", "FAILED", 1)]
    result.refresh()
    assert result.status == TaskResultStatus.FAILED
    assert result.errors[0].exception_class is tasks.OutOfStockError
    assert "no more apples" in result.errors[0].traceback


def test_a_return_value_that_is_no_json_fails_the_task(backend: TaskqBackend) -> None:
    result = tasks.fail_unserializable.enqueue()
    with heard() as signals:
        work()
    result.refresh()
    assert signals[-1] == ("finished", "FAILED", 1)
    assert result.errors[0].exception_class is TypeError


def test_with_retries_a_task_is_ready_again_and_finishes_once(configure: Any) -> None:
    configure(RETRY={"TRIES": 3, "BACKOFF": "none"})
    result = tasks.attempts.enqueue(2)
    with heard() as signals:
        work()
    result.refresh()

    assert result.status == TaskResultStatus.SUCCESSFUL
    attempt, result_id, status, tracebacks = result.return_value
    assert (attempt, result_id, status) == (3, result.id, "RUNNING")
    assert [text.strip() for text in tracebacks] == ["1", "2"]
    assert tasks.ran == [1, 2, 3]
    assert result.attempts == 3
    assert [error.exception_class for error in result.errors] == [tasks.OutOfStockError] * 2
    assert result.started_at is not None
    assert result.last_attempted_at is not None
    assert result.started_at < result.last_attempted_at
    assert [kind for kind, _, _ in signals] == ["started", "started", "started", "finished"]
    assert signals[-1] == ("finished", "SUCCESSFUL", 2)


def test_between_two_tries_a_task_is_ready(configure: Any) -> None:
    configure(RETRY={"TRIES": 2, "BACKOFF": "fixed:60"})
    result = tasks.fail.enqueue()
    with heard() as signals:
        work()
    result.refresh()
    assert result.status == TaskResultStatus.READY
    assert result.finished_at is None
    assert result.attempts == len(result.errors) == 1
    assert signals == [("started", "RUNNING", 0)]


def test_attempts_are_counted_beyond_those_that_the_engine_remembers(configure: Any) -> None:
    configure(RETRY={"TRIES": 15, "BACKOFF": "none"})
    result = tasks.attempts.enqueue(12)
    work()
    result.refresh()
    assert result.attempts == 13
    assert tasks.ran == list(range(1, 14))
    assert len(result.errors) == 10
    assert [error.traceback.strip()[-2:].strip() for error in result.errors] == [str(n) for n in range(3, 13)]


def test_some_exceptions_are_not_worth_a_retry(configure: Any) -> None:
    configure(RETRY={"TRIES": 5, "BACKOFF": "none", "NEVER": ["tests.sdk.django.tasks.OutOfStockError"]})
    result = tasks.fail.enqueue()
    with heard() as signals:
        work()
    result.refresh()
    assert result.status == TaskResultStatus.FAILED
    assert signals == [("started", "RUNNING", 0), ("finished", "FAILED", 1)]


def test_a_task_may_ask_for_a_retry(configure: Any) -> None:
    configure(RETRY=5)
    result = tasks.retry_soon.enqueue()
    work()
    result.refresh()
    assert tasks.ran == ["retry"] * 3
    assert result.status == TaskResultStatus.SUCCESSFUL


def test_a_context_of_an_async_task(backend: TaskqBackend) -> None:
    result = tasks.attempts_async.enqueue()
    work()
    result.refresh()
    assert result.return_value == 1


@pytest.mark.parametrize("task", [tasks.hang, tasks.hang_async])
async def test_a_task_that_takes_too_long_has_failed(configure: Any, task: Any) -> None:
    configure(TIMEOUT=0.5)
    result = await task.aenqueue()
    with heard() as signals:
        async with working(app):

            async def has_failed() -> bool:
                await result.arefresh()
                return bool(result.status == TaskResultStatus.FAILED)

            await until(has_failed, or_fail="no timeout")
            tasks.let_go.set()
            if task is tasks.hang:
                await until(lambda: "ended" in tasks.ran, or_fail="the thread did not end")
    assert signals == [("started", "RUNNING", 0), ("finished", "FAILED", 1)]
    assert result.errors[0].exception_class is TimeoutError


async def test_a_task_that_is_cancelled_has_failed(backend: TaskqBackend) -> None:
    result = await tasks.hang_async.aenqueue()
    queue, _, job_id = result.id.partition(":")
    with heard() as signals:
        async with working(app) as worker:
            await until(lambda: tasks.ran, or_fail="it did not begin")
            assert await app.job(queue, job_id).acancel()
            await until(lambda: not worker.active, or_fail="it was not cancelled")
    await result.arefresh()
    assert result.status == TaskResultStatus.FAILED
    assert signals[-1] == ("finished", "FAILED", 1)


async def test_a_task_that_a_stopping_worker_gives_back_is_ready(backend: TaskqBackend) -> None:
    result = await tasks.hang_async.aenqueue()
    with heard() as signals:
        async with working(app, grace_s=0.0) as worker:
            await until(lambda: tasks.ran, or_fail="it did not begin")
            worker.stop()
    await result.arefresh()
    assert (result.status, result.attempts, result.started_at) == (TaskResultStatus.READY, 0, None)
    assert signals == [("started", "RUNNING", 0)]


def test_a_broken_receiver_of_the_end_does_not_undo_it(backend: TaskqBackend) -> None:
    def break_down(**_: Any) -> None:
        raise RuntimeError("broken")

    result = tasks.add.enqueue(1)
    task_finished.connect(break_down)
    try:
        work()
    finally:
        task_finished.disconnect(break_down)
    result.refresh()
    assert result.status == TaskResultStatus.SUCCESSFUL


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tests.sdk.django.tasks.not_a_task", "is no task of Django's Tasks"),
        ("os.getcwd", "os.getcwd is no task of Django's Tasks"),
        ("tests.sdk.django.tasks.gone", "cannot be imported: ImportError"),
        ("tests.sdk.django.no_module.gone", "is no module of an installed app"),
        ("gone", "is no module of an installed app"),
        ("tests.sdk.django.tasks.add@gone", "TASKS has no backend 'gone'"),
    ],
)
def test_what_is_no_task_of_the_project_is_parked_and_never_called(
    backend: TaskqBackend, name: str, reason: str
) -> None:
    body = b'{"task":"django:%s","args":[1]}' % name.encode()
    published = app.broker.run(app.broker.publish("default", [body], PublishOptions()))
    worker = work()
    assert tasks.ran == []
    ((_, parked, why),) = worker.parked
    assert parked == f"django:{name}"
    assert reason in why
    found = app.job("default", published.job_ids[0]).detail()
    assert found is not None
    assert (found.state, found.used) == (JobState.DELAYED, 0)


def test_a_parked_task_is_ready(backend: TaskqBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tasks.add.enqueue(1)
    with monkeypatch.context() as patched:
        patched.setattr(tasks, "add", None)
        work()
    result.refresh()
    assert (result.status, result.attempts, result.started_at) == (TaskResultStatus.READY, 0, None)


def test_one_worker_runs_several_backends_of_one_namespace(backend: TaskqBackend) -> None:
    result = tasks.add.using(backend="other", queue_name="other").enqueue(1)
    assert app.queues() >= {"default", "mail", "other"}
    work(queues=dict.fromkeys(app.queues(), 1))
    result.refresh()
    assert (result.return_value, result.backend) == (1, "other")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("task", [tasks.use_database, tasks.use_database_async])
def test_old_connections_are_closed_around_each_task(
    backend: TaskqBackend, monkeypatch: pytest.MonkeyPatch, task: Any
) -> None:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    results = [task.enqueue() for _ in range(2)]
    work(concurrency=1)
    for result in results:
        result.refresh()
        assert result.return_value == 1
    first, second = tasks.ran
    assert first is not second, "a connection of the first task was used by the second"
    for used in (first, second):
        with pytest.raises(Exception, match="closed"):
            used.execute("SELECT 1")


async def test_a_task_whose_worker_died_has_failed(backend: TaskqBackend, redis_url: str) -> None:
    result = await tasks.add.aenqueue(1)
    await app.broker.consume(["default"], count=1, ttr_ms=1, timeout_s=0, consumer="dead")
    with contextlib.closing(open_engine(redis_url)) as engine:

        async def has_failed() -> bool:
            engine.run(reclaim_ended(engine.layout))
            await result.arefresh()
            return bool(result.status == TaskResultStatus.FAILED)

        await until(has_failed, or_fail="its lease did not end")
    assert result.worker_ids == ["dead"]
    assert [error.exception_class for error in result.errors] == [LeaseLostError]


def test_a_job_that_cannot_be_read_as_it_begins_costs_no_try(
    backend: TaskqBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tasks.add.enqueue(1)
    with monkeypatch.context() as patched:
        patched.setattr(app.broker, "detail", lambda *_: app.broker.publish("default", [], PublishOptions()))
        work()
    result.refresh()
    assert (result.status, result.attempts, tasks.ran) == (TaskResultStatus.READY, 0, [])


def test_bad_options_park_a_task(configure: Any) -> None:
    configure(RETRY=1)
    result = tasks.add.enqueue(1)
    configure(RETRY={"NEVER": ["no.such.Error"]})
    worker = work()
    ((_, _, why),) = worker.parked
    assert why == "OPTIONS of TASKS['default']: No module named 'no'"
    assert tasks.ran == []
    configure(RETRY=1)
    result.refresh()
    assert result.status == TaskResultStatus.READY
