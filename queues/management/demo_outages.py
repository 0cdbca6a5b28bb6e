"""What the demo does to a local installation: stops its pumps or its Redis, has events dropped and a report fail."""

from __future__ import annotations

import base64
import http.client
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone

from queues.engine import Engine, constants, partition_load
from queues.engine.errors import TaskqError
from queues.models import DEFAULT_POOL, Pool, ReportDay, ReportState
from queues.pools import engine_for

from .demo_load import Client


class CannotSeedError(Exception):
    """The incident cannot be made here. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The service that the incident is made in. `username` and `password`: of a superuser; for the metrics."""

    url: str
    namespace: str
    token: str
    username: str = ""
    password: str = ""

    def client(self, name: str = "demo-incident") -> Client:
        return Client(url=self.url, namespace=self.namespace, token=self.token, name=name)


FLOODED: Final = "telemetry"
FLOOD_AT_ONCE: Final = 1_000
FLOOD_SECONDS: Final = 60
ROW_SEEN_S: Final = 3.0
"""By then every process has noticed that the row of a pool has changed."""

STOPPED_WITHIN_S: Final = 10.0
"""Less than a writer of SQLite waits, for one is kept waiting meanwhile."""

NOBODY: Final = "spark://127.0.0.1:1"
"""A Spark master that there is not."""

BACK_DAYS: Final = 7


_PUMP: Final = re.compile(r'taskq_pump_ticks_total\{pool="[^"]*",pump="([^":]*):(\d+):[^"]*"')


def stop_pumps(installation: Installation, stopping: threading.Event) -> None:
    """Stop (SIGSTOP) the pumps of this host until told to let them go on, and what would start new ones."""
    with _stopped_pumps(installation):
        stopping.wait()


@contextmanager
def _stopped_pumps(installation: Installation) -> Iterator[None]:
    pumps = _pumps_here(installation)
    with ExitStack() as stopped:
        # It takes SQLite's write lock, which nobody would get from a pump that stands still with it.
        with transaction.atomic():
            stopped.enter_context(_stopped_processes(pumps))
        yield


def _pumps_here(installation: Installation) -> list[int]:
    connection = http.client.HTTPConnection(urlsplit(installation.url).netloc, timeout=10)
    secret = base64.b64encode(f"{installation.username}:{installation.password}".encode()).decode()
    try:
        connection.request("GET", "/metrics", headers={"Authorization": f"Basic {secret}"})
        response = connection.getresponse()
        text = response.read().decode()
    except OSError as error:
        raise CannotSeedError(f"{installation.url} does not answer: {error}") from error
    finally:
        connection.close()
    if response.status != 200:
        raise CannotSeedError(f"the metrics answer {response.status}: the demo account's password has changed?")
    found = {int(pid) for host, pid in _PUMP.findall(text) if host == socket.gethostname()[:64]}
    alive = [pid for pid in sorted(found) if "runpump" in _command_of(pid)]
    if not alive:
        raise CannotSeedError("no pump of this installation runs on this host")
    return alive


def stop_redis(_installation: Installation, stopping: threading.Event) -> None:
    """Stop (SIGSTOP) the Redis of the pool `default`, if it runs here, and what would start a new one."""
    pid = int(_answering_engine().client.info("server")["process_id"])
    if not re.search(r"(valkey|redis)-server", _command_of(pid)):
        raise CannotSeedError("the Redis of the pool default does not run on this host")
    with _stopped_processes([pid]):
        stopping.wait()


def _answering_engine() -> Engine:
    """That of the pool `default`."""
    try:
        return engine_for(DEFAULT_POOL)
    except TaskqError as error:
        raise CannotSeedError(
            f"{error}: if `make run` has a Redis of its own, set REDIS_URL to what it says behind Redis"
        ) from error


def drop_events(installation: Installation) -> None:
    """Publish, while the pumps stand still and the pool has the least memory for events, until events are dropped."""
    engine = _answering_engine()
    rows = Pool.objects.filter(name=DEFAULT_POOL)
    usual_mb = rows.values_list("events_memory_mb", flat=True).get()
    client, until = installation.client(), time.monotonic() + FLOOD_SECONDS
    body = {"sensor": "boiler", "celsius": 71.5}
    with _stopped_pumps(installation):
        rows.update(events_memory_mb=constants.EVENTS_MEMORY_MIN_MB)
        try:
            time.sleep(ROW_SEEN_S)
            while not _dropped_events(client, engine, body):
                if time.monotonic() > until:
                    raise CannotSeedError(f"no event was dropped within {FLOOD_SECONDS} s")
        finally:
            rows.update(events_memory_mb=usual_mb)


def _dropped_events(client: Client, engine: Engine, body: dict[str, object]) -> bool:
    client.publish_all(FLOODED, [body] * FLOOD_AT_ONCE, tries=3)
    loads = engine.batch([partition_load(partition) for partition in range(engine.layout.partitions)])
    now_ms = time.time() * 1_000
    return any(load.events_dropped and now_ms - load.events_dropped_at_ms < FLOOD_SECONDS * 1_000 for load in loads)


def fail_report(_installation: Installation) -> None:
    """Have a report made of a day that has none, by a Spark that there is not."""
    today = timezone.now().date()
    days = [today - timedelta(days=back) for back in range(BACK_DAYS, 0, -1)]
    known = set(ReportDay.objects.filter(date__in=days).values_list("date", flat=True))
    day = next((day for day in days if day not in known), None)
    if day is None:
        raise CannotSeedError(f"each of the last {BACK_DAYS} days has a report: none is made to fail")
    with suppress(CommandError):
        call_command("runreport", date=day.isoformat(), master=NOBODY, quiet=True)
    if not ReportDay.objects.filter(date=day, state=ReportState.FAILED).exists():
        raise CannotSeedError(f"the report of {day} did not fail: another process makes reports right now?")


def forget_failed_reports() -> None:
    """Those whose Spark was NOBODY, and which never were anything else."""
    ReportDay.objects.filter(state=ReportState.FAILED, reported_at=None, error__contains=NOBODY).delete()


@contextmanager
def _stopped_processes(children: list[int]) -> Iterator[None]:
    """Their supervisor first, which would otherwise replace one that hangs."""
    supervisors = {parent for pid in children if " up" in _command_of(parent := _parent_of(pid))}
    processes = [*supervisors, *children]
    try:
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        _wait_until_stopped(processes)
        yield
    finally:
        for pid in reversed(processes):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _wait_until_stopped(pids: list[int]) -> None:
    """On a busy machine seconds pass until the thread runs that takes the signal; meanwhile the others go on."""
    until = time.monotonic() + STOPPED_WITHIN_S
    for pid in pids:
        while (state := _ask_ps(pid, "state=")) and state[0] not in "TZ":
            if time.monotonic() > until:
                raise CannotSeedError(f"process {pid} does not stop within {STOPPED_WITHIN_S:g} s")
            time.sleep(0.01)


def _command_of(pid: int) -> str:
    return _ask_ps(pid, "args=")


def _parent_of(pid: int) -> int:
    return int(_ask_ps(pid, "ppid=") or 0)


def _ask_ps(pid: int, column: str) -> str:
    if pid <= 1:
        return ""
    asked = subprocess.run(["ps", "-ww", "-o", column, "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603, S607
    return asked.stdout.strip()
