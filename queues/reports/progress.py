"""What a run says while it works: one JSON object a line on standard output."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from enum import StrEnum
from typing import Any, Final

from pyspark.sql import SparkSession

from .tasks import count_tasks

EVERY_S: Final = 0.5


class Stage(StrEnum):
    """Parts of the work, in order."""

    STARTING = "starting"
    LISTING = "listing"
    COUNTING = "counting"
    PERCENTILES = "percentiles"
    WRITING = "writing"
    FINISHED = "finished"


UPTO: Final = {
    Stage.STARTING: 8,
    Stage.LISTING: 10,
    Stage.COUNTING: 40,
    Stage.PERCENTILES: 65,
    Stage.WRITING: 99,
    Stage.FINISHED: 100,
}
"""Percent of the work that is done at the end of each, as measured with ten million events."""

_speaking: Final = threading.Lock()


def say(**fields: Any) -> None:
    """One line; also the errors and warnings of a run go this way."""
    line = json.dumps(fields, ensure_ascii=False, default=str)
    with _speaking:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Progress:
    """Of one day: says each stage, and within it how many of Spark's tasks are done. `seconds`: of stages so far."""

    def __init__(self, day: date) -> None:
        self._day = day
        self._said = -1
        self.seconds: dict[str, float] = {}

    def tell(self, stage: Stage, *, within: float = 0.0, message: str = "") -> None:
        """`within`: the share of the stage that is done. Says nothing that was said before."""
        stages = list(Stage)
        before = UPTO[stages[stages.index(stage) - 1]] if stage is not Stage.STARTING else 0
        done = before + int(min(within, 1.0) * (UPTO[stage] - before))
        if done > self._said or message:
            self._said = max(done, self._said)
            say(date=self._day.isoformat(), stage=stage.value, done=self._said, of=100, message=message)

    def finish(self, message: str) -> None:
        """The day is done."""
        self.tell(Stage.FINISHED, within=1.0, message=message)

    @contextmanager
    def stage(self, stage: Stage, spark: SparkSession, message: str) -> Iterator[None]:
        """For as long as the block lasts, follow the tasks that it makes Spark run."""
        self.tell(stage, message=message)
        begun = time.monotonic()
        over = threading.Event()
        follower = threading.Thread(target=self._follow, args=(stage, spark, over), daemon=True)
        follower.start()
        try:
            yield
        finally:
            over.set()
            follower.join()
            self.seconds[stage] = round(self.seconds.get(stage, 0.0) + time.monotonic() - begun, 3)

    def _follow(self, stage: Stage, spark: SparkSession, over: threading.Event) -> None:
        with suppress(Exception), count_tasks(spark) as tasks:  # Spark may end at any time; the caller reports it
            while not over.wait(EVERY_S):
                done, of = tasks()
                self.tell(stage, within=done / max(of, 1))
