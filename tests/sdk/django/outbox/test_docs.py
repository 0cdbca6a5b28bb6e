"""docs/sdk/transactions.md: its SQL works, its table is the table, its settings and Python code run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandParser
from django.db import connection

from queues.engine import JobState
from taskq.django import DjangoApp
from taskq.django.management.commands.runoutbox import Command
from taskq.django.outbox.relay import OutboxRelay
from taskq.django.outbox.rows import MODEL
from tests.support.python_path import python_path

from .conftest import jobs, waiting

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "sdk" / "transactions.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}[^\n]*\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_rows_by_plain_sql_become_jobs(app: DjangoApp, relay: OutboxRelay) -> None:
    inserts, lag = blocks("sql")
    with connection.cursor() as cursor:
        for statement in inserts.split(";\n"):
            if statement.strip():
                cursor.execute(statement)
        cursor.execute(lag)
        assert cursor.fetchone()[0] == waiting() == 2

    assert relay.tick().published == 2

    (task,) = jobs(app, "mail")
    assert task == b'{"task": "shop.tasks.send_receipt", "kwargs": {"order_id": 7}}'
    (delayed,) = app.broker.run(app.broker.jobs("mail", JobState.DELAYED, after=None, limit=9)).jobs
    shown = (delayed.body, delayed.tries, str(delayed.backoff), delayed.key, delayed.expires_ms - delayed.published_ms)
    assert shown == (b"any bytes", 5, "exponential:1:60", "receipt-7", 86_400_000)
    assert 0 < (delayed.due_ms or 0) - delayed.published_ms <= 2_500


def test_the_columns_are_those_of_the_table() -> None:
    section = PAGE.partition("| column |")[2]
    stated = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, flags=re.MULTILINE))

    assert list(stated) == [field.name for field in MODEL._meta.fields]
    if connection.vendor == "postgresql":
        kinds = {field.name: str(field.db_type(connection)) for field in MODEL._meta.fields}
        short = {"timestamp with time zone": "timestamptz"}
        assert stated == {name: short.get(kind, kind) for name, kind in kinds.items()}


def test_the_options_of_the_command_are_complete() -> None:
    parser = CommandParser(prog="runoutbox")
    usual = set(re.findall(r"--[\w-]+", parser.format_help()))
    Command().add_arguments(parser)

    own = set(re.findall(r"--[\w-]+", parser.format_help())) - usual
    assert own == set(re.findall(r"^\| `(--\w+)", PAGE, flags=re.MULTILINE))


def test_the_settings_without_a_project_work(tmp_path: Path, redis_url: str, app: DjangoApp) -> None:
    (settings,) = re.findall(r"```python title=\"outbox_settings.py\"\n(.*?)```", PAGE, flags=re.DOTALL)
    settings += (
        f"\nDATABASES['default'] = {{'ENGINE': 'django.db.backends.sqlite3', 'NAME': {str(tmp_path / 'db')!r}}}\n"
    )
    settings += f"TASKQ = {{'URL': {redis_url!r}, 'NAMESPACE': 'sdk'}}\n"
    (tmp_path / "outbox_settings.py").write_text(settings)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "outbox_settings",
        "PYTHONPATH": python_path(tmp_path, ROOT),
    }

    def run(*arguments: str) -> None:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    run("-m", "django", "migrate", "taskq_django", "--verbosity=0")
    insert = "INSERT INTO taskq_outbox (queue, body) VALUES ('orders', 'x')"
    write = f"import sqlite3; c = sqlite3.connect({str(tmp_path / 'db')!r}); c.execute({insert!r}); c.commit()"
    run("-c", write)
    run("-m", "django", "runoutbox", "--once")

    assert jobs(app) == [b"x"]


def test_snippets_compile() -> None:
    for snippet in blocks("python"):
        compile(snippet, "transactions.md", "exec")
