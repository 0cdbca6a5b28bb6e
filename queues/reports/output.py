"""Where a run's tables go, and where those of earlier days are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from pyspark.sql import DataFrame

from queues.lake.storage import Storage

from .events import spark_url


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """`OUT/date=D/run=ID/`: a directory for each table, and summary.json, which is written last."""

    storage: Storage
    run: str

    def folder(self, day: date, run: str = "") -> str:
        """Of this run, or of another."""
        return f"date={day.isoformat()}/run={run or self.run}"

    def table_url(self, day: date, table: str, run: str = "") -> str:
        """As Spark calls it."""
        return spark_url(self.storage.url(f"{self.folder(day, run)}/{table}.parquet"))

    def write_table(self, day: date, table: str, rows: DataFrame, *order: str) -> None:
        """One file, its rows in `order`."""
        rows.repartition(1).sortWithinPartitions(*order).write.parquet(self.table_url(day, table))

    def write_summary(self, day: date, summary: Mapping[str, Any]) -> None:
        """Without it, the run does not count. Raises LakeError."""
        content = json.dumps(summary, indent=1, ensure_ascii=False).encode()
        self.storage.put(f"{self.folder(day)}/summary.json", content)

    def forget(self, day: date) -> None:
        """Delete what this run has written for a day, if anything."""
        if self.storage.list(self.folder(day)):
            self.storage.fs.rm(self.storage.path(self.folder(day)), recursive=True)

    def run_that_counts(self, day: date) -> str | None:
        """The run of the day's report: this one, if it has done that day already, or what current.json says."""
        if any(entry.name == "summary.json" for entry in self.storage.list(self.folder(day))):
            return self.run
        try:
            current = json.loads(self.storage.read(f"date={day.isoformat()}/current.json"))
            run = str(current["run"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        return run if self.storage.list(f"{self.folder(day, run)}/figures.parquet") else None
