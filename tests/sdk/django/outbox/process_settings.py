"""A project with the outbox in the database of the running test, for processes that tests start."""

from __future__ import annotations

import os

from taskq_site.settings import DATABASES, SECRET_KEY, USE_TZ

__all__ = ["DATABASES", "SECRET_KEY", "USE_TZ"]

INSTALLED_APPS = ["taskq.django"]
TASKQ = {"URL": os.environ["TEST_REDIS_URL"], "NAMESPACE": "sdk"}
