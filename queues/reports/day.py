"""The report of one day."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from queues.lake.counts import NewestCounts, newest_counts
from queues.lake.damage import find_damaged
from queues.lake.files import DamagedFile, DayFiles, LakeFile, list_days, read_day
from queues.lake.storage import LakeError, Storage

from .events import path_in_lake, read_counts, read_events, rows_by_file
from .failures import RowsMissingError, first_words, may_be_damage, unreadable_file
from .history import Output, backlog_before, figures_of_days, past_figures
from .progress import Progress, Stage, say
from .seals import executors_check
from .session import fit_partitions, java_is_alive, plain_plans, side_by_side
from .tables.anchors import anchored_of
from .tables.cells import KEY, SCOPE, cells_of
from .tables.comparisons import DIFFERS, backlog_of, begun_of, changes_of
from .tables.errors import errors_of
from .tables.figures import BROADCAST_ROWS, figures_of, histograms_of, percentiles_of, sums_of, targets_of, wanted_cells
from .tables.single_events import duplicates_of, limits_of, lost_leases_of, notable_of, slow_of, tries_of

RETRIES = 10
"""How often a day begins again without files that turned out to be damaged, or with a new list of files. Damaged files
are found all at once, but those that only Spark cannot read one at a time."""

DIFFERENCES_SHOWN = 5
"""Queues that are named of those whose events and counts do not agree."""

FEW_ROWS = 1_000_000
"""What is computed of so many rows is so little that planning it takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a day's tables rest on."""

    events: int
    demo: bool
    by_kind: dict[str, int]


