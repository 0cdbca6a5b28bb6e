"""Within a transaction nothing is enqueued before its commit, and the result has its final id all the same."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction

from queues.engine import JobState, PublishOptions, StoreUnavailableError
from taskq.django import DjangoApp, app
from taskq.django.backend import TaskqBackend
from taskq.django.compat import TaskResultDoesNotExist, TaskResultStatus, task_enqueued
from taskq.job import Job
from taskq.task import Task
from tests.sdk.conftest import work

from . import tasks

pytestmark = pytest.mark.django_db(transaction=True)


def ready(queue: str = "default") -> int:
    return app.broker.run(app.broker.stats(queue)).counts[JobState.READY]


@contextlib.contextmanager
def rolled_back() -> Iterator[None]:
    """A transaction that is rolled back at the end."""
    with contextlib.suppress(ZeroDivisionError), transaction.atomic():
        yield
        raise ZeroDivisionError


@pytest.fixture(params=["enqueue", "aenqueue"])
def enqueue(request: pytest.FixtureRequest) -> Any:
    """Enqueues a task, called from synchronous code."""
    if request.param == "enqueue":
        return lambda task, *args: task.enqueue(*args)
    return lambda task, *args: async_to_sync(task.aenqueue)(*args)


def test_a_task_is_enqueued_at_the_commit_and_keeps_its_id(backend: TaskqBackend, enqueue: Any) -> None:
    heard: list[Any] = []

    def hear(task_result: Any, **_: Any) -> None:
        heard.append(task_result.id)

    task_enqueued.connect(hear)
    try:
        with transaction.atomic():
            result = enqueue(tasks.add, 1)
            result_id = result.id
            assert result_id.startswith("default:")
            assert (result.status, result.enqueued_at) == (TaskResultStatus.READY, None)
            assert (ready(), heard) == (0, [])
            with pytest.raises(TaskResultDoesNotExist):
                result.refresh()
        assert (ready(), heard) == (1, [result_id])
    finally:
        task_enqueued.disconnect(hear)

    assert result.id == result_id
    assert result.enqueued_at is not None
    found = backend.get_result(result_id)
    assert (found.id, found.status, found.enqueued_at) == (result_id, TaskResultStatus.READY, result.enqueued_at)
    work(app)
    found.refresh()
    assert (found.status, found.return_value) == (TaskResultStatus.SUCCESSFUL, 1)
    assert tasks.add.get_result(result_id).return_value == 1


def test_a_task_knows_the_id_that_was_chosen_for_it(backend: TaskqBackend) -> None:
    with transaction.atomic():
        result = tasks.attempts.enqueue(0)
    work(app)
    result.refresh()
    assert result.return_value[1] == result.id


def test_after_a_rollback_there_is_no_task(backend: TaskqBackend, enqueue: Any) -> None:
    with rolled_back():
        result = enqueue(tasks.add, 1)
    assert ready() == 0
    with pytest.raises(TaskResultDoesNotExist):
        backend.get_result(result.id)


def test_a_savepoint_that_is_rolled_back_takes_its_tasks_along(backend: TaskqBackend) -> None:
    with transaction.atomic():
        kept = tasks.add.enqueue(1)
        with rolled_back():
            tasks.add.enqueue(2)
        assert ready() == 0
    work(app)
    assert tasks.ran == [(1, 0)]
    assert backend.get_result(kept.id).return_value == 1


def test_a_failed_task_of_a_transaction_is_found_as_long_as_its_job_is_there(backend: TaskqBackend) -> None:
    with transaction.atomic():
        result = tasks.fail.enqueue()
    work(app)
    result.refresh()
    assert result.status == TaskResultStatus.FAILED
    queue, _, name = result.id.partition(":")
    job_id = app.broker.run(app.broker.find_key(queue, f"django:{name}"))
    assert job_id is not None
    assert app.broker.run(app.broker.respawn(queue, [job_id])) == 1
    result.refresh()
    assert result.status == TaskResultStatus.READY
    app.broker.run(app.broker.delete(queue, [job_id]))
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()


def test_a_commit_that_is_repeated_enqueues_once(backend: TaskqBackend) -> None:
    """As a lost reply would have it: the key stands for the job until that is done."""
    with transaction.atomic():
        tasks.add.enqueue(1)
        ((_, publish, *_),) = connection.run_on_commit
        publish()
    assert ready() == 1


def test_arguments_are_checked_before_the_commit(backend: TaskqBackend) -> None:
    with transaction.atomic():
        with pytest.raises(TypeError, match="Unsupported"):
            tasks.add.enqueue(object())
        assert connection.run_on_commit == []


def test_what_fails_at_the_commit_the_caller_gets(backend: TaskqBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Any) -> Any:
        raise StoreUnavailableError("away")

    outer = transaction.atomic()
    outer.__enter__()
    result = tasks.add.enqueue(1)
    monkeypatch.setattr(app.broker, "run", refuse)
    with pytest.raises(StoreUnavailableError):
        outer.__exit__(None, None, None)
    assert result.enqueued_at is None


@pytest.mark.parametrize("is_async", [False, True])
def test_without_enqueue_on_commit_a_task_does_not_wait(configure: Any, is_async: bool) -> None:
    backend = configure(ENQUEUE_ON_COMMIT=False)
    with transaction.atomic():
        result = async_to_sync(tasks.add.aenqueue)(1) if is_async else tasks.add.enqueue(1)
        assert ready() == 1
        assert result.enqueued_at is not None
        assert backend.get_result(result.id).status == TaskResultStatus.READY


# Tasks of `app`.


@pytest.fixture
def own_app(backend: TaskqBackend) -> Any:
    """`app`, whose tasks are forgotten after the test."""
    yield app
    app.tasks.clear()


def declare(own_app: DjangoApp) -> Task[..., Any]:
    @own_app.task(name="note", retention=60)
    def note(number: int) -> int:
        tasks.ran.append(number)
        return number

    return note


def test_a_job_of_the_app_is_enqueued_at_the_commit(own_app: DjangoApp, enqueue: Any) -> None:
    note = declare(own_app)
    with transaction.atomic():
        job: Job[Any] = enqueue(note, 1)
        assert (ready(), job.id, job.state()) == (0, "", None)
    assert (ready(), job.state()) == (1, JobState.READY)
    work(app)
    assert job.result() == 1


def test_jobs_of_the_app_are_forgotten_at_a_rollback(own_app: DjangoApp) -> None:
    note = declare(own_app)
    with rolled_back():
        note.enqueue(1)
        note.enqueue_many([note.call(2)])
    assert ready() == 0


def test_many_jobs_go_in_one_call_at_the_commit(own_app: DjangoApp, monkeypatch: pytest.MonkeyPatch) -> None:
    note = declare(own_app)
    with transaction.atomic():
        jobs = note.enqueue_many([note.call(number) for number in range(10)])
        async_jobs = async_to_sync(note.aenqueue_many)([note.call(10)])
        assert ready() == 0
        assert len(connection.run_on_commit) == 2
    assert ready() == 11
    assert len({job.id for job in jobs + async_jobs} - {""}) == 11


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_of_the_app_need_not_wait(own_app: DjangoApp, is_async: bool) -> None:
    note = declare(own_app).using(on_commit=False)
    with transaction.atomic():
        job = async_to_sync(note.aenqueue)(1) if is_async else note.enqueue(1)
        many = note.enqueue_many([note.call(2), note.using(on_commit=True).call(3)])
        assert job.state() is JobState.READY
        assert ready() == 2
        assert [bool(one.id) for one in many] == [True, False]
    assert ready() == 3


def test_without_a_transaction_a_job_is_enqueued_at_once(own_app: DjangoApp) -> None:
    assert declare(own_app).enqueue(1).state() is JobState.READY


def test_the_helpers_for_tests_take_precedence(own_app: DjangoApp) -> None:
    from taskq.testing import assert_enqueued, inline

    note = declare(own_app)
    with inline(own_app) as mode, transaction.atomic():
        assert note.enqueue(1).result() == 1
    assert_enqueued(mode, note, 1)
    assert ready() == 0


def test_jobs_that_are_published_past_the_app_need_no_transaction(backend: TaskqBackend) -> None:
    with transaction.atomic():
        app.broker.run(app.broker.publish("default", [b"1"], PublishOptions()))
        assert ready() == 1
