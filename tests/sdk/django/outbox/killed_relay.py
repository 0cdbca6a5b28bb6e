"""Run as a process: a relay that is killed (SIGKILL) right after its first publish, before it deletes the rows."""

from __future__ import annotations

import os
import signal
from typing import Any

import django

django.setup()

from taskq.brokers import Broker  # noqa: E402
from taskq.django import app  # noqa: E402
from taskq.django.outbox.relay import OutboxRelay  # noqa: E402

original = type(app.broker).run


def run(broker: Broker, work: Any) -> Any:
    original(broker, work)
    os.kill(os.getpid(), signal.SIGKILL)


type(app.broker).run = run  # type: ignore[method-assign, assignment]
OutboxRelay(app, using="default").tick()
