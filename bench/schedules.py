"""How fast schedules fire when thousands are due at once: the decisions in SQLite, the jobs into Redis."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from .processes import ROOT
from .report import Bar, Figure, Section
from .settings import Settings
from .stores import fresh_engine
from .tools import VoidRunError

SCHEDULES = 10_000
DUE_WITHIN_S = 60
"""All of them have to be fired within the minute in which they are due."""

TIMEOUT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Fires a second while all are due at once; how long a look at the database takes while none is."""

    per_second: float
    look_ms: float


def fire_all(schedules: int) -> Run:
    """In a process of its own, with a database and a Redis of its own."""
    with fresh_engine() as engine, tempfile.TemporaryDirectory() as folder:
        url = f"unix://{engine.client.connection_pool.connection_kwargs['path']}"
        done = subprocess.run(
            [sys.executable, "-m", "bench.schedules_process", str(schedules)],
            cwd=ROOT,
            env={**os.environ, "TASKQ_DATA_DIR": folder, "REDIS_URL": url, "DATABASE_URL": ""},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise VoidRunError(f"the schedules were not fired: {done.stderr[-500:]}")
        fired, seconds, look_ms = done.stdout.split()
        if int(fired) != schedules:
            raise VoidRunError(f"{fired} of {schedules} schedules were fired")
        return Run(per_second=schedules / float(seconds), look_ms=float(look_ms))


def measure(settings: Settings) -> Section:
    """One process; Redis and SQLite share the machine with nothing else."""
    schedules = settings.scaled(SCHEDULES)
    runs = [fire_all(schedules) for _ in range(settings.runs)]
    return Section(
        title=f"{schedules:,} schedules that are due at the same moment",
        figures=[
            Figure(
                name="schedules fired by one process",
                unit="fires/s",
                runs=[run.per_second for run in runs],
                bar=Bar(sense="≥", value=round(SCHEDULES / DUE_WITHIN_S)),
            ),
            Figure(name="a look while none is due", unit="ms", runs=[run.look_ms for run in runs]),
        ],
    )
