"""taskq's settings for servers that tests start: passwords are hashed fast, queues of /metrics found at once."""

from __future__ import annotations

from taskq_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
TASKQ_METRICS_WALK_S = 0.2
