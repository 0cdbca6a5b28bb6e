"""Workers as they say of themselves, put into Redis by the operations that workers use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queues.engine import Engine, read_command, worker_beat
from queues.engine.keys import worker_commands_key
from queues.engine.stats.workers import RunningJob, WorkerBeat

from .people import SHOP


def running(job_id: str, **fields: Any) -> RunningJob:
    """A job that a worker runs for the first time, for two hours so far, which a slow test makes no longer."""
    usual: dict[str, Any] = {"queue": "orders", "attempt": 1, "task": "shop.close_order", "run_ms": 7_200_000}
    return RunningJob(job_id=job_id, **(usual | fields))


def beat(engine: Engine, worker: str, *, running: Sequence[RunningJob] = (), **fields: Any) -> None:
    """A worker of the shop says what it does."""
    usual: dict[str, Any] = {
        "host": "app-1",
        "pid": 4711,
        "version": "0.1.0",
        "namespace": SHOP,
        "state": "running",
        "queues": {"orders": 3},
        "concurrency": 10,
        "up_ms": 3_600_000,
        "done": 1_234,
        "failed": 5,
        "cpu_percent": 42.5,
        "memory_bytes": 100 * 1024 * 1024,
    }
    engine.run(worker_beat(WorkerBeat(worker=worker, running=tuple(running), **(usual | fields)), since_ms=0))


def commands(engine: Engine, namespace: str = SHOP) -> list[tuple[str, str]]:
    """Kind and target of each command that workers of a namespace have been given."""
    found = engine.client.zrange(worker_commands_key(namespace), 0, -1)
    told = [command for command in map(read_command, found) if command is not None]
    return [(command.kind.value, command.target) for command in told]
