"""Days of time zones: every figure of 23, 24 and 25 hours against plain Python and DuckDB."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queues.lake.files import Gap
from queues.lake.local_days import LocalDay, UnknownZoneError, bounds_of, find_zone, last_utc_day, uneven_hours
from queues.reports.local_tables import local_pools_with_gaps
from tests.support.reports import figures, write_report

from . import expected
from .conftest import ReduceDay, RunDay
from .made import Event, ask_duckdb, event, ms, read_table, write_lake

ZONES = {
    "berlin": "Europe/Berlin",
    "kolkata": "Asia/Kolkata",
    "york": "America/New_York",
    "paulo": "America/Sao_Paulo",
    "johns": "America/St_Johns",
    "plain": "",
}
"""Namespace → its zone. The last one has none."""

STEADY = {"steady": "America/Sao_Paulo", "moved": "America/Sao_Paulo", "twice": "America/New_York"}
"""Namespaces of the first of BOTH_WAYS' local days in which as much is published in each of STEADY_HOURS but one."""

STEADY_HOURS = (0, 1, 2, 3, 4, 5, 6, 12)
"""Of their time zones, in which that is."""

PAST_ZONES = STEADY | {"moved": "America/Bahia"}
"""What they were in past weeks. That of `moved` has days that end in the same ones of UTC."""


def local(day: str, *namespaces: str, is_complete: bool = True) -> LocalDay:
    zones = {("default", name): (ZONES | STEADY)[name] for name in namespaces}
    return LocalDay(day=date.fromisoformat(day), is_complete=is_complete, zones=zones)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Local days that the report of a `day` tells of. `before_is_known`: there is a report of the day before. `hours`:
    how many the first local day has in a zone; `uneven`: those that it has not, or twice."""

    day: str
    local_days: Sequence[LocalDay]
    before_is_known: bool
    hours: dict[str, int]
    uneven: dict[str, set[int]]


BOTH_WAYS = Case(
    day="2018-11-05",
    local_days=(local("2018-11-04", "york", "paulo", "johns", *STEADY),),
    before_is_known=True,
    hours={"America/New_York": 25, "America/St_Johns": 25, "America/Sao_Paulo": 23},
    uneven={"America/New_York": {1}, "America/St_Johns": {1}, "America/Sao_Paulo": {0}},
)
"""On one day, clocks went back here and forward there; hours of St. John's begin at half past those of UTC."""

EUROPE = {
    "clocks go forward": Case(
        day="2026-03-29",
        local_days=(local("2026-03-29", "berlin", "kolkata"), local("2026-03-30", "kolkata", is_complete=False)),
        before_is_known=False,
        hours={"Europe/Berlin": 23},
        uneven={"Europe/Berlin": {2}},
    ),
    "clocks go back": Case(
        day="2026-10-25",
        local_days=(local("2026-10-25", "berlin", "kolkata"), local("2026-10-24", "york")),
        before_is_known=True,
        hours={"Europe/Berlin": 25},
        uneven={"Europe/Berlin": {2}},
    ),
}


