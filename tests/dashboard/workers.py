"""Workers as they report themselves, put into Redis by the operations that workers use, and requests to their page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.test import Client

from queues.engine import Engine, read_command, worker_beat
from queues.engine.keys import worker_commands_key
from queues.engine.stats.heartbeats import RunningJob, WorkerBeat
from queues.pools.ttl_cache import forget_recent

from .people import POOL, SHOP

JOB = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
WORKER = "app-1:4711:0a1b2c3d"
JSON: Any = {"HTTP_ACCEPT": "application/json"}
EVIL = "</td><script>alert(1)</script>\u202e\x00\"'><img src=x onerror=alert(1)>"


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


def page(client: Client, query: str = "", **headers: str) -> str:
    """The page of workers, or with the header `X-Live` the part that changes."""
    forget_recent()
    answer = client.get(f"/workers/{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def tell(client: Client, act: str, *, worker: str = WORKER, namespace: str = SHOP, **more: str) -> Any:
    """Press a button of a worker."""
    form = {"act": act, "worker": worker, "confirmed": "yes"} | more
    return client.post(f"/workers/{POOL}/{namespace}/act", form, **JSON)
