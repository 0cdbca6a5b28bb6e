"""taskq's settings for a server that gets SIGKILL when it has acked a job and is about to tell its dependants."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from typing import Any

from queues.engine import AsyncEngine, Operation
from queues.engine.executor import relays_of
from tests.http.served_settings import *  # noqa: F403


def _die(engine: AsyncEngine, operations: Sequence[Operation[Any]], replies: Sequence[Any]) -> None:
    if relays_of(operations, replies):
        os.kill(os.getpid(), signal.SIGKILL)


AsyncEngine._relay = _die  # type: ignore[method-assign,assignment]
