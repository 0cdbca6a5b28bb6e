"""taskq in Django projects: `app` for `@app.task`, a backend for Django's Tasks, and `manage.py runworker`.

    INSTALLED_APPS = [..., "taskq.django"]
    TASKQ = {"URL": "redis://localhost:6379/0"}
    TASKS = {"default": {"BACKEND": "taskq.django.TaskqBackend"}}

Called by Django and by the project's code; calls the rest of `taskq`, which knows nothing of this package.
docs/sdk/django.md describes the settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .django_app import DjangoApp, app, taskq_backends

if TYPE_CHECKING:
    from .backend import TaskqBackend
    from .outbox.rows import OutboxJob

__all__ = ["DjangoApp", "OutboxJob", "TaskqBackend", "app", "taskq_backends"]


def __getattr__(name: str) -> Any:
    """What is imported late: a project that only uses `app` need not have Django's Tasks, nor the outbox."""
    if name == "OutboxJob":
        from .outbox.rows import OutboxJob

        return OutboxJob
    if name == "TaskqBackend":
        from .backend import TaskqBackend

        return TaskqBackend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
