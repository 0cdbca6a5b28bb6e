"""manage.py serve: the web server (API, dashboard, admin)."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from queues.server.server import CannotListenError, serve
from queues.supervision import HEARTBEAT


class Command(BaseCommand):
    help = "Serves the API, the dashboard and the admin until SIGTERM or SIGINT."
    # System checks are about code: the tests run them, and `manage.py check` does. They load all pages and views, half
    # of the work of a start, also where those are not served. What may be wrong with a deployment is found when its
    # settings are read, and by /readyz. Views that cannot be imported end the process that serves them
    # (`make_api_middleware`).
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=7777, help="port to listen on (default: %(default)s)")
        parser.add_argument("--fd", type=int, help="number of an open socket to listen on, in place of host and port")
        parser.add_argument("--workers", type=int, default=1, help="worker processes (default: %(default)s)")

    def handle(self, *, host: str, port: int, fd: int | None, workers: int, **options: Any) -> None:
        HEARTBEAT.begin()
        try:
            serve(host=host, port=port, fd=fd, workers=workers)
        except CannotListenError as error:
            raise CommandError(str(error)) from error
