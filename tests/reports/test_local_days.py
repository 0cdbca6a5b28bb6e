"""Days of time zones: every figure of 23, 24 and 25 hours against plain Python and DuckDB."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queues.lake.files import Gap
from queues.lake.local_days import LocalDay, UnknownZoneError, bounds_of, find_zone, uneven_hours
from queues.reports.local_tables import local_pools_with_gaps
from tests.support.reports import figures, write_report

from . import expected
from .conftest import IS_THOROUGH, RunDay
from .made import Event, ask_duckdb, event, ms, read_table, write_lake

ZONES = {"berlin": "Europe/Berlin", "kolkata": "Asia/Kolkata", "york": "America/New_York", "plain": ""}
"""The last one has none."""


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


FORWARD = pytest.param(
    *("2026-03-29", 23),
    id="clocks go forward",
    marks=pytest.mark.skipif(not IS_THOROUGH, reason="run by `make test-clusters`"),
)


@pytest.mark.parametrize(("day", "hours"), [FORWARD, pytest.param("2026-10-25", 25, id="clocks go back")])
def test_each_figure_of_a_local_day_is_what_its_events_say(
    run_day: RunDay, tmp_path: Path, day: str, hours: int
) -> None:
    dice = random.Random(hours)
    lake, out, when = tmp_path / "lake", tmp_path / "out", date.fromisoformat(day)
    events = jobs(dice, ms(day) - 24 * expected.HOUR, ms(day) + 24 * expected.HOUR, 500)
    write_lake(lake, events)
    day_before = f"{when - timedelta(days=1)}"
    names = {name: ("default", name) for name in ZONES}
    ended = LocalDay(day=when, is_complete=True, zones={names[one]: ZONES[one] for one in ("berlin", "kolkata")})
    if hours == 23:
        others = [LocalDay(day=when + timedelta(days=1), is_complete=False, zones={names["kolkata"]: ZONES["kolkata"]})]
    else:
        others = [LocalDay(day=when - timedelta(days=1), is_complete=True, zones={names["york"]: ZONES["york"]})]
    begin, end = bounds_of(when, ZoneInfo("Europe/Berlin"))
    assert (end - begin) == timedelta(hours=hours)
    assert uneven_hours(when, find_zone("Europe/Berlin")) == {2}
    if hours == 25:  # then it is known what this day begins with
        run_day(lake, out, day_before)
        (out / f"date={day_before}" / "current.json").write_text('{"run": "one"}')

    summary = run_day(lake, out, day, local_days=[ended, *others])

    for local in (ended, *others):
        check(out, lake, day, local, events)
    assert summary["local"] == [one.as_dict() for one in (ended, *others)]
    known = {row["backlog_base_known"] for row in read_table(out, day, f"local={when}/figures")}
    assert known == {hours == 25}
    assert {row["namespace"] for row in read_table(out, day, "figures")} == set(ZONES)


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


def test_a_local_day_is_compared_with_days_of_the_same_zone(run_day: RunDay, tmp_path: Path) -> None:
    """At 02:00, which is not there on this day, nothing is out of line; at 05:00, when nothing came, it is."""
    day, past = date(2026, 3, 29), {"berlin": "Europe/Berlin", "moved": "Europe/Paris"}
    lake, out = tmp_path / "lake", tmp_path / "out"
    names = {("default", name): "Europe/Berlin" for name in past}
    begin = ms("2026-03-28T23:00")
    made = [
        event("published", begin + hour * expected.HOUR + number, namespace=name, size=1)
        for name in past
        for hour in range(23)
        for number in range(100)
        if hour != 4  # the fifth hour begins at 05:00
    ]
    write_lake(lake, made)
    for weeks in range(1, 5):
        then = day - timedelta(weeks=weeks)
        figures_of = [
            figures(queue, namespace=name, hour=hour, published=100 if hour is not None else 2_400, time_zone=zone)
            for name, zone in past.items()
            for queue in ("q", "")
            for hour in (None, *range(24))
        ]
        folder = write_report(tmp_path / f"{weeks}", then, "one", {"figures": figures_of})
        rows = pq.read_table(folder / "figures.parquet")
        hour = rows.schema.get_field_index("hour")
        narrow = rows.set_column(hour, "hour", rows["hour"].cast(pa.int32()))  # as Spark writes it
        for there in (out / f"date={then}" / "run=one", out / f"date={then}" / "run=one" / f"local={then}"):
            (there / "figures.parquet").mkdir(parents=True)
            pq.write_table(narrow, there / "figures.parquet" / "part-00000.parquet")
        (out / f"date={then}" / "current.json").write_text('{"run": "one"}')

    summary = run_day(lake, out, f"{day}", local_days=[LocalDay(day=day, is_complete=True, zones=names)])

    changes = read_table(out, f"{day}", f"local={day}/changes")
    of_day = [row for row in changes if row["figure"] == "published" and row["hour"] is None]
    assert {(row["namespace"], row["weeks"]) for row in of_day} == {("berlin", 4)}
    told = [row for row in changes if row["flagged"]]
    flagged = {(row["queue"], row["figure"], row["hour"], row["value"]) for row in told}
    assert flagged == {("q", "published", 5, 0.0), ("", "published", 5, 0.0)}
    assert summary["handed_on"].count(":") == 2  # with the fingerprints of the hours that local days rest on
