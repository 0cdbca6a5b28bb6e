"""The process of bench.crowd, as the benchmark sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from .processes import running
from .servers import Service
from .tools import VoidRunError


class Crowd:
    """The process with the waiting consumers."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None, "a pipe"
        assert process.stdout is not None, "a pipe"
        self._ask: IO[str] = process.stdin
        self._answer: IO[str] = process.stdout

    def wait_ready(self) -> None:
        """Return once all requests are sent. Raises VoidRunError."""
        line = self._answer.readline().strip()
        if line != "waiting":
            raise VoidRunError(line or "the process of the waiting consumers ended")

    def answers(self) -> tuple[int, int]:
        """How many got a job, and how many something else."""
        self._ask.write("?\n")
        self._ask.flush()
        jobs, others = self._answer.readline().split()
        return int(jobs), int(others)


@contextmanager
def running_crowd(service: Service, *, waiters: int, queues: int) -> Iterator[Crowd]:
    """Start it; its connections end with the block."""
    command = [sys.executable, "-m", "bench.crowd", service.host, str(service.port), service.namespace]
    env = {**os.environ, "BENCH_TOKEN": service.token}
    with running([*command, str(waiters), str(queues)], env=env, pipes=True) as process:
        yield Crowd(process)
