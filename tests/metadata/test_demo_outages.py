"""What `manage.py demo --incident` does to an installation: Redis stands still and goes on, a report fails."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from queues.embedded import Answer, EmbeddedRedis
from queues.management import demo_outages
from queues.management.demo_incidents import SCENARIOS
from queues.management.demo_outages import (
    BACK_DAYS,
    CannotSeedError,
    Installation,
    drop_events,
    fail_report,
    forget_failed_reports,
    stop_pumps,
    stop_redis,
)
from queues.models import IncidentKind, Pool, ReportDay, ReportState
from queues.services.incident_watch.report_findings import look_at_reports
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

HERE = Installation(url="http://127.0.0.1:1", namespace="demo", token="-")


def is_stopped(pid: int) -> bool:
    asked = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return asked.stdout.strip().startswith("T")


def test_redis_stands_still_until_it_may_go_on(redis_server: EmbeddedRedis) -> None:
    pid, stopping = redis_server.pid, threading.Event()
    assert pid is not None
    demo = threading.Thread(target=stop_redis, args=(HERE, stopping))
    demo.start()
    try:
        wait_until(lambda: is_stopped(pid), or_fail="Redis was not stopped")
    finally:
        stopping.set()
        demo.join()

    assert not is_stopped(pid)
    assert redis_server.answer() is Answer.READY


WRITER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("writes", flush=True)
sys.stdin.readline()
database.execute("ROLLBACK")
sys.stdin.readline()
"""


@pytest.mark.skipif(connection.vendor != "sqlite", reason="elsewhere writers do not wait for each other")
def test_a_pump_that_writes_is_stopped_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", WRITER, str(connection.settings_dict["NAME"])]
    stopping = threading.Event()

    def stop() -> None:
        try:
            stop_pumps(HERE, stopping)
        finally:
            connection.close()

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as pump:
        assert pump.stdin is not None
        assert pump.stdout is not None
        assert pump.stdout.readline() == "writes\n"
        monkeypatch.setattr(demo_outages, "_pumps_here", lambda installation: [pump.pid])
        demo = threading.Thread(target=stop)
        demo.start()
        try:
            demo.join(timeout=0.5)
            assert not is_stopped(pump.pid)
            pump.stdin.write("end\n")
            pump.stdin.flush()
            wait_until(lambda: is_stopped(pump.pid), or_fail="the pump was not stopped")
            ReportDay.objects.all().delete()  # nobody waits for a pump that stands still
        finally:
            stopping.set()
            demo.join()
        assert not is_stopped(pump.pid)


def test_what_takes_its_time_to_stop_is_waited_for(
    redis_server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a busy machine lets the thread that takes the signal wait."""
    pid = redis_server.pid
    assert pid is not None
    kill, later = os.kill, []

    def kill_later(of: int, number: int) -> None:
        if (of, number) != (pid, signal.SIGSTOP):
            kill(of, number)
            return
        later.append(threading.Timer(0.3, kill, (of, number)))
        later[-1].start()

    monkeypatch.setattr(os, "kill", kill_later)
    try:
        with demo_outages._stopped_processes([pid]):
            assert is_stopped(pid)
        assert not is_stopped(pid)
    finally:
        for timer in later:
            timer.join()
        kill(pid, signal.SIGCONT)


def test_where_redis_is_has_to_be_known() -> None:
    Pool.objects.update(url="redis://127.0.0.1:1")

    for seed in (drop_events, lambda here: stop_redis(here, threading.Event())):
        with pytest.raises(CannotSeedError, match="set REDIS_URL"):
            seed(HERE)


def test_a_report_fails_and_is_forgotten() -> None:
    now = timezone.now()
    done = ReportDay.objects.create(
        date=now.date() - timedelta(days=BACK_DAYS), state=ReportState.DONE, claimed_at=now, beat_at=now
    )

    fail_report(HERE)

    (finding,) = look_at_reports(now=timezone.now()).findings
    assert (finding.kind, finding.size) == (IncidentKind.REPORT_FAILED, 1)
    assert finding.facts["day"] == (done.date + timedelta(days=1)).isoformat()
    forget_failed_reports()
    assert list(ReportDay.objects.values_list("pk", flat=True)) == [done.pk], "and no other"


def test_no_report_that_there_is_is_made_to_fail() -> None:
    now = timezone.now()
    for back in range(1, BACK_DAYS + 1):
        ReportDay.objects.create(
            date=now.date() - timedelta(days=back), state=ReportState.DONE, claimed_at=now, beat_at=now
        )

    with pytest.raises(CannotSeedError, match="has a report"):
        fail_report(HERE)
    assert not ReportDay.objects.filter(state=ReportState.FAILED).exists()


@in_one_test(
    ("arguments", "words"),
    [
        (("--incident", "earthquake"), "there is no incident 'earthquake'; there are:\nno_consumer "),
        (("--clear",), "--clear needs --incident"),
        (("--incident", "no_consumer"), "http://127.0.0.1:1 cannot do it"),
        (("--incident", "no_consumer", "--clear"), "http://127.0.0.1:1 cannot do it"),
        ((), "TASKQ_URL is not set"),
    ],
)
def test_the_command_says_what_it_cannot_do(
    arguments: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKQ_TOKEN", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    for name in ("TASKQ_URL", "TASKQ_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(CommandError) as caught:
        call_command("demo", *arguments, "--url", "http://127.0.0.1:1")

    assert words in str(caught.value)


def test_without_a_local_installation_it_says_how_to_start_one(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.delenv("TASKQ_TOKEN", raising=False)

    with pytest.raises(CommandError, match=f"no local installation in {tmp_path}: start one with `make run`"):
        call_command("demo", "--incident", "no_consumer")


def test_it_lists_the_incidents_that_can_be_made() -> None:
    said = io.StringIO()

    call_command("demo", "--list", stdout=said)

    assert [line.split()[0] for line in said.getvalue().splitlines()] == list(SCENARIOS)