class DayReport:
    """Computes and writes the tables of a day; a file that is damaged is left out and named."""

    def __init__(self, spark: SparkSession, *, lake: str, output: Output, day: date) -> None:
        self._spark, self._output, self._day = spark, output, day
        self._lake = Storage(lake).url("")  # as the names of its files begin
        self._progress = Progress(day)
        self._damaged: dict[str, DamagedFile] = {}
        self._is_complete = False
        self._pools_with_gaps: set[str] = set()
        self._live: list[LakeFile] = []
        self._counts: list[NewestCounts] = []
        self._damaged_counts: list[tuple[str, str]] = []
        self._differences = ""

    def run(self, *, master: str) -> dict[str, Any]:
        """The summary, which has been written. Raises LakeError, and what Spark raises."""
        begun = time.monotonic()
        for turn in range(RETRIES + 1):
            self._progress.tell(Stage.LISTING, message="looking which files of the lake count")
            self._is_complete = self._day < datetime.now(UTC).date()  # now: its last events may come while we compute
            lake_days = self._lake_days()
            files = read_day(self._lake, self._day, check_seals=executors_check(self._spark, master=master))
            self._pools_with_gaps = {gap.pool for gap in files.gaps}
            live = self._live = self._readable(files.live)
            self._counts, self._damaged_counts = newest_counts(Storage(self._lake), self._day)
            before = read_day(
                self._lake, self._day - timedelta(days=1), check_seals=executors_check(self._spark, master=master)
            )
            earlier = self._readable(before.live)
            try:
                done = self._write_tables(live, earlier)
                break
            except Exception as error:
                if turn == RETRIES or not self._leave_out(error, [*live, *earlier]):
                    raise
                self._output.forget(self._day)
        # What compaction has taken was not damaged after all.
        listed = {file.url for file in (*files.live, *before.live)}
        self._damaged = {url: file for url, file in self._damaged.items() if url in listed}
        summary = self._summary(files, live, done, master, lake_days) | {"took_s": round(time.monotonic() - begun, 3)}
        self._output.write_summary(self._day, summary)
        self._progress.finish(f"{done.events:,} events in {summary['took_s']:.1f} s")
        return summary

    def _lake_days(self) -> list[date]:
        """Raises LakeError also if there are none: it is not the lake that was meant, or not there just now."""
        days = list_days(self._lake)
        if not days:
            raise LakeError(f"{self._lake}: this lake has no events of any day; is it the one that runpump writes to?")
        return days

    def _readable(self, files: Sequence[LakeFile]) -> list[LakeFile]:
        return [file for file in files if file.url not in self._damaged]

    def _leave_out(self, error: Exception, files: Sequence[LakeFile]) -> bool:
        """Whether `error` is about files of the lake that another turn can do without."""
        named = unreadable_file(error)
        if named is None and not may_be_damage(error, java_alive=java_is_alive(error)):
            return False
        found = find_damaged(files)
        if not found and named is not None:
            reason = first_words(str(error))
            found = [DamagedFile(file.url, reason, file.rows) for file in files if path_in_lake(file.url) in named]
        if not found and isinstance(error, RowsMissingError):
            found = self._with_other_rows(files)
        self._damaged |= {file.url: file for file in found}
        return bool(found)

    def _with_other_rows(self, files: Sequence[LakeFile]) -> list[DamagedFile]:
        """Files of which Spark does not read as many events as their footers say."""
        read = rows_by_file(read_events(self._spark, lake=self._lake, files=files))
        counts = [(file, read.get(path_in_lake(file.url), 0)) for file in files]
        return [
            DamagedFile(file.url, f"is damaged: Spark reads {count:,} events of it", file.rows)
            for file, count in counts
            if count != file.rows
        ]

    def _write_tables(self, live: Sequence[LakeFile], earlier: Sequence[LakeFile]) -> Done:
        fit_partitions(self._spark, data_bytes=sum(file.size for file in live))
        events = read_events(self._spark, lake=self._lake, files=live)
        kept: list[DataFrame] = []

        def keep(rows: DataFrame) -> DataFrame:
            """As it is once the first action has computed it."""
            kept.append(rows.persist(StorageLevel.MEMORY_AND_DISK))
            return rows

        try:
            with self._stage(Stage.COUNTING, f"counting the events of {len(live)} files"):
                cells = keep(cells_of(events))
                done, number = _count(cells)
                if done.events != (rows := sum(file.rows for file in live)):
                    raise RowsMissingError(f"Spark read {done.events:,} events of files that have {rows:,}.")
            with self._stage(Stage.PERCENTILES, f"percentiles of {done.events:,} events"):
                targets = keep(targets_of(cells))
                wanted = wanted_cells(cells, targets)
                # No more than there are cells, so they are counted only where those are many.
                few = number <= BROADCAST_ROWS or keep(wanted).count() <= BROADCAST_ROWS
                percentiles = keep(percentiles_of(events, targets, wanted, few=few))
                most = max(number, percentiles.count())
            with self._stage(Stage.NOTABLE, "failures, deliveries after the first, the slowest jobs"):
                notable = keep(notable_of(events, limits_of(cells)))
                before = read_events(self._spark, lake=self._lake, files=earlier)
                lost = keep(lost_leases_of(before).union(lost_leases_of(notable)).distinct())
                most = max(most, notable.count(), lost.count())
            plain = plain_plans(self._spark, wanted=most <= FEW_ROWS)
            with self._stage(Stage.WRITING, "writing the tables"), plain:
                self._write_rest(cells, percentiles, notable, lost)
        finally:
            for rows_ in kept:
                rows_.unpersist()
        return done

    def _write_rest(self, cells: DataFrame, percentiles: DataFrame, notable: DataFrame, lost: DataFrame) -> None:
        """Side by side: each is little data, and most of its time goes into one thread's planning."""
        side_by_side(
            self._spark,
            lambda: self._write_figures(cells, percentiles, duplicates_of(notable, lost)),
            lambda: self._write("histograms", histograms_of(cells), *SCOPE, "metric", "bucket"),
            lambda: self._write("slow", slow_of(notable), *SCOPE, "metric", "rank"),
            lambda: self._write("tries", tries_of(cells), *SCOPE, "attempt", "outcome"),
            lambda: self._write(
                "errors", errors_of(notable, lost), *SCOPE, (f.col("failed") + f.col("dead")).desc(), "pattern"
            ),
        )

    def _write_figures(self, cells: DataFrame, percentiles: DataFrame, duplicates: DataFrame) -> None:
        """And what has changed in them."""
        sums = sums_of(cells).persist()  # or each of the plan's branches that need it would compute it
        before = backlog_before(self._spark, lake=self._lake, output=self._output, day=self._day)
        anchored = self._anchored(cells, sums, before.backlog)
        begun = begun_of(sums, before.backlog, anchored, known=before.known)
        if anchored is not None:
            begun = begun.persist()
            self._differences = _differences_in(begun)
        backlog = backlog_of(sums, begun, pools_with_gaps=self._pools_with_gaps)
        self._write("figures", figures_of(sums, percentiles, duplicates, backlog), *KEY)
        begun.unpersist()
        sums.unpersist()
        today = figures_of_days(self._spark, [self._output.table_url(self._day, "figures")])
        past = past_figures(self._spark, output=self._output, day=self._day)
        changes = changes_of(today, past, complete=self._is_complete)
        self._write("changes", changes, *SCOPE, "figure")

    def _anchored(self, cells: DataFrame, sums: DataFrame, before: DataFrame) -> DataFrame | None:
        """What queues began the day with by Redis's own counts; None: none were noted on this day."""
        if not self._counts:
            return None
        hours = {f"/hour={hour:02d}/" for counts in self._counts for hour in counts.hours}
        files = [file for file in self._live if any(hour in file.url for hour in hours)]
        events = read_events(self._spark, lake=self._lake, files=files)
        counts = read_counts(self._spark, [one.url for one in self._counts])
        demo = cells.where("demo").select(*SCOPE).distinct()
        return anchored_of(sums, before, demo, counts, events)

    def _write(self, table: str, rows: DataFrame, *order: Any) -> None:
        self._output.write_table(self._day, table, rows, *order)

    def _stage(self, stage: Stage, message: str) -> Any:
        return self._progress.stage(stage, self._spark, message)

    def _summary(
        self, files: DayFiles, live: Sequence[LakeFile], done: Done, master: str, lake_days: Sequence[date]
    ) -> dict[str, Any]:
        corrupt = [*files.corrupt, *self._damaged.values()]
        gaps = [
            {"pool": gap.pool, "partition": gap.partition, "dropped": gap.dropped}
            | {"from_ms": gap.from_ms, "until_ms": gap.until_ms}
            for gap in files.gaps
        ]
        warnings = [{"kind": "corrupt", "text": _damage_text(file)} for file in corrupt]
        warnings += [{"kind": "gap", "text": _gap_text(gap)} for gap in gaps]
        warnings += [
            {"kind": "other", "text": f"counts of jobs: {url} was left out: {reason}"}
            for url, reason in self._damaged_counts
        ]
        if self._differences:
            warnings.append({"kind": "backlog", "text": self._differences})
        if not done.events:
            where = f"there are no events of it in {self._lake}, which has days from {lake_days[0]} to {lake_days[-1]}"
            warnings.append({"kind": "other", "text": f"nothing happened on this day: {where}"})
        for warning in warnings:
            say(warning=warning["text"], kind=warning["kind"], date=self._day.isoformat())
        return {
            "date": self._day.isoformat(),
            "run": self._output.run_id,
            "events": done.events,
            "events_by_kind": done.by_kind,
            "files": len(live),
            "lake_rows": files.rows,
            "bytes": sum(file.size for file in live),
            "corrupt": [{"file": file.url, "reason": file.reason, "rows": file.rows} for file in corrupt],
            "gaps": gaps,
            "warnings": warnings,
            "spark": self._spark.version,
            "master": master,
            "complete": self._is_complete,
            "demo": done.demo,
        }


