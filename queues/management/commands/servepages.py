"""manage.py servepages: the process of the pages; `serve` starts it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from queues.server.pages_process import serve_pages
from queues.services.incident_watch.running import start_idle_watch
from queues.supervision import HEARTBEAT


class Command(BaseCommand):
    help = "Serves dashboard, admin and staff's API on a Unix socket to the workers of `serve`, which starts it."
    requires_system_checks: list[str] = []  # as of `serve`

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", type=Path, help="where the socket is made; private to `serve`")

    def handle(self, *, directory: Path, **options: Any) -> None:
        HEARTBEAT.begin()
        start_idle_watch()
        serve_pages(directory)