def jobs(dice: random.Random, begin: int, end: int, number: int) -> list[Event]:
    """Whole lives of jobs, as far as they lie between two times; many on the edges of hours and quarters."""
    made = []
    for one in range(number):
        at = begin + dice.randrange((end - begin) // 900_000) * 900_000 + dice.choice((-1, 0, 1, 450_000))
        scope = {"namespace": dice.choice([*ZONES]), "queue": dice.choice(("q1", "q2")), "job": f"01JOB{one:021d}"}
        life = {**scope, "published": at}
        made.append(event("published", at, size=dice.randrange(100), **life))
        attempt = 1
        while at < end and attempt < 4:
            wait, run = dice.choice((0, 3, 200, 5_000, 4_000_000)), dice.choice((1, 40, 900_000, 5_000_000))
            at += wait
            made.append(event("consumed", at, attempt=attempt, wait_ms=wait, worker="w", **life))
            at += run
            outcome = dice.choice(("acked", "failed", "lease_lost", "dead"))
            error = dice.choice(("timeout 7", None, "Boom")) if outcome in ("failed", "dead") else None
            made.append(event(outcome, at, attempt=attempt, run_ms=run, error=error, **life))
            attempt += 1
            if outcome in ("acked", "dead"):
                break
    return [one for one in made if begin <= one["at"] < end]


def change(one: Event) -> int:
    """What it does to the number of jobs."""
    return {"published": 1, "acked": -1, "dead": -1}.get(one["kind"], 0)


def check(out: Path, lake: Path, day: str, local: LocalDay, events: Sequence[Event]) -> None:
    """Fail unless the tables of the local day are what the definitions say of its events."""
    end_of_day = ms(day) + 24 * expected.HOUR
    in_utc = {tuple(row[name] for name in expected.SCOPE): row for row in of_days(read_table(out, day, "figures"))}
    today: list[Event] = []
    before: list[Event] = []
    hours: dict[int, int] = {}
    base: dict[tuple[Any, ...], int] = {}
    known: dict[tuple[Any, ...], bool] = {}
    for (_, namespace), name in local.zones.items():
        zone = ZoneInfo(name)
        begin, end = (int(at.timestamp() * 1_000) for at in bounds_of(local.day, zone))
        earlier = int(bounds_of(local.day - timedelta(days=1), zone)[0].timestamp() * 1_000)
        own = [one for one in events if one["namespace"] == namespace]
        today += [one for one in own if begin <= one["at"] < end]
        before += [one for one in own if earlier <= one["at"] < begin]
        for one in own:
            hours[id(one)] = datetime.fromtimestamp(one["at"] / 1_000, UTC).astimezone(zone).hour
            scope = tuple(one[column] for column in expected.SCOPE)
            row = in_utc.get(scope, {"backlog": 0, "backlog_base_known": True})
            known[scope] = row["backlog_base_known"]
            base.setdefault(scope, row["backlog"])
            base[scope] -= change(one) if begin <= one["at"] < end_of_day else 0
    told = expected.figures(today, before, lambda one: hours[id(one)])
    rows = read_table(out, day, f"{local.folder}/figures")
    found = {tuple(row[name] for name in (*expected.SCOPE, "hour")): row for row in rows}
    assert len(found) == len(rows)
    assert set(told) <= set(found)
    for key, row in found.items():
        wanted = dict(told.get(key, {}))
        assert {name: row[name] for name in wanted} == wanted, key
        assert row["time_zone"] == local.zones[key[0], key[1]]
        if key[2] and all(known.values()):
            arrived = sum(
                change(one)
                for one in today
                if tuple(one[name] for name in expected.SCOPE) == key[:3]
                and (key[3] is None or hours[id(one)] <= key[3])
            )
            assert (row["backlog"], row["backlog_base_known"]) == (base[key[:3]] + arrived, True), key
    expected.check_other_tables(out, day, today=today, before=before, folder=f"{local.folder}/")
    check_with_duckdb(lake, local, rows)


def of_days(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["hour"] is None and row["queue"]]


def check_with_duckdb(lake: Path, local: LocalDay, rows: Sequence[dict[str, Any]]) -> None:
    """Fail unless DuckDB, which has a database of time zones of its own, counts and finds percentiles likewise."""
    columns = "count(*) filter (kind = 'published'), count(*) filter (kind = 'acked'), "
    columns += (
        "quantile_disc(wait_ms, 0.95) filter (kind = 'consumed'), quantile_disc(run_ms, 0.5) filter (kind = 'acked')"
    )
    told: dict[str, dict[Any, Any]] = defaultdict(dict)
    for row in rows:
        told[row["namespace"]][row["queue"], row["hour"]] = tuple(
            row[name] for name in ("published", "acked", "wait_p95", "run_p50")
        )
    for (_, namespace), zone in local.zones.items():
        at = f"timezone('{zone}', \"at\")"
        asked = ask_duckdb(
            lake,
            f"select coalesce(queue, ''), hour({at})::int as local_hour, {columns} from {{day}}"
            f" where namespace = '{namespace}' and {at}::date = '{local.day}'"
            " group by grouping sets ((queue, local_hour), (queue), (local_hour), ())",
        )
        silent = {key for key, values in told[namespace].items() if not any(values[:2]) and values[2:] == (None, None)}
        counted = {(queue, hour): tuple(values) for queue, hour, *values in asked}
        assert {key: values for key, values in told[namespace].items() if key in counted} == counted
        assert set(told[namespace]) - set(counted) <= silent


@dataclass(frozen=True, slots=True)
class Report:
    """Of a day and of the local days."""

    lake: Path
    out: Path
    events: list[Event]
    summary: dict[str, Any]


def make_report(case: Case, run_day: RunDay, reduce_day: ReduceDay, folder: Path) -> Report:
    """Of two days of jobs, and of what there is in `folder` already."""
    lake, out, midnight = folder / "lake", folder / "out", ms(case.day)
    day_before = f"{date.fromisoformat(case.day) - timedelta(days=1)}"
    two_days = midnight - 24 * expected.HOUR, midnight + 24 * expected.HOUR
    events = jobs(random.Random(case.day), *two_days, 60 * len(ZONES))
    if case is BOTH_WAYS:
        events += steady_work()
    write_lake(lake, [one for one in events if one["at"] < midnight])
    if case.before_is_known:
        reduce_day(lake, out, day_before, run="before-0")
        told = expected.figures([one for one in events if one["at"] < midnight], [])
        left = expected.backlogs(told, {}, known=True)
        put_figures(
            *(out, day_before, ""),
            [
                figures(queue, pool=pool, namespace=namespace, backlog=jobs_left, backlog_base_known=is_known)
                for (pool, namespace, queue, hour), (jobs_left, is_known) in left.items()
                if hour is None
            ],
        )
    write_lake(lake, [one for one in events if one["at"] >= midnight])
    return Report(lake, out, events, run_day(lake, out, case.day, local_days=case.local_days))


def steady_work() -> list[Event]:
    """A hundred jobs in each of STEADY_HOURS of the first local day of BOTH_WAYS, but for five o'clock."""
    made = []
    for namespace, name in STEADY.items():
        begin, end = (round(at.timestamp() * 1_000) for at in bounds_of(BOTH_WAYS.local_days[0].day, ZoneInfo(name)))
        for at in range(begin, end, expected.HOUR):
            if datetime.fromtimestamp(at / 1_000, ZoneInfo(name)).hour in {*STEADY_HOURS} - {5}:
                made += [event("published", at + number, namespace=namespace, size=1) for number in range(100)]
    return made


def put_figures(out: Path, day: str, folder: str, rows: list[dict[str, Any]]) -> None:
    """A report that counts, or tables in a folder of it, of which a later report reads the figures."""
    written = write_report(out / "made", date.fromisoformat(day), "one", {"figures": rows}) / "figures.parquet"
    read = pq.read_table(written)
    shutil.rmtree(out / "made")
    hour = read.schema.get_field_index("hour")
    narrow = read.set_column(hour, "hour", read["hour"].cast(pa.int32()))  # as Spark writes it
    table = out / f"date={day}" / "run=one" / folder / "figures.parquet"
    table.mkdir(parents=True)
    pq.write_table(narrow, table / "part-00000.parquet")
    (out / f"date={day}" / "current.json").write_text('{"run": "one"}')


def check_report(case: Case, report: Report) -> None:
    first = case.local_days[0]
    for name, hours in case.hours.items():
        begin, end = bounds_of(first.day, ZoneInfo(name))
        assert (end - begin) == timedelta(hours=hours)
        assert uneven_hours(first.day, find_zone(name)) == case.uneven[name]
    for one in case.local_days:
        check(report.out, report.lake, case.day, one, report.events)
    assert report.summary["local"] == [one.as_dict() for one in case.local_days]
    known = {row["backlog_base_known"] for row in read_table(report.out, case.day, f"{first.folder}/figures")}
    assert known == {case.before_is_known}
    namespaces = {row["namespace"] for row in read_table(report.out, case.day, "figures")}
    assert namespaces == {one["namespace"] for one in report.events} >= ZONES.keys()


@pytest.fixture(scope="module")
def both_ways(run_day: RunDay, reduce_day: ReduceDay, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """With reports of past weeks, in which a hundred jobs were published in each of STEADY_HOURS."""
    folder = tmp_path_factory.mktemp("both-ways")
    first = BOTH_WAYS.local_days[0].day
    for weeks in range(1, 5):
        then = first - timedelta(weeks=weeks)
        by_day: dict[date, list[dict[str, Any]]] = defaultdict(list)
        for namespace, zone in PAST_ZONES.items():
            by_day[last_utc_day(then, find_zone(zone))] += [
                figures(queue, namespace=namespace, hour=hour, published=published, time_zone=zone)
                for queue in ("q", "")
                for hour, published in ((None, 100 * len(STEADY_HOURS)), *((hour, 100) for hour in STEADY_HOURS))
            ]
        for day, rows in by_day.items():
            put_figures(folder / "out", f"{day}", "", rows)
            put_figures(folder / "out", f"{day}", f"local={then}", rows)
    return make_report(BOTH_WAYS, run_day, reduce_day, folder)


def test_each_figure_of_a_local_day_is_what_its_events_say(both_ways: Report) -> None:
    """Of 25 hours, of 23, and with hours that begin at half past those of UTC."""
    check_report(BOTH_WAYS, both_ways)


@pytest.mark.thorough
@pytest.mark.parametrize("which", EUROPE)
def test_each_figure_of_a_local_day_is_what_its_events_say_also_of_one_that_has_begun(
    run_day: RunDay, reduce_day: ReduceDay, tmp_path: Path, which: str
) -> None:
    check_report(EUROPE[which], make_report(EUROPE[which], run_day, reduce_day, tmp_path))


def test_a_local_day_is_compared_with_days_of_the_same_zone(both_ways: Report) -> None:
    """At midnight, which is not there on this day, or at one o'clock, which is there twice, nothing is out of line; at
    five o'clock, when nothing came, it is."""
    first = BOTH_WAYS.local_days[0]
    changes = read_table(both_ways.out, BOTH_WAYS.day, f"{first.folder}/changes")

    of_day = [row for row in changes if row["figure"] == "published" and row["hour"] is None]
    assert {(row["namespace"], row["weeks"]) for row in of_day} == {("steady", 4), ("twice", 4)}
    flagged = {
        (row["namespace"], row["queue"], row["figure"], row["hour"], row["value"]) for row in changes if row["flagged"]
    }
    assert flagged == {
        (namespace, queue, "published", 5, 0.0) for namespace in ("steady", "twice") for queue in ("q", "")
    }
    assert both_ways.summary["handed_on"].count(":") == 2  # with the fingerprints of the hours that local days rest on


@pytest.mark.parametrize("name", ["Europe/Atlantis", "../etc/passwd", "", "Berlin"])
def test_what_is_no_time_zone_is_refused(name: str) -> None:
    with pytest.raises(UnknownZoneError, match="no time zone of the IANA database"):
        find_zone(name)


def test_pools_that_lack_events_of_a_local_day() -> None:
    """From 23:00 of the day before to 22:00."""
    local = LocalDay(day=date(2026, 3, 29), is_complete=True, zones={("default", "a"): "Europe/Berlin"})

    def gap(pool: str, begin: str | None, end: str) -> Gap:
        return Gap(pool=pool, partition=0, dropped=1, from_ms=ms(begin) if begin else None, until_ms=ms(end))

    gaps = [
        gap("before", "2026-03-28T22:00", "2026-03-28T22:59"),
        gap("into", "2026-03-28T22:00", "2026-03-28T23:00"),
        gap("within", "2026-03-29T12:00", "2026-03-29T12:01"),
        gap("unknown", None, "2026-03-29T12:01"),
        gap("out", "2026-03-29T21:59", "2026-03-29T23:00"),
        gap("behind", "2026-03-29T22:00", "2026-03-29T23:00"),
    ]
    assert local_pools_with_gaps(local, gaps) == {"into", "within", "unknown", "out"}
