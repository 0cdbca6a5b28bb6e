"""The tables of a local day: of namespaces that have a time zone, whose days are not those of UTC.

They are merged of the cells of the hours that the local day is made of, which lie in two days of UTC; where hours of
the zone are not hours of UTC (India, Nepal), they come from the events themselves. All is written in the run of the day
of UTC in which the local day ends, and what the queues began with follows from what they had left at the end of that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from queues.lake.files import Gap
from queues.lake.fingerprints import hour_of
from queues.lake.local_days import (
    FOLDER,
    LocalDay,
    bounds_of,
    find_zone,
    has_whole_hours,
    last_utc_day,
    stretches,
    uneven_hours,
)

from .events import no_rows, read_events
from .history import Output, figures_of_days
from .hour_tables import SCHEMAS
from .reduction import DayCells
from .session import cut_off, plain_plans, side_by_side
from .tables.cells import DAY, KEY, SCOPE, counts_of, values_of
from .tables.changes import WEEKS, changes_of
from .tables.comparisons import backlog_of, begun_of
from .tables.errors import errors_of
from .tables.figures import figures_of, sums_of
from .tables.single_events import duplicates_of, limits_of, lost_leases_of, notable_of, slow_of, tries_of
from .tables.times import are_single, histograms_of, measures_of, metrics_of, scopes_of

_DAY: Final = timedelta(days=1)

PUSHED_DOWN: Final = 200
"""So many namespaces are named to the reader of files, which passes over what has none of them."""

_NAMES: Final = ("pool", "namespace")


class LocalTables:
    """Computes and writes the tables of one local day, below the run of the `day` of UTC."""

    def __init__(
        self,
        spark: SparkSession,
        local: LocalDay,
        *,
        lake: str,
        output: Output,
        day: date,
        cells: Mapping[date, DayCells],
        holidays: Collection[date] = frozenset(),
        is_local: bool,
    ) -> None:
        """`cells`: of `day`, and of the two days before it; those of `day` and of the one before it are complete.
        `is_local`: whether all of Spark is here."""
        self._spark, self._local, self._lake, self._output = spark, local, lake, output
        self._day, self._cells, self._holidays, self._is_local = day, cells, holidays, is_local
        self._until = datetime.combine(day + _DAY, datetime.min.time(), UTC)
        self._prefix = f"{local.folder}/"

    def write(self, *, begins_known: bool, pools_with_gaps: Collection[str]) -> None:
        """`begins_known`: whether queues of which the report of `day` does not tell had no jobs when it began.
        `pools_with_gaps`: pools that lack events of the local day."""
        kept: list[DataFrame] = []

        def keep(rows: DataFrame) -> DataFrame:
            kept.append(rows.persist(StorageLevel.MEMORY_AND_DISK))
            return rows

        try:
            rows = sum(one.rows("counts", "values") for one in self._cells.values())
            events = sum(file.rows for one in self._cells.values() for file in one.live)
            with plain_plans(self._spark, rows=rows, events=events):
                since = keep(self._table("counts", self._local.day))
                counts = since.where("hour IS NOT NULL")
                values = keep(self._table("values", self._local.day).where("hour IS NOT NULL"))
                notable = keep(self._notable(values))
                lost = keep(lost_leases_of(notable).union(self._lost_before()).distinct())
                scopes = keep(scopes_of(counts))
                number = sum(one.rows("values") for one in self._cells.values())
                add_up = are_single(number, events=events)
                measures = keep(measures_of(values, scopes, add_up=add_up, keep=keep, is_local=self._is_local))
                side_by_side(
                    self._spark,
                    lambda: self._write_figures(
                        since,
                        metrics_of(measures, scopes),
                        duplicates_of(notable, lost),
                        begins_known=begins_known,
                        pools_with_gaps=pools_with_gaps,
                    ),
                    lambda: self._write(
                        "histograms", histograms_of(measures, scopes), *SCOPE, "metric", lists="buckets"
                    ),
                    *writers_without_times(self._write, counts, notable, lost),
                )
        finally:
            for table in kept:
                table.unpersist()

    def _write_figures(
        self,
        since: DataFrame,
        metrics: DataFrame,
        duplicates: DataFrame,
        *,
        begins_known: bool,
        pools_with_gaps: Collection[str],
    ) -> None:
        sums = sums_of(since.where("hour IS NOT NULL"))
        sums = cut_off(sums) if self._is_local else sums
        before = self._begun_with(since, begins_known=begins_known)
        anchored = before.where("backlog_base_known").selectExpr(*SCOPE, "backlog AS anchored")
        begun = begun_of(sums, before, anchored, known=begins_known)
        backlog = backlog_of(sums, begun, pools_with_gaps=pools_with_gaps)
        figures = figures_of(sums, metrics, duplicates, backlog)
        zones = _table(self._spark, "pool STRING, namespace STRING, time_zone STRING", self._places(self._local.zones))
        self._write("figures", figures.drop("time_zone").join(f.broadcast(zones), [*_NAMES]), *KEY)
        today = figures_of_days(self._spark, [self._url("figures")])
        changes = changes_of(
            today, self._past(zones), complete=self._local.is_complete, holiday=self._local.day in self._holidays
        )
        uneven = [
            (pool, namespace, hour)
            for pool, namespace, zone in self._places(self._local.zones)
            for hour in sorted(uneven_hours(self._local.day, find_zone(zone)))
        ]
        if uneven:  # an hour that is there twice, or not, is no reason for an alarm
            changes = changes.join(
                f.broadcast(_table(self._spark, "pool STRING, namespace STRING, hour INT", uneven)),
                [*_NAMES, "hour"],
                "left_anti",
            )
        self._write("changes", changes, *SCOPE, "figure", "hour")

    def _begun_with(self, since: DataFrame, *, begins_known: bool) -> DataFrame:
        """(scope, backlog, backlog_base_known) when the local day began: what queues had at the end of the day of UTC,
        less what came and went from then until there. So both reports say the same of any moment."""
        figures = figures_of_days(self._spark, [self._output.table_url(self._day, "figures")])
        places = _table(self._spark, "pool STRING, namespace STRING", [*self._local.zones])
        at_end = figures.where("hour IS NULL AND queue != '' AND backlog IS NOT NULL")
        at_end = at_end.join(f.broadcast(places), [*_NAMES], "left_semi")
        moved = sums_of(since.withColumn("hour", f.lit(0))).where(f"hour = {DAY} AND queue != ''")
        both = at_end.select(*SCOPE, "backlog", "backlog_base_known").join(
            moved.selectExpr(*SCOPE, "arrivals - departures AS net"), [*SCOPE], "full"
        )
        return both.selectExpr(
            *SCOPE,
            "coalesce(backlog, 0) - coalesce(net, 0) AS backlog",
            f"coalesce(backlog_base_known, {str(begins_known).lower()}) AS backlog_base_known",
        )

    def _past(self, zones: DataFrame) -> DataFrame:
        """Figures of the same weekday in past weeks, of those that had the same time zone then."""
        urls = []
        for weeks in range(1, WEEKS + 1):
            then = self._local.day - timedelta(weeks=weeks)
            if then in self._holidays:
                continue
            folder = f"{FOLDER}{then.isoformat()}"
            for day in sorted({last_utc_day(then, find_zone(zone)) for zone in self._local.zones.values()}):
                run_id = self._output.run_that_counts(day)
                if run_id and self._output.storage.list(f"{self._output.folder(day, run_id)}/{folder}/figures.parquet"):
                    urls.append(self._output.table_url(day, f"{folder}/figures", run_id))
        past = figures_of_days(self._spark, urls, time_zone=True)
        return past.join(f.broadcast(zones), [*_NAMES, "time_zone"], "left_semi").drop("time_zone")

    def _notable(self, values: DataFrame) -> DataFrame:
        """As the table of cells, of the hours of the local day.

        Cells keep the longest times of the hours that were reduced together. Where the longest of the local day's may
        not be among them, its events are looked at.
        """
        limits = limits_of(values).persist()
        try:
            lacks = any(self._cells[day].lacks_slow_jobs(limits) for day in self._utc_days)
            notable = self._table("notable", self._local.day, limits=limits, from_events=lacks)
            return notable.where("hour IS NOT NULL")
        finally:
            limits.unpersist()

    def _lost_before(self) -> DataFrame:
        """Leases lost on the local day before."""
        before = self._local.day - _DAY
        whole, rest = self._by_wholeness(before)
        found = [
            lost_leases_of(rows.where("hour IS NOT NULL"))
            for day, cells in self._cells.items()
            for rows in (
                *self._at_local_hours(cells.table("notable"), day, before, whole),
                *self._events(day, before, rest),
                *self._events(day, before, whole, hours=_missing_hours(cells)),
            )
        ]
        nothing = no_rows(self._spark, SCHEMAS["notable"]).select(*SCOPE, "job", "attempt")
        return reduce(DataFrame.unionAll, found, nothing)

    def _table(
        self, name: str, local_day: date, *, limits: DataFrame | None = None, from_events: bool = False
    ) -> DataFrame:
        """A table of cells; `hour` is that of the local day, null: behind its end."""
        whole, rest = self._by_wholeness(local_day)
        if from_events:
            whole, rest = {}, {**whole, **rest}
        found: list[DataFrame] = []
        for day in self._utc_days:
            found += self._at_local_hours(self._cells[day].table(name), day, local_day, whole)
            for events in self._events(day, local_day, rest):
                found.append(_reduced(name, events, limits))
        schema = SCHEMAS[name]
        return reduce(DataFrame.unionAll, (rows.select(*schema.names) for rows in found), no_rows(self._spark, schema))

    @property
    def _utc_days(self) -> tuple[date, date]:
        """Those in which the local day lies."""
        return self._day - _DAY, self._day

    def _by_wholeness(self, local_day: date) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
        """The namespaces whose hours of that day are hours of UTC, and the others."""
        whole = {zone for zone in set(self._local.zones.values()) if has_whole_hours(local_day, find_zone(zone))}
        return (
            {names: zone for names, zone in self._local.zones.items() if zone in whole},
            {names: zone for names, zone in self._local.zones.items() if zone not in whole},
        )

    def _events(
        self, day: date, local_day: date, zones: Mapping[tuple[str, str], str], *, hours: Collection[int] | None = None
    ) -> Iterator[DataFrame]:
        """The events of a day of UTC at the hours of the local day; nothing if there are none. `hours`: only those."""
        wanted = {one.utc_hour for zone in set(zones.values()) for one in self._stretches(local_day, zone, day)}
        if hours is not None:
            wanted &= set(hours)
        files = [file for file in self._cells[day].live if hour_of(file.url) in wanted]
        if files and zones:
            events = read_events(self._spark, lake=self._lake, files=files)
            if len(zones) <= PUSHED_DOWN:
                events = events.where(f.col("namespace").isin(*sorted({namespace for _, namespace in zones})))
            yield from self._at_local_hours(events, day, local_day, zones, by_quarter=True)

    def _at_local_hours(
        self,
        rows: DataFrame,
        day: date,
        local_day: date,
        zones: Mapping[tuple[str, str], str],
        *,
        by_quarter: bool = False,
    ) -> Iterator[DataFrame]:
        """Rows of a day of UTC from the beginning of the local day on, with the hour of that, of these namespaces; none
        if there are none. `by_quarter`: they are events, and their quarter of an hour counts."""
        places = self._places(zones)
        hours = sorted(
            {
                (zone, one.utc_hour, one.quarter if by_quarter else 0, one.hour)
                for zone in set(zones.values())
                for one in self._stretches(local_day, zone, day)
                if by_quarter or not one.quarter
            },
            key=str,
        )
        if not hours:
            return
        names = rows.columns
        quarter = "CAST(unix_millis(at) DIV 900000 % 4 AS int)" if by_quarter else "0"
        told = rows.withColumnRenamed("hour", "utc_hour").withColumn("quarter", f.expr(quarter))
        of_places = _table(self._spark, "pool STRING, namespace STRING, zone STRING", places)
        of_hours = _table(self._spark, "zone STRING, utc_hour INT, quarter INT, hour INT", hours)
        joined = told.join(f.broadcast(of_places), [*_NAMES]).join(
            f.broadcast(of_hours), ["zone", "utc_hour", "quarter"]
        )
        yield joined.select(*names)

    def _stretches(self, local_day: date, zone: str, day: date) -> Iterator[Any]:
        """Those that lie in a day of UTC."""
        return (one for one in stretches(local_day, find_zone(zone), until=self._until) if one.date == day)

    @staticmethod
    def _places(zones: Mapping[tuple[str, str], str]) -> list[tuple[str, str, str]]:
        return [(pool, namespace, zone) for (pool, namespace), zone in sorted(zones.items())]

    def _url(self, table: str) -> str:
        return self._output.table_url(self._day, self._prefix + table)

    def _write(self, table: str, rows: DataFrame, *order: Any, lists: str = "") -> None:
        self._output.write_table(self._day, self._prefix + table, rows, *order, lists=lists)


def writers_without_times(
    write: Callable[..., None], counts: DataFrame, notable: DataFrame, lost: DataFrame
) -> list[Callable[[], None]]:
    """Of the tables of a day, UTC's or a time zone's, that need no percentiles. `write`: takes the name of a table, its
    rows, and their order."""
    frequency = (f.col("failed") + f.col("dead")).desc()
    return [
        lambda: write("slow", slow_of(notable), *SCOPE, "metric", "rank"),
        lambda: write("tries", tries_of(counts), *SCOPE, "attempt", "outcome"),
        lambda: write("errors", errors_of(notable, lost), *SCOPE, frequency, "pattern"),
    ]


def local_pools_with_gaps(local: LocalDay, gaps: Iterable[Gap]) -> frozenset[str]:
    """The pools of which events of the local day were dropped, in any of its zones."""
    bounds = [bounds_of(local.day, find_zone(zone)) for zone in set(local.zones.values())]
    begin_ms, end_ms = (
        int(at.timestamp() * 1_000) for at in (min(begin for begin, _ in bounds), max(end for _, end in bounds))
    )
    return frozenset(gap.pool for gap in gaps if (gap.from_ms or 0) < end_ms and gap.until_ms >= begin_ms)


def _missing_hours(cells: DayCells) -> set[int]:
    return {hour for file in cells.missing if (hour := hour_of(file.url)) is not None}


def _reduced(name: str, events: DataFrame, limits: DataFrame | None) -> DataFrame:
    match name:
        case "counts":
            return counts_of(events)
        case "values":
            return values_of(events)
    assert limits is not None
    return notable_of(events, limits)


def _table(spark: SparkSession, columns: str, rows: Iterable[Sequence[Any]]) -> DataFrame:
    """A small table, as a constant of the plan: `createDataFrame` would start Python processes."""
    names = [column.split()[0] for column in columns.split(", ")]
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    fields = columns.replace(" ", ": ").replace(",: ", ", ")
    return spark.range(1).select(f.inline(f.from_json(f.lit(text), f"array<struct<{fields}>>")))
