"""taskq's settings for servers that tests start. Only passwords are hashed fast: tests send many."""

from __future__ import annotations

from taskq_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