def _count(cells: DataFrame) -> tuple[Done, int]:
    """And how many cells there are."""
    aggregates = ("count(*) AS cells", "sum(events) AS events", "max(demo) AS demo")
    rows = sorted(cells.groupBy("what").agg(*map(f.expr, aggregates)).collect(), key=lambda row: str(row["what"]))
    by_kind = {row["what"]: int(row["events"]) for row in rows if row["what"] != "total"}
    done = Done(events=sum(by_kind.values()), demo=any(row["demo"] for row in rows), by_kind=by_kind)
    return done, sum(row["cells"] for row in rows)


def _damage_text(file: DamagedFile) -> str:
    events = "an unknown number of events" if file.rows is None else f"{file.rows:,} events"
    also = "" if file.rows == 0 else f", and with it {events}"
    return f"{file.url} was left out{also}: {file.reason}"


def _differences_in(begun: DataFrame) -> str:
    """Where Redis's own count and the events do not agree, the greatest differences first; "" if they do."""
    columns = (*SCOPE, "greatest(told, least) AS told", "anchored", "count(*) OVER () AS found")
    rows = begun.where(DIFFERS).selectExpr(*columns).orderBy(f.expr("abs(told - anchored)").desc(), *SCOPE)
    shown = rows.limit(DIFFERENCES_SHOWN).collect()
    if not shown:
        return ""
    told = "; ".join(
        f"{row['pool']}:{row['namespace']}/{row['queue']} began the day with {row['told']:,} jobs by the events and "
        f"with {_by_redis(row['anchored'])}"
        for row in shown
    )
    return f"events and Redis's own counts differ in {shown[0]['found']:,} queues, backlogs follow the latter: {told}"


def _by_redis(anchored: int) -> str:
    if anchored >= 0:
        return f"{anchored:,} by Redis's own count"
    return f"none by Redis's own count: events of {-anchored:,} departures are missing"


def _gap_text(gap: dict[str, Any]) -> str:
    until = datetime.fromtimestamp(gap["until_ms"] / 1000, UTC)
    since = "" if gap["from_ms"] is None else f"between {datetime.fromtimestamp(gap['from_ms'] / 1000, UTC):%F %T} and "
    return (
        f"up to {gap['dropped']:,} events of pool {gap['pool']}, partition {gap['partition']}, were dropped "
        f"{since or 'before '}{until:%F %T} UTC, before they reached the lake"
    )
