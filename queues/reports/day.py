"""The report of one day."""

from __future__ import annotations

import time
import zlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from queues.lake.appended import read_appended
from queues.lake.counts import NewestCounts, newest_counts
from queues.lake.damage import find_damaged
from queues.lake.deletion import find_deletion
from queues.lake.files import DamagedFile, DayFiles, Gap, LakeFile, list_days, read_day
from queues.lake.local_days import LocalDay
from queues.lake.reconciliation import balance_day, describe_difference
from queues.lake.storage import LakeError, Storage
from queues.spark_settings import is_local

from . import schema
from .day_tables import DayTables, WrittenTables
from .events import path_in_lake, read_events, rows_by_file
from .failures import RowsMissingError, first_words, may_be_damage, unreadable_file
from .history import Output
from .hour_cells import CellFiles, run_of
from .java_process import java_is_alive, java_times
from .local_tables import LocalTables, local_pools_with_gaps
from .progress import Progress, Stage, say
from .reduction import DayCells
from .seals import executors_check
from .session import fit_partitions
from .warning_texts import damage_text, gap_text

RETRIES = 10
"""How often a day begins again without files that turned out to be damaged, or with a new list of files. Damaged files
are found all at once, but those that only Spark cannot read one at a time."""


class DayReport:
    """Computes and writes the tables of a day; a file that is damaged is left out and named."""

    def __init__(
        self,
        spark: SparkSession,
        *,
        lake: str,
        output: Output,
        day: date,
        holidays: Collection[date] = frozenset(),
        today: date | None = None,
        local_days: Sequence[LocalDay] = (),
    ) -> None:
        """`today`: when the command began, in UTC; None: now. A day that ends while it is computed is not complete: its
        last events are still on their way into the lake. `local_days`: days of time zones that end in this one, or have
        begun in it if it is today."""
        self._spark, self._output, self._day, self._holidays = spark, output, day, holidays
        self._lake = Storage(lake).url("")  # as the names of its files begin
        self._progress = Progress(day)
        self._damaged: dict[str, DamagedFile] = {}
        self._is_complete = day < (today or datetime.now(UTC).date())
        self._pools_with_gaps: set[str] = set()
        self._counts: list[NewestCounts] = []
        self._damaged_counts: list[tuple[str, str]] = []
        self._remarks: list[str] = []
        self._live: list[LakeFile] = []
        self._local_days = local_days
        self._is_local = False
        before = _day_before(day)
        self._cells, self._cells_before, self._cells_earlier = (
            DayCells(spark, CellFiles(output.storage, when), lake=self._lake)
            for when in (day, before, _day_before(before))
        )

    def run(self, *, master: str) -> dict[str, Any]:
        """The summary, which has been written. Raises LakeError, and what Spark raises."""
        self._is_local = is_local(master)
        begun = time.monotonic()
        up_s = java_times(self._spark).get("up", 0.0)
        for turn in range(RETRIES + 1):
            self._progress.tell(Stage.LISTING, message="looking which files of the lake count")
            lake_days = self._lake_days()
            self._leave_out_local_days()
            files = read_day(self._lake, self._day, check_seals=executors_check(self._spark, master=master))
            self._pools_with_gaps = {gap.pool for gap in files.gaps}
            self._live = self._readable(files.live)
            self._counts, self._damaged_counts = newest_counts(Storage(self._lake), self._day, written=files.written)
            before = read_day(
                self._lake, _day_before(self._day), check_seals=executors_check(self._spark, master=master)
            )
            earlier = self._readable(before.live)
            day_files = [files, before, *self._look_earlier(master)]
            left_out = self._damaged.values()
            run_id = f"{self._output.run_id}-{turn}"
            try:
                self._cells.look(files, self._live, left_out)
                self._cells_before.look(before, earlier, left_out)
                self._reduce(run_id)
                done = self._write_tables()
                gaps = [gap for one in day_files for gap in one.gaps]
                handed_on = done.handed_on + self._write_local_days(run_id, gaps, begins_known=done.opening.is_known)
                break
            except Exception as error:
                readable = [file for one in day_files for file in self._readable(one.live)]
                if turn == RETRIES or not self._can_go_on(error, readable):
                    raise
                self._output.forget(self._day)
            finally:
                for cells in (self._cells, self._cells_before):
                    cells.files.forget(run_id)
        # What compaction has taken was not damaged after all.
        listed = {file.url for one in day_files for file in one.live}
        self._damaged = {url: file for url, file in self._damaged.items() if url in listed}
        summary = self._summary(files, done, master, lake_days)
        summary |= {"handed_on": handed_on, "took_s": round(time.monotonic() - begun, 3)}
        java = java_times(self._spark)
        seconds = {Stage.STARTING: up_s, **self._progress.seconds}  # of the process, and of this day
        summary |= {"seconds": seconds, "java": java}
        self._output.write_summary(self._day, summary)
        with suppress(LakeError, OSError):
            self._cells.files.remove_stale()
        self._progress.finish(f"{done.totals.events:,} events in {summary['took_s']:.1f} s")
        return summary

    def _lake_days(self) -> list[date]:
        """Raises LakeError also if this day was deleted, and if there are none: it is not the lake that was meant, or
        not there just now."""
        if deletion := find_deletion(Storage(self._lake), self._day):
            raise LakeError(str(deletion))
        days = list_days(self._lake)
        if not days:
            raise LakeError(f"{self._lake}: this lake has no events of any day; is it the one that runpump writes to?")
        return days

    def _readable(self, files: Sequence[LakeFile]) -> list[LakeFile]:
        return [file for file in files if file.url not in self._damaged]

    def _can_go_on(self, error: Exception, files: Sequence[LakeFile]) -> bool:
        """Whether `error` is about files of the lake, or cells, that another turn can do without."""
        named = unreadable_file(error)
        if named is not None and (run_id := run_of(named)) is not None:
            return self._distrust_cells(run_id)
        if named is None and not may_be_damage(error, java_alive=java_is_alive(error)):
            return False
        return self._leave_out(error, named, files) or self._distrust_cells()

    def _leave_out(self, error: Exception, named: str | None, files: Sequence[LakeFile]) -> bool:
        """Whether files of the lake are damaged: then they are left out from now on."""
        found = find_damaged(files)
        if not found and named is not None:
            reason = first_words(str(error))
            found = [DamagedFile(file.url, reason, file.rows) for file in files if path_in_lake(file.url) in named]
        if not found and isinstance(error, RowsMissingError):
            found = self._with_other_rows(files)
        self._damaged |= {file.url: file for file in found}
        return bool(found)

    def _distrust_cells(self, run_id: str = "") -> bool:
        """Whether there were cells of earlier runs, or of that run, which are not used from now on."""
        found = False
        for cells in (self._cells, self._cells_before, self._cells_earlier):
            for used in cells.by_run:
                if used == run_id or not (run_id or used.startswith(f"{self._output.run_id}-")):
                    cells.files.distrust(used)
                    found = True
        return found

    def _with_other_rows(self, files: Sequence[LakeFile]) -> list[DamagedFile]:
        """Files of which Spark does not read as many events as their footers say."""
        read = rows_by_file(read_events(self._spark, lake=self._lake, files=files))
        counts = [(file, read.get(path_in_lake(file.url), 0)) for file in files]
        return [
            DamagedFile(file.url, f"is damaged: Spark reads {count:,} events of it", file.rows)
            for file, count in counts
            if count != file.rows
        ]

    def _reduce(self, run_id: str) -> None:
        """Make cells of the hours that have none. The first report of a day that is not over does so with the last
        hours of the day before as well, so that its nightly report need not."""
        fit_partitions(self._spark, data_bytes=sum(file.size for file in self._live))
        missing = self._cells.missing
        with self._stage(Stage.COUNTING, f"counting the events of {len(missing)} of {len(self._live)} files"):
            self._cells.begin(run_id)
            if not self._cells.can_wait:
                self._cells.finish()
            if not self._is_complete:
                self._cells_before.reduce(run_id)
            if self._cells.distrust_runs_without_slow_jobs():
                self._cells.reduce(f"{run_id}-again")

    def _write_tables(self) -> WrittenTables:
        tables = DayTables(
            self._spark,
            lake=self._lake,
            output=self._output,
            day=self._day,
            holidays=self._holidays,
            cells=self._cells,
            cells_before=self._cells_before,
            is_complete=self._is_complete,
            is_local=self._is_local,
        )
        return tables.write(self._progress, noted=self._counts, pools_with_gaps=self._pools_with_gaps)

    def _leave_out_local_days(self) -> None:
        """Those that began on a day before this one that was deleted from the lake. Raises LakeError."""
        before = _day_before(self._day)
        began = [one for one in self._local_days if before in one.utc_days]
        if began and (deletion := find_deletion(Storage(self._lake), before)):
            self._local_days = [one for one in self._local_days if one not in began]
            self._remarks.append(f"days of time zones that began on {before} were not computed: {deletion}")

    def _look_earlier(self, master: str) -> list[DayFiles]:
        """The day before the day before: leases may have been lost in it on the local day before. Raises LakeError."""
        day = _day_before(_day_before(self._day))
        if not self._local_days or find_deletion(Storage(self._lake), day):
            return []
        files = read_day(self._lake, day, check_seals=executors_check(self._spark, master=master))
        self._cells_earlier.look(files, self._readable(files.live), self._damaged.values())
        return [files]

    def _write_local_days(self, run_id: str, gaps: Sequence[Gap], *, begins_known: bool) -> str:
        """What is handed on besides: a digest of the hours that local days may be made of; "" if there are none."""
        if not self._local_days:
            return ""
        cells = {
            when: one
            for back, one in enumerate((self._cells, self._cells_before, self._cells_earlier))
            for when in [self._day - timedelta(days=back)]
        }
        with self._stage(Stage.WRITING, "writing the days of time zones"):
            self._cells_before.reduce(run_id)
            for local in self._local_days:
                tables = LocalTables(
                    self._spark,
                    local,
                    lake=self._lake,
                    output=self._output,
                    day=self._day,
                    cells=cells,
                    holidays=self._holidays,
                    is_local=self._is_local,
                )
                tables.write(begins_known=begins_known, pools_with_gaps=local_pools_with_gaps(local, gaps))
        hours = [one.fingerprint for when in (self._cells, self._cells_before) for _, one in sorted(when.hours.items())]
        return f":{zlib.crc32(','.join(hours).encode()):08x}"

    def _stage(self, stage: Stage, message: str) -> Any:
        return self._progress.stage(stage, self._spark, message)

    def _summary(self, files: DayFiles, done: WrittenTables, master: str, lake_days: Sequence[date]) -> dict[str, Any]:
        corrupt = [*files.corrupt, *self._damaged.values()]
        gaps = [
            {"pool": gap.pool, "partition": gap.partition, "dropped": gap.dropped}
            | {"from_ms": gap.from_ms, "until_ms": gap.until_ms}
            for gap in files.gaps
        ]
        warnings = [{"kind": "corrupt", "text": damage_text(file)} for file in corrupt]
        warnings += [{"kind": "gap", "text": gap_text(gap)} for gap in gaps]
        warnings += [
            {"kind": "other", "text": f"counts of jobs: {url} was left out: {reason}"}
            for url, reason in self._damaged_counts
        ]
        warnings += [{"kind": "other", "text": text} for text in self._remarks]
        if done.opening.differences:
            warnings.append({"kind": "backlog", "text": done.opening.differences})
        predecessor = done.opening.report
        balances, remarks = self._reconcile(corrupt, files.gaps)
        warnings += remarks
        if not done.totals.events:
            where = f"there are no events of it in {self._lake}, which has days from {lake_days[0]} to {lake_days[-1]}"
            warnings.append({"kind": "other", "text": f"nothing happened on this day: {where}"})
        for warning in warnings:
            say(warning=warning["text"], kind=warning["kind"], date=self._day.isoformat())
        return {
            "date": self._day.isoformat(),
            "run": self._output.run_id,
            schema.VERSION_KEY: schema.VERSION,
            "events": done.totals.events,
            "events_by_kind": done.totals.by_kind,
            "files": len(self._live),
            "lake_rows": files.rows,
            "hours": {
                hour: {"fingerprint": one.fingerprint, "run": one.run_id, "events": one.events}
                for hour, one in sorted(self._cells.hours.items())
            },
            "predecessor": None if predecessor is None else asdict(predecessor),
            "local": [one.as_dict() for one in self._local_days],
            "bytes": sum(file.size for file in self._live),
            "corrupt": [{"file": file.url, "reason": file.reason, "rows": file.rows} for file in corrupt],
            "gaps": gaps,
            "reconciliation": balances,
            "warnings": warnings,
            "spark": self._spark.version,
            "master": master,
            "complete": self._is_complete,
            "demo": done.totals.demo,
            "last_at_ms": done.totals.last_at_ms,
        }

    def _reconcile(
        self, damaged: Sequence[DamagedFile], gaps: Sequence[Gap]
    ) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
        """The day's events beside Redis's own counts, once the day is over; and warnings of where they differ."""
        if not self._is_complete:
            return [], []
        lake = Storage(self._lake)
        try:
            appended = read_appended(lake, self._day)
            found = balance_day(lake, self._day, appended=appended.events, live=self._live, damaged=damaged, gaps=gaps)
        except LakeError as error:
            return [], [{"kind": "other", "text": f"events were not held against Redis's own counts: {error}"}]
        warnings = [
            {"kind": "other", "text": f"Redis's own count of events: {url} was left out: {reason}"}
            for url, reason in appended.damaged
        ]
        warnings += [
            {"kind": "missing" if one.difference > 0 else "surplus", "text": describe_difference(one)}
            for one in found
            if one.difference
        ]
        return [one.as_dict() for one in found], warnings


def _day_before(day: date) -> date:
    return day - timedelta(days=1)
