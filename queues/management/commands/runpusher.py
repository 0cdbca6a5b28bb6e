"""manage.py runpusher: delivers the jobs of queues that have a push endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import signal
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import uvloop
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from queues.http_client import client_tls
from queues.push.service import Pusher
from queues.supervision import HEARTBEAT

DRAIN_S: Final = 20.0
DRAIN_MAX_S: Final = 3_600.0


class Command(BaseCommand):
    help = (
        "Posts the jobs of queues that have a push endpoint to its URL. Runs until SIGTERM or SIGINT: then it waits "
        "for the requests under way, and gives back the jobs of those that take longer; a second signal ends it at "
        "once. Several may run side by side, on several hosts."
    )
    requires_system_checks: list[str] = []  # as of `serve`

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--drain",
            type=_seconds,
            default=DRAIN_S,
            metavar="S",
            help=f"seconds to wait for requests under way when it ends (default: {DRAIN_S:g})",
        )
        parser.add_argument("--heartbeat", type=Path, metavar="FILE", help="touch FILE every second while all is well")

    def handle(self, *, drain: float, heartbeat: Path | None, **options: Any) -> None:
        HEARTBEAT.begin()
        heartbeats = (HEARTBEAT.beat,) if heartbeat is None else (HEARTBEAT.beat, heartbeat.touch)
        _raise_file_limit()
        gc.collect()
        gc.freeze()  # what is loaded stays: it need not be gone through again and again
        try:
            client_tls(settings.TASKQ_PUSH_CA_FILE)
        except OSError as error:
            raise CommandError(f"TASKQ_PUSH_CA_FILE {settings.TASKQ_PUSH_CA_FILE}: {error}") from error
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(drain, heartbeats))


async def _run(drain_s: float, heartbeats: Sequence[Callable[[], object]]) -> None:
    pusher = Pusher(heartbeats=heartbeats)
    stop = asyncio.Event()
    received: list[int] = []

    def handle(number: int) -> None:
        received.append(number)
        if len(received) > 1:
            os._exit(1)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, handle, number)
    await pusher.run(stop, drain_s=drain_s)


def _raise_file_limit() -> None:
    """To the most that is allowed: each request under way is an open file."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # macOS refuses "unlimited"
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= DRAIN_MAX_S:  # also NaN
        raise ArgumentTypeError(f"expected seconds, 0 to {DRAIN_MAX_S:g}")
    return seconds
