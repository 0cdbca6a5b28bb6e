"""Many jobs due at the same instant: how long the service's pump takes to make the last of them ready."""

from __future__ import annotations

import math
import time

from .report import Bar, Figure, Section
from .servers import running_service
from .settings import Settings
from .tools import VoidRunError
from .wire import Wire

JOBS = 50_000
LEAD_S = 4
"""How long before they are due the first job is published."""
LOOK_INTERVAL_S = 0.005
TIMEOUT_S = 60.0


def jobs_per_second() -> float:
    """Jobs ÷ time from the due instant until all are ready. Nobody consumes, so only the pump moves them."""
    with running_service() as service:
        due_s = math.ceil(time.time()) + LEAD_S
        service.client().fill("due", JOBS, f"tries=3&at={due_s}")
        if time.time() > due_s:
            raise VoidRunError(f"publishing {JOBS:,} jobs took longer than {LEAD_S} s")
        watcher = Wire(service)
        if watcher.call("GET", "due/size")[1]["size"]:
            raise VoidRunError("jobs were ready before they were due")
        time.sleep(due_s - time.time())
        while (ready := watcher.call("GET", "due/size")[1]["size"]) < JOBS:
            if time.time() > due_s + TIMEOUT_S:
                raise VoidRunError(f"{ready:,} of {JOBS:,} jobs were ready after {TIMEOUT_S:g} s")
            time.sleep(LOOK_INTERVAL_S)
        return JOBS / (time.time() - due_s)


def measure(settings: Settings) -> Section:
    """Through the whole service: published in bulk with the same `at`, watched by asking for the queue's size."""
    return Section(
        title=f"{JOBS:,} jobs of one queue due at the same instant, moved by the pump",
        figures=[
            Figure(
                name="jobs ÷ time from due until the last is ready",
                unit="jobs/s",
                runs=[jobs_per_second() for _ in range(settings.runs)],
                bar=Bar(sense="≥", value=30_000),
            )
        ],
    )
