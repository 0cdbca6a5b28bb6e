"""A small Django project, whose worker tests start as a process."""

from __future__ import annotations

import os

SECRET_KEY = "of a test"
USE_TZ = True
INSTALLED_APPS = ["taskq.django", "tests.sdk.django.project.shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
TASKQ = {"URL": os.environ.get("TEST_REDIS_URL"), "NAMESPACE": "project"}
TASKS = {
    "default": {"BACKEND": "taskq.django.TaskqBackend", "QUEUES": ["default", "mail"]},
    "apart": {"BACKEND": "taskq.django.TaskqBackend", "QUEUES": ["apart"], "OPTIONS": {"NAMESPACE": "apart"}},
}
