"""How late a delayed job reaches a consumer that waits for it, over HTTP: 200 jobs with a delay of one second."""

from __future__ import annotations

import threading
import time

from .report import Bar, Figure, Section, percentile
from .servers import Service, running_service
from .settings import Settings
from .tools import VoidRunError

JOBS = 200
DELAY_MS = 1_000
PUBLISH_INTERVAL_S = 0.02


def lateness_ms(service: Service) -> list[float]:
    """For each job, ms between its due time and its delivery, both by the Redis server's clock."""
    published_ids: set[str] = set()
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
        _, published = publisher.call("PUT", f"lateness?delay={DELAY_MS // 1000}&tries=3", b"x" * 100)
        published_ids.add(published["job_id"])
        time.sleep(PUBLISH_INTERVAL_S)
    consumer.join()
    if waited_ms.keys() != published_ids:
        raise VoidRunError(f"{len(published_ids)} jobs were published and {len(waited_ms)} arrived")
    return [waited - DELAY_MS for waited in waited_ms.values()]


def measure(settings: Settings) -> Section:
    """All runs on one service."""
    with running_service() as service:
        measured = [lateness_ms(service) for _ in range(settings.runs)]
    return Section(
        title=f"Lateness, delay=1 s, one waiting consumer, {JOBS} jobs, over HTTP",
        figures=[
            Figure(
                name="p50",
                unit="ms",
                runs=[percentile(late, 50) for late in measured],
                bar=Bar(sense="≤", value=3),
            ),
            Figure(
                name="p99",
                unit="ms",
                runs=[percentile(late, 99) for late in measured],
                bar=Bar(sense="≤", value=15),
            ),
            Figure(
                name="earliest of all (the bar is for the worst run)",
                unit="ms",
                runs=[min(min(late) for late in measured)],
                bar=Bar(sense="≥", value=0),
            ),
        ],
    )
