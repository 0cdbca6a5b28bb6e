"""How far Spark is with its tasks: as its own process says it, or the server of Spark Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

TaskCount = Callable[[], tuple[int, int]]


@contextmanager
def count_tasks(spark: SparkSession) -> Iterator[TaskCount]:
    """A function: how many tasks have ended, and of how many, in all stages that ran while the block lasted."""
    seen: dict[int, tuple[int, int]] = {}

    def total() -> tuple[int, int]:
        counts = [*seen.values()]
        return sum(done for done, _ in counts), sum(of for _, of in counts)

    if not is_remote():
        tracker = spark.sparkContext.statusTracker()

        def look() -> tuple[int, int]:
            for number in tracker.getActiveStageIds():
                info = tracker.getStageInfo(number)
                if info is not None:
                    seen[number] = (info.numCompletedTasks, info.numTasks)
            return total()

        yield look
        return

    def note(*, stages: Iterable[Any] | None, **_others: Any) -> None:
        for stage in stages or ():
            seen[stage.stage_id] = (stage.num_completed_tasks, stage.num_tasks)

    handlers: Any = spark
    handlers.registerProgressHandler(note)
    try:
        yield total
    finally:
        handlers.removeProgressHandler(note)
