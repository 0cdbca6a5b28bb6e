"""manage.py token and manage.py pool; and what the processes of commands do not load."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from django.contrib.admin import site
from django.core.checks import run_checks
from django.core.management import CommandError, call_command, load_command_class
from django.urls import get_resolver

from queues.admin import PoolAdmin
from queues.engine import NotReplicatedError, publish
from queues.models import Activity, Pool, Token
from queues.pools import engine_for
from queues.pools.ttl_cache import forget_everything
from queues.services.tokens.authentication import authorise
from queues.services.tokens.managing import NewToken
from queues.supervision import tied_to_parent
from tests.support.outage import database_away
from tests.support.rows import in_one_test

from .conftest import SECRET

pytestmark = pytest.mark.django_db


def run(*words: str) -> tuple[str, str]:
    """Standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    call_command(*words, stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


def test_create_prints_the_token_and_nothing_else_on_standard_output() -> None:
    out, err = run("token", "create", "orders", "--description", "web shop")
    (secret,) = out.split()
    assert authorise(pool="default", secret=secret, namespace="orders").token_id in err
    assert secret not in err


def test_create_takes_a_secret_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(SECRET + "\n"))
    assert run("token", "create", "orders", "--description", "x", "--secret-stdin")[0] == SECRET + "\n"


@in_one_test(
    ("words", "message"),
    [
        (["create", "a b", "--description", "x"], "namespace name contains forbidden characters"),
        (["create", "orders", "--description", " "], "empty description"),
        (["create", "orders", "--description", "x", "--pool", "nowhere"], "pool not found"),
        (["list", "--pool", "nowhere"], "pool not found"),
        (["revoke", "orders", "nothing"], "no such token"),
        (["limit", "orders", "nothing"], "token not found"),
        (["limit", "orders", "nothing", "--read", "1"], "needs --interval"),
    ],
)
def test_what_is_refused_is_said_in_one_line(words: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message) as caught:
        run("token", *words)
    assert caught.value.returncode == 1
    assert "\n" not in str(caught.value)


def test_a_database_that_is_away_is_said_in_one_line() -> None:
    with database_away(), pytest.raises(CommandError, match="the database cannot be used"):
        run("token", "list")


def test_list_shows_ids_but_no_secret(token: NewToken) -> None:
    text, _ = run("token", "list")
    (entry,) = json.loads(run("token", "list", "--json")[0])
    assert (entry["public_id"], entry["namespace"]) == (token.public_id, "orders")
    assert token.public_id in text
    assert token.secret not in text + str(entry)


def test_each_verb_of_tokens_prints_json() -> None:
    made = json.loads(run("token", "create", "orders", "--description", "x", "--json")[0])
    named = ["orders", made["public_id"], "--json"]
    assert authorise(pool="default", secret=made["token"], namespace="orders").token_id == made["public_id"]
    assert json.loads(run("token", "limit", *named)[0]) is None
    limit = {"read": 0, "write": 5, "interval_s": 60}
    assert json.loads(run("token", "limit", *named, "--write", "5", "--interval", "60")[0]) == limit
    assert json.loads(run("token", "revoke", *named)[0]) == {"revoked": True}


def test_revoke_takes_the_token_from_the_list(token: NewToken) -> None:
    run("token", "revoke", "orders", token.public_id)
    assert json.loads(run("token", "list", "orders", "--json")[0]) == []
    assert "revoked" in run("token", "list", "orders", "--all")[0]
    assert Token.objects.get().revoked_at is not None


def test_limit_shows_sets_and_removes(token: NewToken) -> None:
    named = ["token", "limit", "orders", token.public_id]
    assert run(*named)[0] == "no limit\n"
    assert run(*named, "--write", "5", "--interval", "60")[0] == "read 0, write 5 per 60 s\n"
    assert run(*named)[0] == "read 0, write 5 per 60 s\n"
    assert run(*named, "--remove")[0] == "no limit\n"


def test_pool_add_reads_the_url_from_standard_input_and_masks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("redis://u:hunter2@127.0.0.1:1/0\n"))
    out, err = run("pool", "add", "images", "-", "--partitions", "4")
    assert out.startswith("added images: redis://u:***@127.0.0.1:1/0, 4 partitions\n  PROBLEM unreachable")
    assert "hunter2" not in out + err + "".join(run("pool", "list")) + "".join(run("pool", "list", "--json"))
    assert Pool.objects.get(name="images").url == "redis://u:hunter2@127.0.0.1:1/0"


def test_pool_check_ends_with_1_when_there_are_problems(redis_client: redis.Redis) -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit) as caught:
        call_command("pool", "check", stdout=out, no_color=True)
    assert caught.value.code == 1
    assert "PROBLEM no_aof: Redis forgets jobs" in out.getvalue()


def test_pool_check_is_content_with_a_fit_pool(fit_redis: redis.Redis) -> None:
    assert "fit to hold jobs" in run("pool", "check")[0]
    (report,) = json.loads(run("pool", "check", "default", "--json")[0])
    assert (report["pool"], report["problems"], report["store"]["aof"]) == ("default", [], True)


