"""The tables of a day of UTC, made of the cells of its hours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from queues.lake.counts import NewestCounts

from .compiler import FOR_TABLES, directed
from .events import read_counts, read_events
from .history import Output, Predecessor, backlog_before, figures_of_days, handed_on_by, past_figures
from .hour_cells import TABLES, HourTotals
from .local_tables import writers_without_times
from .progress import Progress, Stage
from .reduction import DayCells
from .session import FEW_ROWS, cut_off, once, plain_plans, side_by_side
from .tables.anchors import anchored_of
from .tables.cells import KEY, SCOPE
from .tables.changes import changes_of
from .tables.comparisons import backlog_of, begun_of
from .tables.figures import figures_of, sums_of
from .tables.single_events import FAILURES, duplicates_of, lost_leases_of
from .tables.times import are_single, histograms_of, longest_of, measures_of, metrics_of, scopes_of
from .warning_texts import differences_in

PLANNED_ROWS: Final = 1_000_000
"""As `session.FEW_ROWS`, for tables that are written side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What happened in all queues together."""

    events: int
    demo: bool
    by_kind: dict[str, int]
    last_at_ms: int | None


class OpeningBacklog(NamedTuple):
    """What queues began the day with. `report`: the one that says so. `is_known`: whether others had nothing.
    `differences`: from Redis's own counts, as a text."""

    report: Predecessor | None
    is_known: bool
    differences: str


class WrittenTables(NamedTuple):
    """What the tables of a day rest on. `handed_on`: a digest of what the next day's take from them."""

    totals: Totals
    opening: OpeningBacklog
    handed_on: str


class Times(NamedTuple):
    """`measures_of` the day, so many `rows`, and the `scopes_of` it."""

    measures: DataFrame
    scopes: DataFrame
    rows: int


class Notable(NamedTuple):
    """`rows` of the table of that name; the leases that were lost in the day, and those of the day before as well."""

    rows: DataFrame
    lost_today: DataFrame
    lost: DataFrame


