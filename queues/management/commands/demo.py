"""manage.py demo: a small realistic load on a running taskq."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queues.management.demo_load import run_load
from queues.supervision import HEARTBEAT


class Command(BaseCommand):
    help = "Keeps a small load going on the taskq at $TASKQ_URL, in $TASKQ_NAMESPACE with $TASKQ_TOKEN, until SIGTERM."
    requires_system_checks: list[str] = []  # it talks HTTP only

    def handle(self, **options: Any) -> None:
        try:
            url, namespace, token = (os.environ[f"TASKQ_{name}"] for name in ("URL", "NAMESPACE", "TOKEN"))
        except KeyError as missing:
            raise CommandError(f"{missing.args[0]} is not set") from missing
        HEARTBEAT.begin()
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: stopping.set())
        run_load(url=url, namespace=namespace, token=token, stopping=stopping)
