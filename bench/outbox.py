"""The outbox: how soon after its commit a row is a job, and how many rows a second one relay publishes.

On SQLite, or on the empty database that BENCH_DATABASE_URL names (postgres://...).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from queues.embedded import EmbeddedRedis
from queues.engine import Engine, JobState, list_jobs, open_engine
from queues.engine.names import published_ms

from .processes import ROOT, running, wait_for
from .report import Bar, Figure, Section, percentile
from .settings import Settings
from .tools import VoidRunError

ROWS = 400
INTERVAL_S = 0.005
BACKLOG = 20_000
POSTGRESQL_BARS = {"p99": Bar(sense="≤", value=50)}
"""SQLite tells of no new row, so it has none."""

COMMAND = (sys.executable, "-m", "django", "runoutbox", "--poll", "0.02")


class Writer:
    """The business: writes rows by plain SQL."""

    def __init__(self, url: str) -> None:
        self._mark = "?"
        self._connection: Any
        if url.startswith("sqlite"):
            self._connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=10)
            self._connection.execute("PRAGMA journal_mode=WAL")
        else:
            import psycopg

            self._connection = psycopg.connect(url)
            self._mark = "%s"

    def write(self, queue: str, bodies: range) -> float:
        """Rows in one transaction, whose bodies are the numbers; when it began to commit."""
        cursor = self._connection.cursor()
        statement = f"INSERT INTO taskq_outbox (queue, body) VALUES ({self._mark}, {self._mark})"
        cursor.executemany(statement, [(queue, b"%d" % number) for number in bodies])
        began = time.time()
        self._connection.commit()
        return began

    def count(self) -> int:
        """Rows that are left."""
        (number,) = self._connection.execute("SELECT COUNT(*) FROM taskq_outbox").fetchone()
        self._connection.rollback()
        return int(number)

    def close(self) -> None:
        self._connection.close()


def published(engine: Engine, queue: str) -> dict[int, int]:
    """The number in each job, and when it was published, in ms."""
    keys, after, found = engine.queue("bench", queue), None, {}
    while True:
        page = engine.run(list_jobs(keys, JobState.READY, after=after, limit=1_000))
        found.update({int(job.body): published_ms(job.job_id) for job in page.jobs})
        if page.after is None:
            return found
        after = page.after


def latencies_ms(engine: Engine, writer: Writer, environment: Mapping[str, str], run: int) -> list[float]:
    """For each row, ms from the beginning of its commit until its job was in Redis; both clocks are this machine's."""
    queue = f"latency{run}"
    with running(COMMAND, env=environment):
        writer.write("first", range(1))
        wait_for(lambda: writer.count() == 0, "the relay starts")
        committed = []
        for number in range(ROWS):
            committed.append(writer.write(queue, range(number, number + 1)))
            time.sleep(INTERVAL_S)
        wait_for(lambda: writer.count() == 0, "the relay publishes all rows")
    found = published(engine, queue)
    if len(found) != ROWS:
        raise VoidRunError(f"{ROWS} rows were written and {len(found)} jobs published")
    return [found[number] - 1000 * committed[number] for number in range(ROWS)]


def rows_per_second(engine: Engine, writer: Writer, environment: Mapping[str, str], run: int, backlog: int) -> float:
    """Rows ÷ time from the first job to the last, of a relay that finds a backlog."""
    queue = f"backlog{run}"
    for first in range(0, backlog, 1_000):
        writer.write(queue, range(first, min(backlog, first + 1_000)))
    subprocess.run([*COMMAND, "--once"], env=environment, cwd=ROOT, check=True, capture_output=True)
    found = published(engine, queue)
    if len(found) != backlog or list(found) != list(range(backlog)):
        raise VoidRunError(f"{backlog} rows were written and {len(found)} jobs published, or not in order")
    times = list(found.values())
    return backlog / max(0.001, (times[-1] - times[0]) / 1000)


@contextlib.contextmanager
def project() -> Iterator[tuple[Engine, Writer, dict[str, str], bool]]:
    """Engine, writer, the environment of relays, and whether the database is PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="taskq-bench-") as folder:
        url = os.environ.get("BENCH_DATABASE_URL") or f"sqlite:///{Path(folder) / 'db.sqlite3'}"
        with EmbeddedRedis(Path(folder), persistent=False) as store:
            environment = {
                **os.environ,
                "BENCH_DATABASE_URL": url,
                "BENCH_REDIS_URL": store.url,
                "DJANGO_SETTINGS_MODULE": "bench.outbox_settings",
                "PYTHONPATH": str(ROOT),
            }
            migrate = [sys.executable, "-m", "django", "migrate", "--verbosity=0"]
            subprocess.run(migrate, env=environment, cwd=ROOT, check=True)
            with contextlib.closing(open_engine(store.url)) as engine, contextlib.closing(Writer(url)) as writer:
                yield engine, writer, environment, not url.startswith("sqlite")


def measure(settings: Settings) -> Section:
    """One relay as a process, a Redis without persistence, rows by plain SQL."""
    backlog = settings.scaled(BACKLOG)
    with project() as (engine, writer, environment, is_postgresql):
        latencies = [latencies_ms(engine, writer, environment, run) for run in range(settings.runs)]
        rates = [rows_per_second(engine, writer, environment, run, backlog) for run in range(settings.runs)]
    bars = POSTGRESQL_BARS if is_postgresql else {}
    return Section(
        title=f"The outbox on {'PostgreSQL' if is_postgresql else 'SQLite, looked at every 20 ms'}",
        figures=[
            *[
                Figure(
                    name=f"commit → job in Redis, {ROWS} rows 5 ms apart, p{share}",
                    unit="ms",
                    runs=[percentile(one, share) for one in latencies],
                    bar=bars.get(f"p{share}"),
                )
                for share in (50, 99)
            ],
            Figure(name=f"rows of a backlog of {backlog:,}, one queue", unit="rows/s", runs=rates),
        ],
    )
