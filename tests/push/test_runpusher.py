"""`manage.py runpusher` as a process, and a receiver as another."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import pytest_django
from django.core.management import CommandError, call_command
from django.db import connection

from queues.engine import Engine, PublishOptions, list_pushers, publish, reclaim_ended, stats
from queues.services.push.endpoints import EndpointOptions, save_endpoint
from tests.running.conftest import Site
from tests.running.conftest import family as family
from tests.running.conftest import site as site
from tests.running.conftest import start as start
from tests.running.processes import run_manage
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

from .sink import Answer, Sink, listening, never

Start = Callable[..., subprocess.Popen[str]]
AddEndpoint = Callable[..., None]
JOBS = 2_000


@contextmanager
def receiver(answer: Answer | None = None) -> Iterator[Sink]:
    """A sink in a thread of its own."""
    loop = asyncio.new_event_loop()
    ready, sinks = threading.Event(), list[Sink]()
    stop = asyncio.Event()

    async def serve() -> None:
        async with listening(answer) as sink:
            sinks.append(sink)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    try:
        yield sinks[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@pytest.fixture
def pushed(site: Site, settings: Any) -> Site:
    """A site that may push to this machine, and reads the secrets that this process seals."""
    settings.TASKQ_PUSH_ALLOWED_NETWORKS = [ip_network("127.0.0.0/8")]
    site.env["TASKQ_PUSH_ALLOWED_NETWORKS"] = "127.0.0.0/8"
    site.env["SECRET_KEY"] = settings.SECRET_KEY
    return site


@pytest.fixture
def add_endpoint(pushed: Site, django_db_blocker: pytest_django.DjangoDbBlocker) -> Callable[..., None]:
    """Writes an endpoint of the namespace `demo` to the site's database."""

    def add(url: str, queue: str = "orders", **options: Any) -> None:
        with django_db_blocker.unblock(), mock.patch.dict(connection.settings_dict, NAME=str(database_of(pushed))):
            connection.close()
            save_endpoint(pool="default", namespace="demo", queue=queue, options=EndpointOptions(url=url, **options))
            connection.close()

    return add


def database_of(site: Site) -> Path:
    return Path(site.env["TASKQ_DATA_DIR"]) / "taskq.sqlite3"


def put(engine: Engine, jobs: int, queue: str = "orders") -> set[str]:
    keys = engine.queue("demo", queue)
    ids: set[str] = set()
    for first in range(0, jobs, 500):
        bodies = [str(number).encode() for number in range(first, min(jobs, first + 500))]
        ids.update(engine.run(publish(keys, bodies, PublishOptions(tries=5))).job_ids)
    return ids


def counts(engine: Engine, queue: str = "orders") -> dict[str, int]:
    found = engine.run(stats(engine.queue("demo", queue))).counts
    return {state.value: number for state, number in found.items() if number}


def test_a_pusher_that_is_killed_under_load_loses_nothing(
    pushed: Site, add_endpoint: AddEndpoint, start: Start
) -> None:
    engine = pushed.engine()
    keys = engine.queue("demo", "orders")
    with receiver() as sink:
        ids = put(engine, JOBS)
        add_endpoint(sink.url, concurrency=50)
        first = start("runpusher")
        wait_until(lambda: len(sink.received) > 200, or_fail="nothing was delivered", timeout_s=30)
        first.kill()
        first.wait()
        left = counts(engine)
        assert left, "it was killed before all was delivered"
        while counts(engine).get("working"):  # the leases of the killed one are over
            engine.run(reclaim_ended(engine.layout, now_ms=engine.run(stats(keys)).now_ms + 60_000))
        assert counts(engine) == {"ready": sum(left.values())}
        start("runpusher")

        wait_until(lambda: counts(engine) == {}, or_fail="jobs are left", timeout_s=30)
        wait_until(lambda: {one.headers["webhook-id"] for one in list(sink.received)} == ids, or_fail="jobs are lost")


def test_sigterm_drains_and_gives_back_what_takes_too_long(
    pushed: Site, add_endpoint: AddEndpoint, start: Start
) -> None:
    engine = pushed.engine()
    with receiver(never) as sink:
        put(engine, 3)
        add_endpoint(sink.url, concurrency=2)
        process = start("runpusher", "--drain=0.2")
        wait_until(lambda: sink.under_way == 2, or_fail="nothing was delivered", timeout_s=30)
        assert counts(engine) == {"ready": 1, "working": 2}

        process.send_signal(signal.SIGTERM)

        _, errors = process.communicate(timeout=20)
        assert process.returncode == 0
        assert "Traceback" not in errors
        assert counts(engine) == {"ready": 3}


def test_the_second_signal_ends_it_at_once(pushed: Site, add_endpoint: AddEndpoint, start: Start) -> None:
    engine = pushed.engine()
    with receiver(never) as sink:
        put(engine, 1)
        add_endpoint(sink.url)
        process = start("runpusher", "--drain=600")
        wait_until(lambda: sink.under_way == 1, or_fail="nothing was delivered", timeout_s=30)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        while "push.draining" not in (line := process.stderr.readline()):
            assert line, "it ended"

        process.send_signal(signal.SIGTERM)

        assert process.wait(timeout=10) == 1


def test_it_says_that_it_lives(pushed: Site, start: Start, tmp_path: Path) -> None:
    engine = pushed.engine()
    heartbeat = tmp_path / "beat"
    start("runpusher", f"--heartbeat={heartbeat}")

    wait_until(heartbeat.exists, or_fail="no heartbeat", timeout_s=30)

    (beat,) = wait_until(lambda: engine.run(list_pushers()), or_fail="no heartbeat in Redis")
    assert (beat.endpoints, dict(beat.queues)) == (0, {})


def test_it_goes_on_while_the_database_is_away(pushed: Site, add_endpoint: AddEndpoint, start: Start) -> None:
    engine = pushed.engine()
    with receiver() as sink:
        put(engine, 1)
        add_endpoint(sink.url)
        start("runpusher")
        wait_until(lambda: counts(engine) == {}, or_fail="nothing was delivered", timeout_s=30)
        database = sqlite3.connect(database_of(pushed))
        database.execute("ALTER TABLE queues_pushendpoint RENAME TO away")
        database.commit()
        put(engine, 100)
        wait_until(lambda: counts(engine) == {}, or_fail="it stopped with the database")
        database.close()


def test_a_file_of_authorities_that_cannot_be_read_is_named(pushed: Site, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    for path in (tmp_path / "missing.pem", tmp_path / "empty.pem"):
        done = run_manage("runpusher", env=pushed.env | {"TASKQ_PUSH_CA_FILE": str(path)})

        assert done.returncode == 1
        assert f"TASKQ_PUSH_CA_FILE {path}: " in done.stderr
        assert "Traceback" not in done.stderr


@in_one_test("value", ["-1", "x", "nan", "99999"])
def test_what_drain_cannot_be_is_refused(value: str) -> None:
    with pytest.raises(CommandError, match="expected seconds"):
        call_command("runpusher", f"--drain={value}")
