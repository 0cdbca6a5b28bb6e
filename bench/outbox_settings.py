"""A Django project with nothing but the outbox, for the relay that the scenario `outbox` measures."""

from __future__ import annotations

import os

from taskq_site.connections import database_config

SECRET_KEY = "of a benchmark"
USE_TZ = True
INSTALLED_APPS = ["taskq.django"]
DATABASES = {"default": database_config(os.environ["BENCH_DATABASE_URL"])}
TASKQ = {"URL": os.environ["BENCH_REDIS_URL"], "NAMESPACE": "bench"}
