"""taskq's settings for servers that tests start: passwords are hashed fast, queues of /metrics found at once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from taskq_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
TASKQ_METRICS_WALK_S = 0.2

if os.environ.get("TASKQ_TEST_PAGES_ON_DEMAND") == "1":
    TASKQ_COMMAND = (sys.executable, "-I", "-S", str(Path(__file__).with_name("pages_on_demand.py")))