class DayTables:
    """Computes the tables of one day and writes them."""

    def __init__(
        self,
        spark: SparkSession,
        *,
        lake: str,
        output: Output,
        day: date,
        holidays: Collection[date],
        cells: DayCells,
        cells_before: DayCells,
        is_complete: bool,
        is_local: bool,
    ) -> None:
        """`lake`: its URL. `cells`: of the day, all of them begun; and those of the day before that there are.
        `is_complete`: whether the day is over. `is_local`: whether all of Spark is here."""
        self._spark, self._lake, self._output, self._day, self._holidays = spark, lake, output, day, holidays
        self._cells, self._cells_before = cells, cells_before
        self._is_complete, self._is_local = is_complete, is_local

    def write(
        self, progress: Progress, *, noted: Sequence[NewestCounts], pools_with_gaps: Collection[str]
    ) -> WrittenTables:
        """`noted`: Redis's own counts. `pools_with_gaps`: pools that lack events. Raises what Spark raises."""
        kept: list[DataFrame] = []

        def keep(rows: DataFrame) -> DataFrame:
            """As it is once the first action has computed it."""
            kept.append(rows.persist(StorageLevel.MEMORY_AND_DISK))
            return rows

        totals = _add_up(self._cells.totals)
        counts = self._cells.table("counts")

        @once
        def times() -> Times:
            scopes = keep(scopes_of(counts))
            add_up = are_single(self._cells.rows("values"), events=totals.events)
            values = self._cells.table("values")
            measures = keep(measures_of(values, scopes, add_up=add_up, keep=keep, is_local=self._is_local))
            return Times(measures, scopes, measures.count())

        @once
        def notable() -> Notable:
            if self._cells.unfinished_events:
                self._cells.finish(longest_of(times().measures, times().scopes))
            rows = self._cells.table("notable")
            lost_today = keep(lost_leases_of(rows).distinct())
            lost = keep(lost_today.union(self._lost_before()).distinct())
            lost.count()
            return Notable(rows, lost_today, lost)

        def write_figures() -> OpeningBacklog:
            return self._write_figures(counts, times, notable, noted=noted, pools_with_gaps=pools_with_gaps)

        def write_histograms() -> None:
            rows = histograms_of(times().measures, times().scopes)
            self._write("histograms", rows, *SCOPE, "metric", lists="buckets")

        def write_others() -> None:
            for write in writers_without_times(self._write, counts, notable().rows, notable().lost):
                write()

        try:
            # Of which little is left, but code has to be made for them.
            read = max(sum(file.rows for file in self._cells_before.missing), self._cells.unfinished_events)
            # Of little data, one thread's planning is most of the work: there is a core for the rest.
            early = [write_others] if self._cells.rows(*TABLES) <= FEW_ROWS else []
            plain = plain_plans(self._spark, rows=self._cells.rows(*TABLES), events=read)
            told = f"percentiles of {totals.events:,} events"
            with progress.stage(Stage.PERCENTILES, self._spark, told), plain:
                side_by_side(self._spark, times, *early)
            # Rows of `notable` while they are not counted yet: each failure, and the delivery that follows it.
            failed = 2 * sum(totals.by_kind.get(kind, 0) for kind in FAILURES)
            most = max(times().rows, self._cells.rows("counts", "notable"), failed)
            plain = plain_plans(self._spark, rows=most, most=PLANNED_ROWS, events=read)
            writing = progress.stage(Stage.WRITING, self._spark, "writing the tables")
            with writing, plain, directed(self._spark, FOR_TABLES):
                # Errors last: they fill the gaps that the longest, figures and changes, leave.
                late = [] if early else [write_others]
                opening, *_ = side_by_side(self._spark, write_figures, notable, write_histograms, *late)
                figures = figures_of_days(self._spark, [self._output.table_url(self._day, "figures")])
                return WrittenTables(totals, opening, handed_on_by(figures, notable().lost_today))
        finally:
            for rows_ in kept:
                rows_.unpersist()

    def _lost_before(self) -> DataFrame:
        """Leases lost on the day before: from its cells where there are any, else from its events."""
        events = read_events(self._spark, lake=self._lake, files=self._cells_before.missing)
        return lost_leases_of(self._cells_before.table("notable")).union(lost_leases_of(events))

    def _write_figures(
        self,
        counts: DataFrame,
        times: Callable[[], Times],
        notable: Callable[[], Notable],
        *,
        noted: Sequence[NewestCounts],
        pools_with_gaps: Collection[str],
    ) -> OpeningBacklog:
        """And what has changed in them."""
        sums = sums_of(counts)
        sums = cut_off(sums) if self._is_local else sums.persist()
        before = backlog_before(self._spark, lake=self._lake, output=self._output, day=self._day)
        anchored, differences = self._anchored(counts, sums, before.backlog, noted), ""
        begun = begun_of(sums, before.backlog, anchored, known=before.known)
        if anchored is not None:
            begun = begun.persist()
            differences = differences_in(begun)
        backlog = backlog_of(sums, begun, pools_with_gaps=pools_with_gaps)
        metrics = metrics_of(times().measures, times().scopes)
        duplicates = duplicates_of(notable().rows, notable().lost)
        self._write("figures", figures_of(sums, metrics, duplicates, backlog), *KEY)
        begun.unpersist()
        if not self._is_local:
            sums.unpersist()
        today = figures_of_days(self._spark, [self._output.table_url(self._day, "figures")])
        past = past_figures(self._spark, output=self._output, day=self._day, holidays=self._holidays)
        is_holiday = self._day in self._holidays
        changes = changes_of(today, past, complete=self._is_complete, holiday=is_holiday)
        self._write("changes", changes, *SCOPE, "figure", "hour")
        return OpeningBacklog(before.report, before.known, differences)

    def _anchored(
        self, counts: DataFrame, sums: DataFrame, before: DataFrame, noted: Sequence[NewestCounts]
    ) -> DataFrame | None:
        """What queues began the day with by Redis's own counts; None: none were noted on this day."""
        if not noted:
            return None
        hours = {f"/hour={hour:02d}/" for one in noted for hour in one.hours}
        files = [file for file in self._cells.live if any(hour in file.url for hour in hours)]
        events = read_events(self._spark, lake=self._lake, files=files)
        found = read_counts(self._spark, [one.url for one in noted])
        demo = counts.where("demo").select(*SCOPE).distinct()
        return anchored_of(sums, before, demo, found, events)

    def _write(self, table: str, rows: DataFrame, *order: Any, lists: str = "") -> None:
        self._output.write_table(self._day, table, rows, *order, lists=lists)


def _add_up(hours: Sequence[HourTotals]) -> Totals:
    by_kind = Counter[str]()
    for one in hours:
        by_kind.update(one.by_kind)
    return Totals(
        events=by_kind.total(),
        demo=any(one.demo for one in hours),
        by_kind=dict(sorted(by_kind.items())),
        last_at_ms=max((one.last_at_ms for one in hours if one.events), default=None),
    )
