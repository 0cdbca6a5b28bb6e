"""Reduces hours of the lake to cells, all that are missing in one go, and reads the cells that stand for a day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from queues.lake.files import DamagedFile, DayFiles, LakeFile
from queues.lake.fingerprints import hour_fingerprints, hour_of, rows_by_hour

from .events import read_events
from .failures import RowsMissingError
from .hour_cells import CellFiles, HourCells, HourTotals
from .hour_tables import read_table, write_table
from .session import FEW_ROWS, plain_plans, side_by_side
from .tables.cells import LISTED, SCOPE, VERSION, counts_of, values_of
from .tables.single_events import least_of, limits_of, notable_of
from .tables.times import are_single

EVENTS_OF_GROUP: Final = 200
"""With fewer events to a row of counts, too few times of a queue's hour are equal to look for them."""


class _UnfinishedRun(NamedTuple):
    """A run that lacks the table `notable`. `events`: of all its hours. `totals`: of each of them."""

    run_id: str
    events: DataFrame
    hours: Sequence[HourCells]
    totals: dict[int, HourTotals]

    @property
    def number(self) -> int:
        """How many events that are."""
        return sum(one.events for one in self.hours)


class DayCells:
    """The cells of a day: those that are there, and those of the hours that have none."""

    def __init__(self, spark: SparkSession, files: CellFiles, *, lake: str) -> None:
        self._spark, self._lake = spark, lake
        self.files = files
        self.hours: dict[int, HourCells] = {}
        self._wanted: dict[int, str] = {}
        self._unfinished: _UnfinishedRun | None = None
        self._live: Sequence[LakeFile] = ()

    def look(self, day: DayFiles, live: Sequence[LakeFile], left_out: Iterable[DamagedFile]) -> None:
        """Find the cells of the hours whose events are in `live`, which is what `day` has but for what is left out."""
        self._unfinished = None
        self._wanted = hour_fingerprints(day, left_out, definition=str(VERSION))
        self._live = live
        self.hours = self.files.find({hour: self._wanted[hour] for hour in rows_by_hour(live)})

    @property
    def live(self) -> Sequence[LakeFile]:
        """The files that count."""
        return self._live

    @property
    def missing(self) -> list[LakeFile]:
        """The files of the hours that have no cells."""
        return [file for file in self._live if hour_of(file.url) not in self.hours]

    @property
    def by_run(self) -> dict[str, list[int]]:
        """Run → its hours that count."""
        found: dict[str, list[int]] = {}
        for one in self.hours.values():
            found.setdefault(one.run_id, []).append(one.hour)
        return found

    @property
    def totals(self) -> list[HourTotals]:
        """What happened in the hours that have cells."""
        return [self.files.run(one.run_id).totals[hour] for hour, one in self.hours.items()]

    def rows(self, *tables: str) -> int:
        """Rows that these tables have at most."""
        return sum(self.files.run(run_id).rows[table] for run_id in self.by_run for table in tables)

    def table(self, name: str) -> DataFrame:
        """Of all hours that have cells."""
        wanted = {
            run_id: None if self.files.run(run_id).hours == set(hours) else hours
            for run_id, hours in self.by_run.items()
        }
        return read_table(self._spark, self.files, name, wanted)

    @property
    def unfinished_events(self) -> int:
        """How many events `finish` will read."""
        return 0 if self._unfinished is None else self._unfinished.number

    @property
    def can_wait(self) -> bool:
        """Whether `finish` may wait for the percentiles of the day, which tell the longest times: one run makes the
        cells of all hours, and there are so many times that looking through them would take long."""
        run = self._unfinished
        return run is not None and len(run.hours) == len(self.hours) and self.rows("values") > FEW_ROWS

    def reduce(self, run_id: str) -> None:
        """Make the cells that are missing, as files of that run. Raises RowsMissingError, and what Spark raises."""
        self.begin(run_id)
        self.finish()

    def begin(self, run_id: str) -> None:
        """Make the counts and values of the cells that are missing; `finish` makes the rest. Raises as `reduce`."""
        live = self.missing
        if not live:
            return
        events = read_events(self._spark, lake=self._lake, files=live)
        rows = rows_by_hour(live)
        totals: dict[int, HourTotals] = {}

        def count() -> int:
            write_table(self.files, run_id, "counts", counts_of(events))
            totals.update(self.files.totals(run_id))
            found = {hour: one.events for hour, one in totals.items()}
            if found != +rows:
                raise RowsMissingError(f"Spark read {found} events by hour of files that have {+rows}.")
            return sum(one.groups for one in totals.values())

        def measure(*, add_up: bool = True) -> None:
            write_table(self.files, run_id, "values", values_of(events, add_up=add_up))

        with plain_plans(self._spark, rows=rows.total()):
            if rows.total() <= FEW_ROWS:
                side_by_side(self._spark, count, measure)
            else:
                measure(add_up=rows.total() > EVENTS_OF_GROUP * count())
        of_hours = {hour: totals.get(hour, HourTotals()) for hour in rows}
        self.files.write_run(run_id, of_hours)
        made = [
            HourCells(hour=hour, fingerprint=self._wanted[hour], run_id=run_id, events=events)
            for hour, events in rows.items()
        ]
        self.hours |= {one.hour: one for one in made}
        self._unfinished = _UnfinishedRun(run_id, events, made, of_hours)

    def finish(self, limits: DataFrame | None = None) -> None:
        """Write the table `notable` of the run that `begin` began, if any, and have its cells count from now on.
        `limits`: what `limits_of` would say of all values of the day. Raises as `reduce`."""
        if self._unfinished is None:
            return
        run, least = self._unfinished, None
        with plain_plans(self._spark, rows=run.number):
            if limits is None:
                limits = limits_of(self._of(run.run_id, "values"), are_many=self._are_times_many)
            try:
                if run.number > FEW_ROWS:
                    least = least_of(limits.persist())
                write_table(self.files, run.run_id, "notable", notable_of(run.events, limits, least=least))
            finally:
                limits.unpersist()
        self.files.write_run(run.run_id, run.totals)
        self.files.write_pointers(run.hours)
        self._unfinished = None

    def distrust_runs_without_slow_jobs(self) -> bool:
        """Pass over runs that may have left out jobs that are among a queue's slowest by now. Whether there are any.

        A run keeps the slowest of the hours that it reduced together. As long as all of those count, the slowest of the
        day are among them. Otherwise what is left may have fewer long times than the run has seen.
        """
        in_doubt = [run_id for run_id, hours in self.by_run.items() if not self.files.run(run_id).hours <= set(hours)]
        if not in_doubt:
            return False
        limits = limits_of(self.table("values"), are_many=self._are_times_many)
        lacking = self._runs_that_lack(limits, in_doubt)
        for run_id in lacking:
            self.files.distrust(run_id)
        self.hours = self.files.find({hour: one.fingerprint for hour, one in self.hours.items()})
        return bool(lacking)

    def lacks_slow_jobs(self, limits: DataFrame) -> bool:
        """Whether a run may have left out jobs that are as slow as `limits` (`limits_of`) says."""
        return bool(self._runs_that_lack(limits, [*self.by_run])) if self.by_run else False

    def _runs_that_lack(self, limits: DataFrame, runs: Sequence[str]) -> list[str]:
        seen = read_table(self._spark, self.files, "values", dict.fromkeys(runs), more=("run",))
        kept = limits_of(seen, "run", are_many=self._are_times_many).selectExpr(
            "run", *SCOPE, *(f"{one}_from AS {one}_kept" for one in LISTED)
        )
        lacks = " OR ".join(f"{one}_kept > {one}_from" for one in LISTED)
        rows = kept.join(limits, [*SCOPE]).where(lacks).select("run").distinct().collect()
        return [row["run"] for row in rows]

    @property
    def _are_times_many(self) -> bool:
        values = self.rows("values")
        return values > FEW_ROWS and are_single(values, events=sum(one.events for one in self.hours.values()))

    def _of(self, run_id: str, table: str) -> DataFrame:
        """All that a run has written."""
        return read_table(self._spark, self.files, table, {run_id: None})
