"""manage.py demo: a small realistic load on a running taskq, or one of the incidents that its pages show."""

from __future__ import annotations

import os
import signal
import threading
from argparse import ArgumentParser
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from queues.management.demo_incidents import SCENARIOS, clear, describe
from queues.management.demo_load import ServiceAwayError, run_load
from queues.management.demo_outages import CannotSeedError, Installation
from queues.management.local.data_dir import Account
from queues.supervision import HEARTBEAT

LOCAL_URL: Final = "http://127.0.0.1:7777"


class Command(BaseCommand):
    help = (
        "Keeps a small load going on the taskq at $TASKQ_URL, in $TASKQ_NAMESPACE with $TASKQ_TOKEN, until SIGTERM. "
        "With --incident: makes an incident in the local installation (`make run`), to see what its pages say."
    )
    requires_system_checks: list[str] = []  # it talks HTTP only

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--incident",
            metavar="NAME",
            help="make this incident, and hold it where it must be held; see --list",
        )
        parser.add_argument("--list", action="store_true", help="list the incidents that can be made")
        parser.add_argument("--clear", action="store_true", help="with --incident: delete its queues again")
        parser.add_argument("--url", default=os.environ.get("TASKQ_URL", LOCAL_URL), help="default: %(default)s")

    def handle(self, *, incident: str | None, list: bool, clear: bool, url: str, **options: Any) -> None:
        if list:
            self.stdout.write(describe())
        elif incident is not None:
            self._make(incident, _installation(url), clears=clear)
        elif clear:
            raise CommandError("--clear needs --incident")
        else:
            _run_load()

    def _make(self, name: str, installation: Installation, *, clears: bool) -> None:
        scenario = SCENARIOS.get(name)
        if scenario is None:
            raise CommandError(f"there is no incident {name!r}; there are:\n{describe()}")
        try:
            if clears:
                self.stdout.write(f"{name}: {clear(installation, scenario)} queues deleted")
                return
            scenario.seed(installation)
            self.stdout.write(f"{name}: {scenario.title}. Look at {installation.url}/ in {scenario.within_s} s.")
            if scenario.hold is not None:
                self.stdout.write("Ctrl-C ends it.")
                scenario.hold(installation, _stop_on_signals())
        except ServiceAwayError as error:
            raise CommandError(f"{installation.url} cannot do it ({error}); is `make run` running?") from error
        except CannotSeedError as error:
            raise CommandError(str(error)) from error


def _installation(url: str) -> Installation:
    """That of $TASKQ_TOKEN, or the local one, whose account is in its data directory."""
    if token := os.environ.get("TASKQ_TOKEN"):
        return Installation(url=url, namespace=os.environ.get("TASKQ_NAMESPACE", "demo"), token=token)
    account = Account.read(settings.DATA_DIR / "demo.json")
    if account is None:
        raise CommandError(
            f"there is no local installation in {settings.DATA_DIR}: start one with `make run`, or set TASKQ_DATA_DIR"
        )
    return Installation(
        url=url.rstrip("/"),
        namespace=account.namespace,
        token=account.token,
        username=account.username,
        password=account.password or "",
    )


def _run_load() -> None:
    try:
        url, namespace, token = (os.environ[f"TASKQ_{name}"] for name in ("URL", "NAMESPACE", "TOKEN"))
    except KeyError as missing:
        raise CommandError(f"{missing.args[0]} is not set") from missing
    HEARTBEAT.begin()
    run_load(url=url, namespace=namespace, token=token, stopping=_stop_on_signals())


def _stop_on_signals() -> threading.Event:
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopping.set())
    return stopping
