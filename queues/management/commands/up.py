"""manage.py up: the whole service on this machine with nothing prepared. `make run` calls it."""

from __future__ import annotations

import json
import logging
import os
import signal
from argparse import ArgumentParser, BooleanOptionalAction
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from queues.management.local.data_dir import CannotStartError
from queues.management.local.service import Options, Running, start_service
from queues.supervision import ChildGivenUpError, NotReadyError, Supervisor, last_lines

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Starts Redis (unless REDIS_URL names one), the web server, the pump and the pusher, with a demo account; "
        "Ctrl-C stops all."
    )
    requires_system_checks: list[str] = []  # the Redis and the tables that checks look at are not there yet

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=7777, help="port; 0: any free one (default: %(default)s)")
        parser.add_argument(
            "--data",
            type=Path,
            metavar="DIR",
            default=settings.DATA_DIR,
            help="where data and logs go (default: TASKQ_DATA_DIR, here %(default)s)",
        )
        parser.add_argument("--workers", type=int, default=1, help="web server processes (default: %(default)s)")
        parser.add_argument("--demo", action=BooleanOptionalAction, default=False, help="keep a small load going")
        parser.add_argument(
            "--pusher",
            action=BooleanOptionalAction,
            default=True,
            help="deliver to push endpoints (default: %(default)s; takes some 50 MB)",
        )
        parser.add_argument("--json", action="store_true", help="say where it is in one line of JSON, for programs")

    def handle(self, *, json: bool, **options: Any) -> None:
        supervisor = Supervisor()
        _stop_on_signals(supervisor)
        try:
            running = start_service(supervisor, _options(**options))
            if running is not None:
                with running.listener:  # closed before the web server ends, so that nobody waits for a next one
                    self._announce(running, json=json, demo=options["demo"])
                    supervisor.run()
        except CannotStartError as error:
            raise CommandError(str(error)) from error
        except (ChildGivenUpError, NotReadyError) as error:
            tail = "\n".join(f"  {line}" for line in last_lines(error.spec.log, count=10))
            raise CommandError(f"{error}\n{tail}") from error
        finally:
            supervisor.stop()

    def _announce(self, running: Running, *, json: bool, demo: bool) -> None:
        text = as_json(running) if json else as_text(running, demo=demo)
        self.stdout.write(text)
        self.stdout.flush()


def _options(*, host: str, port: int, data: Path, workers: int, demo: bool, pusher: bool, **_others: Any) -> Options:
    if workers < 1:
        raise CannotStartError("--workers must be at least 1")
    return Options(
        data_dir=data.expanduser().resolve(), host=host, port=port, workers=workers, demo=demo, pusher=pusher
    )


def _stop_on_signals(supervisor: Supervisor) -> None:
    """First signal: stop everything in order. Second: leave at once; the children end with this process."""
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(1)
        supervisor.ask_to_stop()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, handle)


def as_json(running: Running) -> str:
    """One line."""
    account = running.account
    return json.dumps(
        {
            "url": running.url,
            "namespace": account.namespace,
            "token": account.token,
            "admin": {"username": account.username, "password": account.password},
            "redis": running.redis_url,
        }
    )


def as_text(running: Running, *, demo: bool) -> str:
    """A screenful. The lines to type work as they stand."""
    url, account = running.url, running.account
    password = account.password if account.password is not None else "(the one you chose)"
    queue = f"{url}/api/{account.namespace}/greetings"
    header = f"-H 'X-Token: {account.token}'"
    return f"""
taskq is up.

  dashboard   {url}/
  admin       {url}/admin/
  sign in as  {account.username}, password {password}
  API docs    {url}/api/docs
  Redis       {running.redis_url}
  data, logs  {running.data_dir}{_demo_line(account.namespace) if demo else ""}

Publish a job that is due in a second, take it, acknowledge it:

  curl -X PUT {header} -d 'hello' '{queue}?delay=1'
  curl {header} '{queue}?timeout=5'
  curl -X DELETE {header} '{queue}/job/JOB_ID'

Ctrl-C stops everything.
"""


def _demo_line(namespace: str) -> str:
    return f"\n  demo load   queues order-close, emails and images in namespace {namespace}; --no-demo leaves it out"
