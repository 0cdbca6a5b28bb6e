"""How many jobs a second one `runpusher` posts, to a receiver on the same machine that answers at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .processes import running, wait_for
from .report import Bar, Figure, Section
from .servers import MANAGE, Service, running_service
from .settings import Settings
from .tools import VoidRunError

JOBS = 40_000
CONCURRENCY = 64
ALLOWED = {"TASKQ_PUSH_ALLOWED_NETWORKS": "127.0.0.0/8"}


@contextmanager
def pushing(service: Service) -> Iterator[None]:
    """A pusher beside the block."""
    with tempfile.TemporaryDirectory() as folder:
        heartbeat = Path(folder) / "beat"
        command = [sys.executable, MANAGE, "runpusher", f"--heartbeat={heartbeat}", "--drain=1"]
        with running(command, env=service.environment | ALLOWED):
            wait_for(heartbeat.exists, "the pusher")
            yield


def deliver(service: Service, sink: subprocess.Popen[str], port: str, queue: str, jobs: int) -> float:
    """Deliveries a second. The jobs are there before the endpoint is."""
    client = service.client()
    client.fill(queue, jobs)
    assert sink.stdin is not None
    assert sink.stdout is not None
    sink.stdin.write(f"{jobs}\n")
    sink.stdin.flush()
    endpoint = {"url": f"http://127.0.0.1:{port}/hook", "concurrency": CONCURRENCY}
    status, reply = client.call("PUT", f"{queue}/push", json.dumps(endpoint).encode())
    if status != 201:
        raise VoidRunError(f"no endpoint: {status} {reply}")
    seconds, different = sink.stdout.readline().split()
    wait_for(lambda: not any(client.counts(queue)[state] for state in ("ready", "working", "retry")), "the last acks")
    if int(different) != jobs:
        raise VoidRunError(f"{different} of {jobs} jobs came in {jobs} requests")
    return jobs / float(seconds)


def measure(settings: Settings) -> Section:
    """Web server, pusher, receiver and Redis share the machine."""
    jobs = settings.scaled(JOBS)
    receiver = [sys.executable, "-m", "bench.push_sink"]
    with (
        running_service(env=os.environ | ALLOWED) as service,
        pushing(service),
        running(receiver, pipes=True) as sink,
    ):
        assert sink.stdout is not None
        port = sink.stdout.readline().strip()
        runs = [deliver(service, sink, port, f"pushed-{number}", jobs) for number in range(settings.runs)]
    return Section(
        title=f"{jobs:,} jobs of 100 bytes posted by one pusher, {CONCURRENCY} at once",
        figures=[Figure(name="deliveries", unit="jobs/s", runs=runs, bar=Bar(sense="≥", value=2_000))],
    )
