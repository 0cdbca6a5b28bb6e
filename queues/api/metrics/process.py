"""The counters of this process, and how other workers come to know them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from django.conf import settings

from queues.services.pools.load import read_engine_load

from .counters import Counters
from .worker_files import Slots, Snapshot, Workers

logger = logging.getLogger(__name__)

WORKERS: Final = Workers()
_QUEUES: Final = Slots(limit=settings.TASKQ_METRICS_QUEUES, others_in_use=lambda: WORKERS.in_use("queues"))
_NAMESPACES: Final = Slots(limit=settings.TASKQ_METRICS_QUEUES, others_in_use=lambda: WORKERS.in_use("namespaces"))
COUNTERS: Final = Counters(queues=_QUEUES, namespaces=_NAMESPACES)


def count_together(directory: Path, *, is_worker: bool = True) -> None:
    """Share what is counted with the other workers of this server by files in `directory`.

    To be called in the worker (a process that is forked later would write to the same file), before its first request.
    `is_worker` False: one that counts, but is not to be counted as a worker.
    """
    WORKERS.join(directory, is_worker=is_worker)
    _QUEUES.share(directory / "queues.json")
    _NAMESPACES.share(directory / "namespaces.json")
    COUNTERS.flush_with(flush)


def take_snapshot() -> Snapshot:
    """What this process has counted up to now."""
    COUNTERS.queues.settle()
    COUNTERS.namespaces.settle()
    load = read_engine_load()
    return {
        "counts": {
            "routes": COUNTERS.routes(),
            "queues": COUNTERS.queues.counted(),
            "other_queues": COUNTERS.queues.other,
            "namespaces": COUNTERS.namespaces.counted(),
            "other_namespaces": COUNTERS.namespaces.other,
            "engines": {"batches": load.batches, "operations": load.operations},
        },
        "gauges": {"in_progress": COUNTERS.in_progress, "waiting": load.waiting, "workers": int(WORKERS.is_worker)},
        "in_use": {"queues": COUNTERS.queues.in_use(), "namespaces": COUNTERS.namespaces.in_use()},
    }


def flush() -> Snapshot:
    """Tell the other workers what is counted up to now, which is the answer.

    Where that fails it is logged once, and all goes on: requests do not depend on it.
    """
    snapshot = take_snapshot()
    try:
        _write(snapshot)
    except OSError as error:
        if not WORKERS.is_failing:
            logger.warning("counts cannot be shared", extra={"action": "metrics.share", "reason": str(error)})
        WORKERS.is_failing = True
    else:
        WORKERS.is_failing = False
    return snapshot


def _write(snapshot: Snapshot) -> None:
    """The first time also count those in that died before this one began."""
    first = not WORKERS.has_written
    WORKERS.write(snapshot)
    if first:
        labels = {"queues": COUNTERS.queues.labels(), "namespaces": COUNTERS.namespaces.labels()}
        WORKERS.merge_ended({what: {str(number) for number in given.values()} for what, given in labels.items()})
