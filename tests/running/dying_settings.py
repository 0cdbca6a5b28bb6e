"""taskq's settings for a server that gets SIGKILL when it has acked a job and is about to tell its dependants."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

from queues.engine import AsyncEngine
from tests.http.served_settings import *  # noqa: F403


def _die(*_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it was killed")


AsyncEngine._carry = _die  # type: ignore[method-assign,assignment]