def test_pool_set_makes_publishes_wait_for_replicas(fit_redis: redis.Redis) -> None:
    queue = engine_for("default").queue("shop", "orders")
    assert engine_for("default").run(publish(queue, [b"x"])).job_ids

    out, _ = run("pool", "set", "default", "--min-replicas", "1")
    forget_everything()

    assert out.startswith("changed default: min_replicas=1\n  PROBLEM too_few_replicas: Too few")
    with pytest.raises(NotReplicatedError):
        engine_for("default").run(publish(queue, [b"x"]))
    (entry,) = Activity.objects.all()
    assert (entry.action, entry.pool, entry.detail) == ("pool_changed", "default", "min_replicas=1")


def test_pool_set_changes_the_memory_for_events_of_every_partition_that_is_opened() -> None:
    assert run("pool", "set", "default", "--events-memory", "64")[0].startswith(
        "changed default: events_memory_mb=64\n"
    )
    assert "64" in run("pool", "list")[0].splitlines()[1].split()
    engine = engine_for("default")
    assert engine.queue("shop", "orders").events_cap == 64 * 1024 * 1024 // engine.layout.partitions
    assert run("pool", "set", "default", "--events-memory", "auto")[0].startswith(
        "changed default: events_memory_mb=auto\n"
    )
    assert "auto" in run("pool", "list")[0].splitlines()[1].split()
    forget_everything()
    assert engine_for("default").layout.events_cap == 256 * 1024 * 1024 // engine.layout.partitions


@in_one_test(
    "words",
    [
        ["add", "default", "redis://h"],
        ["add", "x", "http://h"],
        ["check", "nowhere"],
        ["set", "nowhere", "--min-replicas", "1"],
        ["set", "default", "--min-replicas", "17"],
        ["set", "default", "--min-replicas", "-1"],
        ["set", "nowhere", "--events-memory", "64"],
        ["set", "default", "--events-memory", "15"],
        ["set", "default"],
    ],
)
def test_pool_refuses_in_one_line(words: list[str]) -> None:
    with pytest.raises(CommandError):
        run("pool", *words)


COMMAND = "from django.core.management import load_command_class; load_command_class('queues', '{}')"
STARTS = {
    "worker": (
        f"{COMMAND.format('serve')}; import os, pathlib; from queues.server.server import _load_in, load_worker;"
        "_load_in(os.getpid(), lambda: load_worker(pathlib.Path(sys.argv[1])))"
    ),
    "pages": (
        f"{COMMAND.format('servepages')}; import pathlib; from queues.server.pages_process import Site, _load;"
        "_load(pathlib.Path(sys.argv[1]), Site())"
    ),
    "pump": f"{COMMAND.format('runpump')}; from queues.pump.roles import roles_for; roles_for('default')",
    "token": COMMAND.format("token"),
    "up": COMMAND.format("up"),
}
SPARK_AND_ARROW = {"pyspark", "pyarrow"}
SCHEMA = {"drf_spectacular.generators", "drf_spectacular.openapi", "django.test"}
PAGES = {"taskq_site.urls", "dashboard.urls", "queues.admin", "rest_framework.views", "psycopg", *SCHEMA}
NEEDLESS = {
    "worker": {*SPARK_AND_ARROW, *PAGES, "apscheduler"},
    "pages": {*SPARK_AND_ARROW, *SCHEMA, "apscheduler"},
    "pump": {*SPARK_AND_ARROW, *PAGES, "uvicorn"},
    "token": {*SPARK_AND_ARROW, *PAGES, "uvicorn", "apscheduler"},
    "up": {*SPARK_AND_ARROW, *PAGES, "uvicorn", "apscheduler"},
}
"""What takes long to load, by what starts without it. (DRF loads psycopg, whatever the database.)"""


@pytest.mark.parametrize("start", STARTS)
def test_a_process_starts_without_what_it_does_not_need(start: str, tmp_path: Path) -> None:
    program = f"import gc, sys, django; django.setup(); {STARTS[start]}; print(gc.isenabled(), *sys.modules, sep='\\n')"
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={name: value for name, value in os.environ.items() if name != "DATABASE_URL"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout.startswith("True\n"), "it never looks for garbage"
    assert NEEDLESS[start] & set(run.stdout.split()) == set()


def test_what_ties_each_child_to_its_parent_imports_next_to_nothing() -> None:
    """It runs before every Redis and every command that another one starts."""
    python, *words = tied_to_parent(["true"])

    done = subprocess.run([python, "-X", "importtime", *words], capture_output=True, text=True, check=True)

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "ctypes" in loaded
    assert {"enum", "signal", "subprocess", "threading", "typing"} & loaded == set()


@pytest.mark.parametrize("command", ["serve", "servepages", "runpump", "token", "up"])
def test_no_process_of_the_service_looks_at_all_views_before_it_starts(command: str) -> None:
    """Django's system checks would load them. The next test runs the checks in their place."""
    assert load_command_class("queues", command).requires_system_checks == []


def test_the_system_checks_of_django_find_nothing() -> None:
    get_resolver().url_patterns  # noqa: B018  # loads the admin's pages, which are checked, too

    assert PoolAdmin in {type(page) for page in site._registry.values()}
    assert run_checks() == []
