"""Tasks that the project's worker finds by itself."""

from __future__ import annotations

import os

from django.apps import apps

from taskq.django import app
from tests.sdk.django.decorator import task


@task(queue_name="mail")
def send(to: str) -> list[object]:
    return [to, os.getpid()]


@task(backend="apart", queue_name="apart")
def send_apart(to: str) -> str:
    return to


@app.task(queue="reports", retention=60)
def report(number: int) -> int:
    return number + 1


@app.task(queue="reports", retention=60, process=True)
def count_apps() -> int:
    """Needs Django to be set up, in whatever process it runs."""
    apps.check_models_ready()
    return len(list(apps.get_app_configs()))
