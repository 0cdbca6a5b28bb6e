"""What is enqueued with `outbox=True` is a row of the caller's transaction."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_django
from asgiref.sync import async_to_sync
from django.db import transaction

from queues.engine import Dependency, InvalidArgumentError, JobDetail, JobState, PublishOptions
from taskq import App, NotConfiguredError, RetryPolicy
from taskq.django import DjangoApp
from taskq.django.compat import TaskResultStatus, task_enqueued
from taskq.django.outbox.relay import OutboxRelay
from taskq.django.outbox.rows import MODEL, OutboxJob, write_rows
from taskq.task import Prepared
from tests.sdk.conftest import work

from .. import tasks
from .conftest import jobs, waiting

pytestmark = pytest.mark.django_db(transaction=True)

ran: list[int] = []


@pytest.fixture
def note(app: DjangoApp) -> Any:
    ran.clear()
    yield app.task(name="note", queue="orders", outbox=True)(ran.append)
    app.tasks.clear()


@pytest.fixture(params=["enqueue", "aenqueue"])
def enqueue(request: pytest.FixtureRequest) -> Any:
    if request.param == "enqueue":
        return lambda task, *args: task.enqueue(*args)
    return lambda task, *args: async_to_sync(task.aenqueue)(*args)


def test_committed_means_published(app: DjangoApp, relay: OutboxRelay, note: Any, enqueue: Any) -> None:
    with transaction.atomic():
        job = enqueue(note, 7)
        assert waiting() == 1
    assert isinstance(job, OutboxJob)
    assert (jobs(app), job.id, job.find()) == ([], "", False)

    assert relay.tick().published == 1

    assert waiting() == 0
    assert job.find()
    assert job.state() is JobState.READY
    work(app, queues={"orders": 1})
    assert ran == [7]


def test_rolled_back_means_never(app: DjangoApp, relay: OutboxRelay, note: Any, enqueue: Any) -> None:
    with contextlib.suppress(ZeroDivisionError), transaction.atomic():
        enqueue(note, 7)
        raise ZeroDivisionError

    assert relay.tick().published == 0
    assert (waiting(), jobs(app)) == (0, [])


def test_without_a_transaction_the_row_is_there_at_once(relay: OutboxRelay, note: Any) -> None:
    note.enqueue(7)

    assert waiting() == 1
    assert relay.tick().published == 1


def test_many_calls_go_in_their_order(app: DjangoApp, relay: OutboxRelay, note: Any) -> None:
    with transaction.atomic():
        app.enqueue_many([note.call(number) for number in range(1_200)])
    published = [relay.tick().published for _ in range(4)]

    assert published == [500, 500, 200, 0]
    work(app, queues={"orders": 1}, concurrency=1)
    assert ran == list(range(1_200))


def test_policy_and_call_say_what_goes_to_the_outbox(
    app: DjangoApp, note: Any, settings: pytest_django.Settings, redis_url: str
) -> None:
    note.using(outbox=False).enqueue(1)
    assert (waiting(), len(jobs(app))) == (0, 1)
    note.using(outbox=None).enqueue(1)
    assert (waiting(), len(jobs(app))) == (0, 2)
    settings.TASKQ = {"URL": redis_url, "NAMESPACE": "sdk", "OUTBOX": True}
    note.using(outbox=None).enqueue(1)
    assert waiting() == 1
    note.using(outbox="default").enqueue(1)
    assert waiting() == 2


def test_all_options_arrive(app: DjangoApp, relay: OutboxRelay) -> None:
    @app.task(
        name="all",
        queue="orders",
        outbox=True,
        retry=RetryPolicy(tries=7, backoff="exponential:0.25:1234567.5"),
        priority=-5,
        retention=90.5,
        expires=3_600.25,
        attributes={"trace": "é"},
        limit_key="tenant-{number}",
        key="k-{number}",
        key_mode="replace",
        key_ttl=50,
        key_max_wait=20,
    )
    def declared(number: int) -> None: ...

    task: Any = declared
    try:
        direct = task.using(outbox=False, queue="direct", delay=30).enqueue(7).detail()
        job = task.using(delay=30).enqueue(7)
        relay.tick()
        assert job.find()
        relayed = job.detail()
        at = datetime.now(UTC) + timedelta(hours=1)
        later = task.using(at=at).enqueue(8)
        relay.tick()
        assert later.find()
        assert later.detail().due_ms == round(at.timestamp() * 1000)
    finally:
        app.tasks.clear()

    def shown(job: JobDetail) -> list[Any]:
        names = ("body", "tries", "priority", "backoff", "retention_ms", "attributes", "key", "limit_key", "state")
        return [*[getattr(job, name) for name in names], job.expires_ms - job.published_ms]

    assert shown(relayed) == shown(direct)
    assert 29_000 < relayed.due_ms - direct.published_ms < 40_000


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"depends_on": (Dependency(queue="orders", key="k"),)}, "depends_on cannot be written to the outbox"),
        ({"limit_key": "line\nfeed"}, "invalid limit_key"),
    ],
)
def test_an_option_that_a_row_cannot_hold_is_refused(app: DjangoApp, options: Any, words: str) -> None:
    prepared = Prepared(queue="orders", body=b"x", options=PublishOptions(**options))

    with pytest.raises(InvalidArgumentError, match=words):
        write_rows(app, [(None, prepared)], "default")

    assert waiting() == 0


@pytest.mark.parametrize(
    ("options", "error"),
    [({"queue": "not good"}, InvalidArgumentError), ({"priority": 101}, InvalidArgumentError)],
)
def test_what_could_not_be_published_is_not_written(note: Any, options: Any, error: Any) -> None:
    with pytest.raises(error):
        note.using(**options).enqueue(1)

    assert waiting() == 0


def test_an_app_without_a_database_has_no_outbox(redis_url: str) -> None:
    task = App(redis_url).task(name="x", outbox=True)(print)

    with pytest.raises(NotConfiguredError, match="needs taskq"):
        task.enqueue()


def test_a_project_without_the_table_is_told(note: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskq.django.outbox.rows.apps.is_installed", lambda _name: False)

    with pytest.raises(NotConfiguredError, match="INSTALLED_APPS"):
        note.enqueue(1)


# Django's Tasks.


def test_a_task_of_djangos_has_its_final_id(app: DjangoApp, relay: OutboxRelay, enqueue: Any) -> None:
    heard: list[Any] = []

    def hear(task_result: Any, **_: Any) -> None:
        heard.append(task_result.id)

    task_enqueued.connect(hear)
    try:
        with transaction.atomic():
            result = enqueue(tasks.add, 1)
            assert (waiting(), heard, result.enqueued_at) == (1, [], None)
        assert heard == [result.id]
    finally:
        task_enqueued.disconnect(hear)
    assert result.enqueued_at is not None
    relay.tick()
    work(app)
    result.refresh()

    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 1)


def test_a_row_keeps_the_namespace_of_its_app(app: DjangoApp, relay: OutboxRelay, note: Any) -> None:
    note.enqueue(1)
    MODEL.objects.update(namespace="another")

    assert relay.tick().published == 0
    assert waiting() == 1, "another relay publishes it"
