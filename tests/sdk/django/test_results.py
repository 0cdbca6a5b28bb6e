"""Results: found by their ids, from whichever process, and what they say of each state."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from queues.engine import JobState
from taskq.django import app
from taskq.django.backend import TaskqBackend
from taskq.django.compat import TaskResultDoesNotExist, TaskResultStatus, task_backends
from tests.sdk.conftest import until, work, working

from . import tasks

pytestmark = pytest.mark.anyio

UNKNOWN = "01BX5ZZKBKACTAV9WEVGEMMVRZ"


def test_a_result_is_found_by_another_backend_object(backend: TaskqBackend) -> None:
    result = tasks.add.enqueue(2, b=3)
    work(app)

    other = TaskqBackend("default", task_backends.settings["default"])
    found = other.get_result(result.id)

    assert found.status == TaskResultStatus.SUCCESSFUL
    assert found.is_finished
    assert found.return_value == 5
    assert (found.id, found.backend, found.task) == (result.id, "default", tasks.add)
    assert (found.args, found.kwargs, found.errors) == ([2], {"b": 3}, [])
    assert found.attempts == len(found.worker_ids) == 1
    assert ":" in found.worker_ids[0]
    assert found.enqueued_at == result.enqueued_at
    assert found.started_at is not None
    assert found.finished_at is not None
    assert found.enqueued_at is not None
    assert found.enqueued_at <= found.started_at <= found.finished_at
    assert found.last_attempted_at == found.started_at
    assert found.finished_at < timezone.now() + timedelta(seconds=5)
    assert tasks.add.get_result(result.id).return_value == 5


async def test_a_result_is_refreshed(backend: TaskqBackend) -> None:
    result = await tasks.add_async.aenqueue(2)
    again = await tasks.add_async.aget_result(result.id)
    async with working(app) as worker:
        await until(lambda: worker.done == 1 and not worker._finisher.unsent, or_fail="it did not run")
    assert result.status == TaskResultStatus.READY
    await result.arefresh()
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 2)
    await asyncio.to_thread(again.refresh)
    assert (again.status, again.return_value) == (TaskResultStatus.SUCCESSFUL, 2)


def test_none_is_a_return_value(backend: TaskqBackend) -> None:
    result = tasks.retry_soon.enqueue()
    tasks.ran.extend(["a", "b"])
    work(app)
    result.refresh()
    assert result.status == TaskResultStatus.SUCCESSFUL
    assert result.return_value is None


async def test_a_task_that_runs_is_running(backend: TaskqBackend) -> None:
    result = await tasks.hang.aenqueue()
    async with working(app) as worker:
        await until(lambda: tasks.ran, or_fail="it did not begin")
        await result.arefresh()
        assert result.status == TaskResultStatus.RUNNING
        assert result.worker_ids == [worker.id]
        assert result.started_at is not None
        assert result.finished_at is None
        tasks.let_go.set()
        await until(lambda: worker.done == 1, or_fail="it did not end")


def test_a_failed_task_says_why(backend: TaskqBackend) -> None:
    result = tasks.fail.enqueue("no pears")
    work(app)
    result.refresh()

    assert result.status == TaskResultStatus.FAILED
    assert result.finished_at is not None
    assert result.attempts == 1
    with pytest.raises(ValueError, match="failed"):
        result.return_value  # noqa: B018
    (error,) = result.errors
    assert error.exception_class is tasks.OutOfStockError
    assert error.traceback.startswith("Traceback (most recent call last):\n")
    assert error.traceback.endswith("OutOfStockError: no pears\n")
    assert "tasks.py" in error.traceback
    assert "execution.py" not in error.traceback


def test_the_engines_text_will_do_when_the_traceback_is_forgotten(backend: TaskqBackend, redis_client: Any) -> None:
    results = [tasks.fail.enqueue("no pears"), tasks.add.enqueue("a"), tasks.fail_unserializable.enqueue()]
    work(app)
    for name in redis_client.scan_iter("*"):
        if redis_client.ttl(name) > 3_600:  # notes expire, and hardly anything else
            redis_client.delete(name)

    errors = []
    for result in results:
        result.refresh()
        errors += result.errors

    assert [error.exception_class for error in errors] == [tasks.OutOfStockError, TypeError, TypeError]
    assert errors[0].traceback.startswith("tests.sdk.django.tasks.OutOfStockError: no pears\n  ")


def test_long_tracebacks_are_cut_in_the_middle(backend: TaskqBackend) -> None:
    result = tasks.fail_long.enqueue()
    work(app)
    result.refresh()
    (error,) = result.errors
    assert error.exception_class is tasks.OutOfStockError
    assert len(error.traceback) < 20_000
    assert error.traceback.startswith("Traceback")


@pytest.mark.parametrize(
    "result_id",
    [
        f"default:{UNKNOWN}",
        "default:" + "0" * 32,
        f"unknown:{UNKNOWN}",
        f"other:{UNKNOWN}",
        UNKNOWN,
        "",
        ":",
        "default:",
        "a b:" + "0" * 32,
    ],
)
async def test_an_unknown_id_is_said_to_be_unknown(backend: TaskqBackend, result_id: str) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        await backend.aget_result(result_id)
    with pytest.raises(TaskResultDoesNotExist):
        await asyncio.to_thread(backend.get_result, result_id)


def test_a_result_of_another_task_is_a_mismatch(backend: TaskqBackend) -> None:
    result = tasks.add.enqueue(1)
    with pytest.raises(Exception, match="does not match") as caught:
        tasks.fail.get_result(result.id)
    assert type(caught.value).__name__ == "TaskResultMismatch"


def test_a_result_of_another_backend_is_unknown(backend: TaskqBackend) -> None:
    result = tasks.add.using(backend="other", queue_name="other").enqueue(1)
    assert task_backends["other"].get_result(result.id).backend == "other"
    with pytest.raises(TaskResultDoesNotExist):
        backend.get_result(result.id)


def test_a_job_that_is_no_task_of_djangos_is_unknown(backend: TaskqBackend) -> None:
    from queues.engine import PublishOptions

    for body in (b'{"task":"other"}', b"\x00"):
        published = app.broker.run(app.broker.publish("default", [body], PublishOptions()))
        with pytest.raises(TaskResultDoesNotExist):
            backend.get_result(f"default:{published.job_ids[0]}")


def test_a_task_whose_module_is_gone_is_an_import_error(backend: TaskqBackend) -> None:
    from queues.engine import PublishOptions

    body = b'{"task":"django:tests.sdk.django.tasks.gone"}'
    published = app.broker.run(app.broker.publish("default", [body], PublishOptions()))
    with pytest.raises(ImportError, match=r"tasks\.gone cannot be imported"):
        backend.get_result(f"default:{published.job_ids[0]}")


def test_without_retention_nothing_is_left_of_a_task_that_is_done(configure: Any) -> None:
    backend = configure(RETENTION=0)
    result = tasks.add.enqueue(1)
    work(app)
    with pytest.raises(TaskResultDoesNotExist):
        backend.get_result(result.id)


def test_a_cancelled_job_is_gone_or_failed(backend: TaskqBackend) -> None:
    result = tasks.add.enqueue(1)
    queue, _, job_id = result.id.partition(":")
    assert app.job(queue, job_id).cancel()
    assert app.job(queue, job_id).state() is None
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()
    assert app.broker.run(app.broker.stats("default")).counts[JobState.READY] == 0
