"""Synchronous calls over HTTP: what a publish with `wait=` takes beyond the handler of its consumer."""

from __future__ import annotations

import threading
import time

from .report import Bar, Figure, Section, percentile
from .servers import Service, running_service
from .settings import Settings
from .tools import VoidRunError

CALLS = 300
HANDLER_S = 0.005


def overheads_ms(service: Service, queue: str, calls: int) -> list[float]:
    """For each call, ms from request to reply less the time that the consumer took for its job."""
    handled: dict[str, float] = {}

    def consume() -> None:
        client = service.client()
        for _ in range(calls):
            status, job = client.call("GET", f"{queue}?timeout=10&ttr=30")
            if status != 200:
                return
            began = time.perf_counter()
            time.sleep(HANDLER_S)
            handled[job["job_id"]] = time.perf_counter() - began
            client.call("DELETE", f"{queue}/job/{job['job_id']}", b"42")

    consumer = threading.Thread(target=consume)
    consumer.start()
    caller = service.client()
    overheads = []
    for _ in range(calls):
        began = time.perf_counter()
        status, reply = caller.call("PUT", f"{queue}?wait=10", b"6*7")
        took = time.perf_counter() - began
        if status != 200 or reply["result"] != "NDI=":
            raise VoidRunError(f"a call was answered {status} {reply}")
        overheads.append(1000 * (took - handled[reply["job_id"]]))
    consumer.join()
    return overheads


def measure(settings: Settings) -> Section:
    """All runs on one service, one caller and one consumer that waits."""
    calls = settings.scaled(CALLS)
    with running_service() as service:
        measured = [overheads_ms(service, f"calls{run}", calls) for run in range(settings.runs)]
    return Section(
        title=f"Synchronous calls over HTTP, {calls} of them, one consumer, handler {1000 * HANDLER_S:g} ms",
        figures=[
            Figure(
                name="reply beyond the handler, p50",
                unit="ms",
                runs=[percentile(one, 50) for one in measured],
                bar=Bar(sense="≤", value=3),
            ),
            Figure(name="reply beyond the handler, p99", unit="ms", runs=[percentile(one, 99) for one in measured]),
        ],
    )
