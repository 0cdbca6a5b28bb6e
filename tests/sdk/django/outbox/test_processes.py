"""`manage.py runoutbox` as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from taskq.django import DjangoApp
from tests.support.database import url_of_database
from tests.support.python_path import python_path
from tests.support.waiting import wait_until

from .conftest import add, jobs, refused, waiting
from .test_relay import work_off

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[4]
COMMAND = [sys.executable, "-m", "django", "runoutbox"]


@pytest.fixture
def environment(redis_url: str) -> dict[str, str]:
    changes = {"TEST_REDIS_URL": redis_url, "PYTHONPATH": python_path(ROOT), "DATABASE_URL": url_of_database()}
    return {**os.environ, **changes, "DJANGO_SETTINGS_MODULE": "tests.sdk.django.outbox.process_settings"}


def run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def running(environment: dict[str, str], *options: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([*COMMAND, *options], env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.mark.parametrize("works_between", [False, True], ids=["", "jobs are done meanwhile"])
def test_a_relay_that_is_killed_publishes_nothing_twice(
    app: DjangoApp, environment: dict[str, str], works_between: bool
) -> None:
    bodies = [b"%d" % number for number in range(5)]
    for body in bodies:
        add(body)
    killed = run(environment, sys.executable, "-m", "tests.sdk.django.outbox.killed_relay")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert waiting() == 5
    assert jobs(app) == bodies
    done = work_off(app) if works_between else []

    ended = run(environment, *COMMAND, "--once")

    assert ended.returncode == 0, ended.stderr
    assert (waiting(), [*done, *work_off(app)]) == (0, bodies)


def test_it_publishes_what_is_written_until_it_is_told_to_stop(app: DjangoApp, environment: dict[str, str]) -> None:
    with running(environment) as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "action" not in line and "waiting=0" in line)
        assert f"listening={connection.vendor == 'postgresql'}" in line
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO taskq_outbox (queue, body) VALUES (%s, %s)", ["orders", b"plain SQL"])
        wait_until(lambda: jobs(app) == [b"plain SQL"], or_fail="it is not published")
        add(b"bad", queue="not good")
        wait_until(refused, or_fail="it is not set aside")
        wait_until(lambda: waiting() == 0, or_fail="it is not deleted")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert "rows refused" in process.stderr.read()


def test_while_redis_is_away_rows_wait_and_it_says_so(environment: dict[str, str]) -> None:
    add(b"1")
    away = {**environment, "TEST_REDIS_URL": "redis://127.0.0.1:1/0"}

    once = run(away, *COMMAND, "--once")
    assert once.returncode == 1
    assert "outbox waits" in once.stderr
    assert "waiting=1" in once.stderr
    with running(away) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if "outbox waits" in line)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert waiting() == 1


def test_bad_options_are_refused(environment: dict[str, str]) -> None:
    ended = run(environment, *COMMAND, "--backend=other")
    assert ended.returncode == 1
    assert "TASKS has no TaskqBackend 'other'" in ended.stderr

    for option, words in (
        ("--poll=0", "--poll is from 0"),
        ("--batch=0", "--batch from 1"),
        ("--database=other", "DATABASES has no 'other'"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("runoutbox", option)
