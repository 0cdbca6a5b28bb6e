"""The Django app `taskq.django`."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import autodiscover_modules


class TaskqConfig(AppConfig):
    """Imports the `tasks` module of each installed app, so that workers know their tasks."""

    name = "taskq.django"
    label = "taskq_django"
    verbose_name = "taskq"

    def ready(self) -> None:
        if hasattr(settings, "TASKS"):
            from . import compat  # noqa: F401 - registers the system check of TASKS also without the app django_tasks
        autodiscover_modules("tasks")
