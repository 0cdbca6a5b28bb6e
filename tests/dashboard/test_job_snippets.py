"""The snippets of a job's page do what they say: the command publishes the same job, the test runs its task."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dashboard.job_snippets import WRITTEN_MAX, curl_of
from dashboard.job_snippets import test_of as snippet_of
from queues.engine import Engine, JobDetail, JobState
from queues.engine.backoff import parse_backoff
from taskq import App
from tests.support.rows import in_one_test

from .shop import Shop


def job_of(engine: Engine, body: bytes, **options: Any) -> JobDetail:
    shop = Shop(engine)
    found = shop.find(shop.job_in(JobState.READY, body=body, **options))
    assert found is not None
    return found


def sent_by(command: str, folder: Path) -> tuple[list[str], bytes]:
    """Arguments of curl, and what it would send, as sh reads the command."""
    fake = folder / "curl"
    fake.write_text(
        '#!/bin/sh\nfor one; do printf "%s\\0" "$one" >> args; done\ncase "$*" in *@-*) cat > input;; esac\n'
    )
    fake.chmod(0o755)
    path = {"PATH": f"{folder}:/usr/bin:/bin", "TASKQ_TOKEN": "the token"}
    subprocess.run(["sh", "-c", command], cwd=folder, env=path, check=True, timeout=20)
    args = (folder / "args").read_bytes().decode().split("\0")[:-1]
    given = folder / "input"
    return args, given.read_bytes() if given.exists() else args[-1].encode()


@pytest.mark.parametrize(
    "body", [b"@file", b'{"it\'s": "$HOME `id`"}\nand more\n', b"\xff\x00\x01", "中\u202e".encode()]
)
def test_the_command_sends_the_same_job(engine: Engine, tmp_path: Path, body: bytes) -> None:
    job = job_of(
        engine, body, tries=3, ttl_ms=60_000, priority=7, backoff=parse_backoff("fixed:5"), key="once",
        attributes={"tenant": "a'b \u202e", "trace": "1"},
    )  # fmt: skip

    args, given = sent_by(curl_of(job, origin="https://q.example"), tmp_path)

    assert args[:3] == ["-X", "PUT", "https://q.example/api/shop/orders?tries=3&ttl=60&priority=7&backoff=fixed%3A5"]
    headers = [args[place + 1] for place, arg in enumerate(args) if arg == "-H"]
    assert headers[0] == "X-Token: the token"
    assert set(headers[1:]) == {"Enable-Job-Version: YES", "Job-Attr-tenant: a'b \u202e", "Job-Attr-trace: 1"}
    assert given == body


def test_a_long_body_is_a_file(engine: Engine) -> None:
    job = job_of(engine, b"x" * (WRITTEN_MAX + 1))

    assert f"--data-binary @{job.job_id}.body.bin" in curl_of(job, origin="https://q.example")


def test_the_test_runs_the_task_with_its_arguments(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    app = App()
    seen: list[Any] = []

    @app.task(name="invoice.send-now")
    def send(*args: Any, **kwargs: Any) -> None:
        seen.append((args, kwargs))

    module = ModuleType("tasks")
    module.app = app  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tasks", module)
    message = {"task": "invoice.send-now", "args": [1, None, {"a": "\u202e'"}], "kwargs": {"due": "中" * 60, "x": True}}
    job = job_of(engine, json.dumps(message).encode())

    scope: dict[str, Any] = {}
    exec(snippet_of(job), scope)
    (test,) = [value for name, value in scope.items() if name.startswith("test_invoice_send_now_")]
    test()

    assert seen == [((1, None, {"a": "\u202e'"}), {"due": "中" * 60, "x": True})]


@in_one_test("body", [b"x", b"[1]", b'{"a": 1}', b'{"task": "t", "encrypted": "x"}', b'{"task": "t", "args": {}}'])
def test_what_is_no_task_has_no_test(engine: Engine, body: bytes) -> None:
    assert snippet_of(job_of(engine, body)) == ""


def test_an_error_in_a_test_is_one_line_of_a_comment(engine: Engine) -> None:
    shop = Shop(engine)
    job = shop.find(shop.job_in(JobState.DEAD, body=b'{"task": "t"}', error='boom\n"""\nimport os\u2028'))
    assert job is not None

    compile(snippet_of(replace(job)), "snippet", "exec")
    assert [line for line in snippet_of(job).splitlines() if "import os" in line] == [
        f'    # job {job.job_id} of shop/orders; attempt 1 ended with: boom """ import os'
    ]
