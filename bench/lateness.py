"""How late a delayed job reaches a consumer that waits for it, over HTTP: 200 jobs with delays around one second."""

from __future__ import annotations

import random
import threading
import time

from .report import Figure, percentile, show
from .servers import Service, running_service

JOBS = 200
PUBLISH_INTERVAL_S = 0.02


def lateness_ms(service: Service) -> list[float]:
    """For each job, ms between its due time and its hand-out, both by the Redis server's clock."""
    asked_ms: dict[str, int] = {}
    waited_ms: dict[str, int] = {}

    def consume() -> None:
        client = service.client()
        while len(waited_ms) < JOBS:
            status, job = client.call("GET", "lateness?timeout=5&ttr=30")
            if status != 200:
                return
            waited_ms[job["job_id"]] = job["elapsed_ms"]
            client.call("DELETE", f"lateness/job/{job['job_id']}")

    consumer = threading.Thread(target=consume)
    consumer.start()
    publisher = service.client()
    for _ in range(JOBS):
        delay_ms = random.randint(900, 1_100)
        _, published = publisher.call("PUT", f"lateness?delay={delay_ms / 1000}&tries=3", b"x" * 100)
        asked_ms[published["job_id"]] = delay_ms
        time.sleep(PUBLISH_INTERVAL_S)
    consumer.join()
    return [waited_ms[job_id] - delay_ms for job_id, delay_ms in asked_ms.items()]


def run(runs: int) -> None:
    """Print the scenario."""
    with running_service() as service:
        measured = [lateness_ms(service) for _ in range(runs)]
    show(
        f"Lateness, one waiting consumer, {JOBS} jobs with delays of 0.9 to 1.1 s, over HTTP",
        [
            Figure(name="p50", unit="ms", runs=[percentile(late, 50) for late in measured]),
            Figure(name="p99", unit="ms", runs=[percentile(late, 99) for late in measured], bar="≤ 20"),
            Figure(name="earliest", unit="ms", runs=[min(late) for late in measured], bar="≥ 0, never early"),
        ],
    )
