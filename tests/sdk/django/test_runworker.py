"""`manage.py runworker` as a process, in a small project of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.python_path import python_path

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, str(Path(__file__).parent / "project" / "manage.py")]


@pytest.fixture
def environment(redis_url: str) -> dict[str, str]:
    changes = {"TEST_REDIS_URL": redis_url, "PYTHONPATH": python_path(ROOT)}
    return {**os.environ, **changes, "DJANGO_SETTINGS_MODULE": "tests.sdk.django.project.settings"}


def run(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(arguments, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def produce(environment: dict[str, str], *arguments: str) -> Any:
    return json.loads(run(environment, sys.executable, "-m", "tests.sdk.django.project.produce", *arguments))


def test_it_runs_all_tasks_of_the_project_and_ends(environment: dict[str, str]) -> None:
    ids = produce(environment)
    run(environment, *COMMAND, "runworker", "--burst")

    found = produce(environment, json.dumps(ids))

    assert [value[0] for value in found["results"]] == [f"{number}@example.com" for number in range(6)]
    assert found["jobs"] == [42, 2]
    assert found["apart"] == ["READY"], "it is in another namespace"
    run(environment, *COMMAND, "runworker", "--burst", "--backend", "apart")
    assert produce(environment, json.dumps(ids))["apart"] == ["a"]


def test_it_runs_in_processes_and_takes_the_queues_that_it_is_told(environment: dict[str, str]) -> None:
    ids = produce(environment)
    run(environment, *COMMAND, "runworker", "--burst", "--processes", "2", "-q", "mail:2,reports")

    found = produce(environment, json.dumps(ids))

    assert found["jobs"] == [42, 2]
    assert [value[0] for value in found["results"]] == [f"{number}@example.com" for number in range(6)]


def test_taskq_worker_runs_the_project_too(environment: dict[str, str]) -> None:
    ids = produce(environment)
    run(environment, sys.executable, "-m", "taskq", "worker", "taskq.django.project", "--burst")
    assert produce(environment, json.dumps(ids))["jobs"] == [42, 2]


def test_it_ends_when_it_is_told_to(environment: dict[str, str]) -> None:
    worker = subprocess.Popen(
        [*COMMAND, "runworker", "-q", "mail"], env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    try:
        assert worker.stderr is not None
        line = next(line for line in worker.stderr if "worker runs" in line)
        assert "queues=mail" in line
        assert "tasks=2" in line
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0
    finally:
        worker.kill()
        worker.wait()
        assert worker.stderr is not None
        worker.stderr.close()


def test_its_settings_pass_the_checks(environment: dict[str, str]) -> None:
    assert "no issues" in run(environment, *COMMAND, "check")
    environment["TEST_REDIS_URL"] = "ftp://example.com"
    done = subprocess.run([*COMMAND, "check"], env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "taskq.E002" in done.stderr
