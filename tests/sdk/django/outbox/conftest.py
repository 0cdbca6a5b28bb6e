"""Fixtures: an app whose jobs go through the outbox, and a relay. The database is the tests' own, whichever that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import pytest_django

from queues.engine import JobState
from taskq.django import DjangoApp
from taskq.django.django_app import app as project_app
from taskq.django.outbox.relay import OutboxRelay
from taskq.django.outbox.rows import MODEL

NAMESPACE = "sdk"


@pytest.fixture
def app(redis_url: str, settings: pytest_django.Settings) -> Iterator[DjangoApp]:
    """The project's app. Its calls go to the outbox only if they say so."""
    settings.TASKQ = {"URL": redis_url, "NAMESPACE": NAMESPACE}
    settings.TASKS = {
        "default": {"BACKEND": "taskq.django.TaskqBackend", "QUEUES": ["default", "mail"], "OPTIONS": {"OUTBOX": True}}
    }
    yield project_app
    project_app.forget_broker()


@pytest.fixture
def relay(app: DjangoApp) -> OutboxRelay:
    return OutboxRelay(app, using="default")


def waiting() -> int:
    """Rows that are not published."""
    return int(MODEL.objects.filter(refused_at__isnull=True).count())


def refused() -> list[tuple[str, str]]:
    """Queue and reason of the rows that were set aside."""
    return list(MODEL.objects.filter(refused_at__isnull=False).order_by("id").values_list("queue", "reason"))


def add(body: bytes = b"job", *, queue: str = "orders", **columns: Any) -> Any:
    """A row as a program without the library writes it: what it leaves out is the database's default."""
    return MODEL.objects.create(queue=queue, body=body, **columns)


def jobs(app: DjangoApp, queue: str = "orders", state: JobState = JobState.READY) -> list[bytes]:
    """Bodies of a queue's jobs in their order."""
    broker = app.broker
    return [job.body for job in broker.run(broker.jobs(queue, state, after=None, limit=1_000)).jobs]
