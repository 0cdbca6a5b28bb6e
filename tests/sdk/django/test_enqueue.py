"""Enqueueing tasks of Django's Tasks: what is accepted, what is published, what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_django
from django.utils import timezone

from queues.engine import JobState
from taskq.django import app
from taskq.django.backend import TaskqBackend
from taskq.django.compat import InvalidTask, Task, TaskResult, TaskResultStatus, task_enqueued
from tests.support.rows import in_one_test

from . import tasks

pytestmark = pytest.mark.anyio


def job_of(result: TaskResult[Any]) -> Any:
    queue, _, job_id = result.id.partition(":")
    found = app.job(queue, job_id).detail()
    assert found is not None
    return found


def test_it_supports_everything(backend: TaskqBackend) -> None:
    assert backend.supports_defer
    assert backend.supports_async_task
    assert backend.supports_get_result
    assert backend.supports_priority


def test_enqueue_publishes_a_job_and_returns_a_ready_result(backend: TaskqBackend) -> None:
    before = timezone.now() - timedelta(seconds=5)
    result = tasks.add.enqueue(1, b=2)

    assert result.status == TaskResultStatus.READY
    assert not result.is_finished
    assert result.id.startswith("default:")
    assert (result.args, result.kwargs, result.backend) == ([1], {"b": 2}, "default")
    assert (result.errors, result.worker_ids, result.attempts) == ([], [], 0)
    assert result.enqueued_at is not None
    assert before < result.enqueued_at < timezone.now() + timedelta(seconds=5)
    assert (result.started_at, result.finished_at, result.last_attempted_at) == (None, None, None)
    with pytest.raises(ValueError, match="not finished"):
        result.return_value  # noqa: B018
    job = job_of(result)
    assert (job.state, job.tries, job.retention_ms) == (JobState.READY, 1, 86_400_000)
    assert job.body == b'{"task":"django:tests.sdk.django.tasks.add","args":[1],"kwargs":{"b":2}}'
    assert (job.key, job.attributes, job.expires_ms) == ("", None, 0)


async def test_aenqueue_does_the_same(backend: TaskqBackend) -> None:
    result = await tasks.add_async.aenqueue(1, b=2)

    assert result.status == TaskResultStatus.READY
    again = await backend.aget_result(result.id)
    assert (again.args, again.kwargs, again.enqueued_at) == ([1], {"b": 2}, result.enqueued_at)
    assert again.task == tasks.add_async


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_the_producer_hears_that_a_task_was_enqueued(backend: TaskqBackend, asynchronous: bool) -> None:
    heard: list[tuple[Any, Any]] = []

    def hear(sender: Any, task_result: Any, **_: Any) -> None:
        heard.append((sender, task_result))

    task_enqueued.connect(hear)
    try:
        result = await tasks.add.aenqueue(1) if asynchronous else tasks.add.enqueue(1)
    finally:
        task_enqueued.disconnect(hear)
    assert heard == [(TaskqBackend, result)]


def test_a_deferred_task_is_due_at_its_time(backend: TaskqBackend) -> None:
    at = timezone.now().replace(microsecond=0) + timedelta(hours=1)
    result = tasks.add.using(run_after=at).enqueue(1)

    job = job_of(result)
    assert (job.state, job.due_ms) == (JobState.DELAYED, at.timestamp() * 1_000)
    again = backend.get_result(result.id)
    assert again.status == TaskResultStatus.READY
    assert again.task.run_after == at


def test_a_time_that_has_passed_is_now(backend: TaskqBackend) -> None:
    result = tasks.add.using(run_after=datetime(2020, 1, 1, tzinfo=UTC)).enqueue(1)
    assert job_of(result).state is JobState.READY


def test_without_time_zones_times_are_naive(backend: TaskqBackend, settings: pytest_django.Settings) -> None:
    settings.USE_TZ = False
    # In Django's time zone, which the process's is in a real one; tests of Java change that of theirs.
    at = timezone.make_naive(datetime.now(UTC)).replace(microsecond=0) + timedelta(hours=1)
    result = tasks.add.using(run_after=at).enqueue(1)
    again = backend.get_result(result.id)
    assert again.task.run_after == at
    assert again.enqueued_at is not None
    assert again.enqueued_at == result.enqueued_at
    assert again.enqueued_at.tzinfo is None


def test_queue_and_priority_are_those_of_the_task(backend: TaskqBackend) -> None:
    result = tasks.add.using(queue_name="mail", priority=-7).enqueue(1)
    job = job_of(result)
    assert (job.queue, job.priority) == ("mail", -7)
    again = backend.get_result(result.id)
    assert (again.task.queue_name, again.task.priority) == ("mail", -7)


def test_options_of_the_backend_are_those_of_its_jobs(configure: Any) -> None:
    configure(RETRY={"TRIES": 3, "BACKOFF": "fixed:5"}, RETENTION=60)
    job = job_of(tasks.add.enqueue(1))
    assert (job.tries, job.retention_ms, str(job.backoff.kind.name).lower()) == (3, 60_000, "fixed")


def test_another_backend_has_queues_and_options_of_its_own(backend: TaskqBackend) -> None:
    result = tasks.add.using(backend="other", queue_name="other").enqueue(1)
    assert result.backend == "other"
    job = job_of(result)
    assert (job.queue, job.retention_ms) == ("other", 60_000)
    assert b'"django:tests.sdk.django.tasks.add@other"' in job.body


@in_one_test(
    ("changes", "words"),
    [
        ({"queue_name": "unknown"}, "Queue 'unknown' is not valid"),
        ({"priority": 101}, "priority must be a whole number"),
        ({"priority": -101}, "priority must be a whole number"),
        ({"priority": 1.5}, "priority must be a whole number"),
        ({"run_after": datetime(2030, 1, 1)}, "run_after must be an aware"),  # noqa: DTZ001
    ],
)
def test_what_cannot_be_run_is_refused(backend: TaskqBackend, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidTask, match=words):
        tasks.add.using(**changes)


def test_functions_that_no_worker_could_import_are_refused(backend: TaskqBackend) -> None:
    def inner() -> None: ...

    for function in (inner, lambda: None, max):
        with pytest.raises(InvalidTask, match="module level"):
            make_task(function)


def test_a_context_must_be_the_first_parameter(backend: TaskqBackend) -> None:
    with pytest.raises(InvalidTask, match="takes context"):
        make_task(tasks.not_a_task, takes_context=True)


def make_task(function: Any, **changes: Any) -> Task[..., Any]:
    fields = {"priority": 0, "queue_name": "default", "backend": "default", "run_after": None, **changes}
    return Task(func=function, **fields)


@pytest.mark.parametrize("queues", [[], ["a b"]])
def test_a_queue_name_that_taskq_does_not_allow_is_refused(
    backend: TaskqBackend, settings: pytest_django.Settings, queues: list[str]
) -> None:
    settings.TASKS = {"default": {"BACKEND": "taskq.django.TaskqBackend", "QUEUES": queues}}
    with pytest.raises(InvalidTask, match="not valid for taskq"):
        tasks.add.using(queue_name="a b")


@pytest.mark.parametrize("argument", [object(), {1, 2}, datetime(2030, 1, 1, tzinfo=UTC), b"\xff"])
def test_arguments_that_are_no_json_are_refused(backend: TaskqBackend, argument: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="Unsupported"):
        tasks.add.enqueue(argument)
    assert app.broker.run(app.broker.stats("default")).counts[JobState.READY] == 0
