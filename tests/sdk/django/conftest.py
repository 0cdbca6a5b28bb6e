"""Fixtures: settings with a TaskqBackend on the tests' real Redis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import pytest_django

from taskq.django import app, taskq_backends
from taskq.django.backend import TaskqBackend
from taskq.django.compat import task_backends

from . import tasks

QUEUES = ["default", "mail"]


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    tasks.ran.clear()
    tasks.let_go.clear()


@pytest.fixture
def configure(redis_url: str, settings: pytest_django.Settings) -> Any:
    """Sets TASKS to one TaskqBackend with these OPTIONS, and returns it."""

    def configure(**options: Any) -> TaskqBackend:
        settings.TASKQ = {"URL": redis_url, "NAMESPACE": "sdk"}
        settings.TASKS = {
            "default": {"BACKEND": "taskq.django.TaskqBackend", "QUEUES": QUEUES, "OPTIONS": options},
            "other": {"BACKEND": "taskq.django.TaskqBackend", "QUEUES": ["other"], "OPTIONS": {"RETENTION": 60}},
        }
        return current_backend()

    return configure


@pytest.fixture
def backend(configure: Any) -> Iterator[TaskqBackend]:
    """With default OPTIONS."""
    yield configure()
    app.forget_broker()


def current_backend(alias: str = "default") -> TaskqBackend:
    found = task_backends[alias]
    assert isinstance(found, TaskqBackend)
    assert found in taskq_backends()
    return found
