"""What a day takes from reports before it: the backlog it begins with, and what is usual."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from queues.lake.names import hour_dir

from . import expected
from .conftest import RunDay
from .made import Event, event, ms, read_table, write_lake


def published(day: str, number: int, **others: Any) -> list[Event]:
    return [
        event("published", ms(f"{day}T10:00") + at, job=f"J{at}", published=ms(day), size=1, **others)
        for at in range(number)
    ]


def acked(day: str, number: int, hour: int = 11) -> list[Event]:
    at = ms(f"{day}T{hour:02d}:00")
    return [event("acked", at, job=f"J{each}", published=at, attempt=1, run_ms=1_000) for each in range(number)]


def make_current(out: Path, day: str, run: str = "one") -> None:
    (out / f"date={day}" / "current.json").write_text(json.dumps({"run": run}))


def backlogs(
    out: Path, day: str, namespace: str = "ns", pool: str = "default", run: str = "one"
) -> dict[tuple[str, int | None], tuple[int, bool]]:
    """(queue, hour) → backlog, and whether its base is known."""
    rows = read_table(out, day, "figures", run)
    rows = [row for row in rows if (row["pool"], row["namespace"]) == (pool, namespace)]
    return {(row["queue"], row["hour"]): (row["backlog"], row["backlog_base_known"]) for row in rows}


CASES: dict[str, tuple[list[int | None], float, float, bool]] = {
    "grown": ([100, 110, 90, 100, 400], 100.0, 7.413, True),
    "within a fifth": ([100, 110, 90, 100, 119], 100.0, 7.413, False),
    "too few to speak of": ([1, 1, 1, 1, 10], 1.0, 0.0, False),
    "up and down": ([100, 400, 50, 100, 150], 100.0, 37.065, False),
    "too few weeks": ([None, None, 100, 100, 400], 100.0, 0.0, False),
    "silent": ([100, 110, 90, 100, None], 100.0, 7.413, True),
}
"""Queue → jobs published on five Mondays, the last one today; what is usual, its spread, whether it is flagged."""

DAY_MS = 86_400_000

WEEKLY = "weekly"
"""Their namespace."""

AGAIN = "again"
"""The namespace of a job whose lease was lost before midnight, and that was handed out anew after it."""

MONDAYS = ("2026-03-02", "2026-03-09", "2026-03-16", "2026-03-23")
"""Of past weeks."""

BEFORE = "2026-03-26"
"""A day with events that nobody has reported."""

DAYS = ("2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30")


ORDER = (DAYS[2], DAYS[3], DAYS[1])
"""In which the days but the first are reported. Two are made again: the first of them before it had a predecessor, the
other one after something else."""


@dataclass(frozen=True, slots=True)
class Reports:
    """Where they are, the events of the lake, and the runs of each day."""

    out: Path
    lake: Path
    events: list[Event]
    runs: Mapping[str, Sequence[str]]

    def table(self, day: str, name: str) -> list[dict[str, Any]]:
        """Of the day's newest run."""
        return read_table(self.out, day, name, self.runs[day][-1])

    def backlogs(self, day: str, namespace: str = "ns") -> dict[tuple[str, int | None], tuple[int, bool]]:
        """The same."""
        return backlogs(self.out, day, namespace, run=self.runs[day][-1])


@pytest.fixture(scope="module")
def reports(run_day: RunDay, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Of four days in a row, the second without events, each of which takes something from the one before, reported in
    ORDER. For the last, a Monday, there are reports of past weeks."""
    lake, out = tmp_path_factory.mktemp("lake"), tmp_path_factory.mktemp("out")
    monday = [
        one
        for queue, (counts, *_) in CASES.items()
        for one in published(DAYS[3], counts[-1] or 0, queue=queue, namespace=WEEKLY)
    ]
    lost = ms(f"{DAYS[2]}T23:59"), ms(f"{DAYS[3]}T00:01")
    again = [
        event(kind, at, namespace=AGAIN, job="J0", attempt=attempt, published=lost[0])
        for kind, at, attempt in zip(("lease_lost", "consumed"), lost, (1, 2), strict=True)
    ]
    first = [*acked(DAYS[0], 4, hour=9), *published(DAYS[0], 5), *acked(DAYS[0], 2)]
    later = [*acked(DAYS[2], 1), *acked(DAYS[3], 1)]
    events = [*published(BEFORE, 1), *first, *later, *again, *monday]
    write_lake(lake, events)
    run_day(lake, out, DAYS[0])
    make_current(out, DAYS[0])
    return Reports(out, lake, events, {DAYS[0]: ["one"], **report_in_order(run_day, lake, out, ORDER)})


def test_without_the_report_of_the_day_before_a_day_begins_with_what_it_takes(reports: Reports) -> None:
    assert reports.backlogs(DAYS[0]) == {
        (queue, hour): (jobs, False) for queue in ("q", "") for hour, jobs in ((9, 0), (10, 5), (11, 3), (None, 3))
    }


def test_a_backlog_goes_on_over_midnight_and_through_days_without_events(reports: Reports) -> None:
    """As little known as it began."""
    assert reports.backlogs(DAYS[1]) == {("q", None): (3, False), ("", None): (3, False)}
    for day, left in zip(DAYS[2:], (2, 1), strict=True):
        assert reports.backlogs(day) == {(queue, hour): (left, False) for queue in ("q", "") for hour in (11, None)}


def test_a_lease_that_was_lost_before_midnight_makes_a_duplicate_after_it(reports: Reports) -> None:
    rows = reports.table(DAYS[3], "figures")

    assert {(row["namespace"], row["queue"], row["hour"]) for row in rows if row["duplicates"]} == {
        (AGAIN, queue, hour) for queue in ("q", "") for hour in (0, None)
    }


def test_a_day_without_events_is_reported_as_such(reports: Reports) -> None:
    summary = read_summary(reports.out, DAYS[1], reports.runs[DAYS[1]][-1])

    assert (summary["events"], summary["files"], summary["demo"]) == (0, 0, False)
    (warning,) = summary["warnings"]
    where = f"no events of it in file://{reports.lake}, which has days from {BEFORE} to {DAYS[3]}"
    assert warning["kind"] == "other"
    assert where in warning["text"]
    tables = ("histograms", "tries", "errors", "slow", "changes")  # `figures` has the backlog
    assert [reports.table(DAYS[1], table) for table in tables] == [[]] * len(tables)


def test_a_queue_that_a_report_does_not_name_began_the_next_day_with_nothing(reports: Reports) -> None:
    told = reports.backlogs(DAYS[3], namespace=WEEKLY)

    assert told["grown", None] == (400, True)
    assert told["", None] == (sum(counts[-1] or 0 for counts, *_ in CASES.values()), True)


def test_a_day_is_held_against_the_same_weekday(reports: Reports) -> None:
    told = [row for row in reports.table(DAYS[3], "changes") if row["hour"] is None]
    rows = {row["queue"]: row for row in told if row["figure"] == "published"}

    assert [reports.table(day, "changes") for day in DAYS[:3]] == [[], [], []]
    assert rows.keys() == CASES.keys()
    for queue, (counts, usual, spread, flagged) in CASES.items():
        row = rows[queue]
        past = [number for number in counts[:-1] if number is not None]
        assert (row["value"], row["usual"], row["weeks"]) == (counts[-1] or 0, usual, len(past)), queue
        assert row["spread"] == pytest.approx(spread), queue
        assert row["flagged"] is flagged, queue


def write_past(out: Path) -> None:
    """Reports of past weeks."""
    for week, day in enumerate(MONDAYS):
        write_figures(out, day, {queue: case[0][week] for queue, case in CASES.items()})


def write_figures(out: Path, day: str, counts: Mapping[str, int | None]) -> None:
    """The report of a past day, with what a later one takes from it; None: the queue has no row."""
    folder = out / f"date={day}" / "run=one" / "figures.parquet"
    folder.mkdir(parents=True)
    zeros = dict.fromkeys(("acked", "failed", "dead"), 0)
    nothing = dict.fromkeys(("hour", "success_rate", "wait_p95", "run_p95"))
    told = {queue: number for queue, number in counts.items() if number is not None}
    rows = [
        {"pool": "default", "namespace": WEEKLY, "queue": queue, "published": number, **zeros, **nothing}
        for queue, number in told.items()
    ]
    texts = dict.fromkeys(expected.SCOPE, pa.string())
    types = texts | {"hour": pa.int32(), "success_rate": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.int64())) for name in rows[0]])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "part.parquet")
    make_current(out, day)


@dataclass(frozen=True, slots=True)
class LateHours:
    """The events of some hours (day, hour) that come into the lake once so many reports were made."""

    hours: Collection[tuple[str, int]]
    reports: int

    @property
    def days(self) -> set[str]:
        return {day for day, _ in self.hours}


def report_in_order(
    run_day: RunDay, whole_lake: Path, out: Path, order: Sequence[str], late: LateHours | None = None
) -> dict[str, list[str]]:
    """Report all days but the first, of which `out` has the report, in that order, and then those once more whose
    predecessor hands on something else by now; day → its runs. The second one had been reported before it was over.

    When late events come, their days are made again, and the days after them, as the nightly run does.
    """
    write_past(out)
    shutil.copytree(out / f"date={DAYS[0]}", out / f"date={DAYS[1]}")
    place = out / f"date={DAYS[1]}" / "run=one" / "summary.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"date": DAYS[1], "complete": False}))
    runs: dict[str, list[str]] = {day: [] for day in DAYS[1:]}
    lake = whole_lake
    if late:
        lake = out / "lake"
        shutil.copytree(whole_lake, lake, ignore=lambda folder, _: ["made.parquet"] if is_late(folder, late) else [])

    def make(day: str) -> None:
        run = f"late{sum(map(len, runs.values()))}"
        run_day(lake, out, day, run=run)
        make_current(out, day, run)
        runs[day].append(run)

    def make_again(changed: Collection[str] = ()) -> None:
        for before, day in pairwise(DAYS[1:]):
            if runs[day] and (day in changed or (runs[before] and is_outdated(before, day))):
                make(day)

    def is_outdated(before: str, day: str) -> bool:
        predecessor = read_summary(out, day, runs[day][-1])["predecessor"] or {}
        return bool(predecessor.get("handed_on") != read_summary(out, before, runs[before][-1])["handed_on"])

    for number, day in enumerate(order, 1):
        make(day)
        if late and number == late.reports:
            shutil.copytree(whole_lake, lake, dirs_exist_ok=True)
            make_again(late.days)
    make_again()
    return runs


def is_late(folder: str, late: LateHours) -> bool:
    return any(folder.endswith(hour_dir(ms(f"{day}T{hour:02d}:00"))) for day, hour in late.hours)


def read_summary(out: Path, day: str, run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / f"date={day}" / f"run={run}" / "summary.json").read_text())
    return found


def check_order(reports: Reports, out: Path, order: Sequence[str], runs: Mapping[str, Sequence[str]]) -> None:
    """Fail unless the newest runs say what those of `reports` say, which were made in another order."""
    check_runs(order, runs)
    for day, made in runs.items():
        for table in ("figures", "histograms", "tries", "errors", "slow", "changes"):
            assert read_table(out, day, table, made[-1]) == reports.table(day, table), (day, table)


def check_runs(order: Sequence[str], runs: Mapping[str, Sequence[str]]) -> None:
    """Fail unless each day was made again that was made before the one before it."""
    too_early = {day for before, day in pairwise(DAYS[1:]) if order.index(day) < order.index(before)}
    assert too_early <= {day for day, made in runs.items() if len(made) > 1}


HOURS_WITH_EVENTS = ((DAYS[2], 11), (DAYS[2], 23), (DAYS[3], 0), (DAYS[3], 10), (DAYS[3], 11))
"""Of days that are reported in several orders."""


def test_days_may_be_reported_in_any_order(reports: Reports) -> None:
    """As long as each is made again whose predecessor hands on something else by now: then all say what plain Python
    says of one day after the other."""
    assert [len(reports.runs[day]) for day in ORDER] == [2, 2, 1]
    check_runs(ORDER, reports.runs)
    events = {
        day: [one for one in reports.events if one["at"] // DAY_MS == ms(day) // DAY_MS] for day in (BEFORE, *DAYS)
    }
    left: dict[tuple[Any, ...], tuple[int, bool]] = {}
    for before, day in pairwise((BEFORE, *DAYS)):
        told = expected.figures(events[day], events[before])
        found = expected.backlogs(told, left, known=day != DAYS[0])
        expected.check_figures(reports.table(day, "figures"), told, found)
        run = reports.runs[day][-1]
        expected.check_other_tables(reports.out, day, today=events[day], before=events[before], run=run)
        left = {key[:3]: backlog for key, backlog in found.items() if key[2] and key[3] is None}


@pytest.mark.thorough
@settings(max_examples=3, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate])
@given(st.permutations(DAYS[1:]).filter(lambda order: tuple(order) != ORDER))
def test_days_may_be_reported_in_yet_other_orders(run_day: RunDay, reports: Reports, order: Sequence[str]) -> None:
    with begun(reports) as out:
        check_order(reports, out, order, report_in_order(run_day, reports.lake, out, order))


@contextmanager
def begun(reports: Reports) -> Iterator[Path]:
    """A place that has the report of the first day only."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(reports.out / f"date={DAYS[0]}", Path(folder) / f"date={DAYS[0]}")
        yield Path(folder)


@st.composite
def late_hours(draw: st.DrawFn) -> tuple[list[str], LateHours]:
    """An order of days, and hours of at least one day that was reported before they came."""
    order = draw(st.permutations(DAYS[1:]))
    number = draw(st.integers(1, len(order)))
    hours = draw(st.sets(st.sampled_from(HOURS_WITH_EVENTS), min_size=1, max_size=2))
    late = LateHours(hours, number)
    return order, late


@pytest.mark.thorough
@settings(max_examples=4, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate])
@given(late_hours().filter(lambda drawn: drawn[1].days & set(drawn[0][: drawn[1].reports])))
def test_late_events_may_come_between_reports_in_any_order(
    run_day: RunDay, reports: Reports, drawn: tuple[list[str], LateHours]
) -> None:
    order, late = drawn
    with begun(reports) as out:
        runs = report_in_order(run_day, reports.lake, out, order, late)
        check_order(reports, out, order, runs)
        assert all(len(runs[day]) > 1 for day in late.days & set(order[: late.reports]))


def test_a_report_of_a_day_that_went_on_does_not_say_what_the_next_day_began_with(reports: Reports) -> None:
    out, first = reports.out, reports.runs[DAYS[2]][0]
    assert read_summary(out, DAYS[2], first)["predecessor"] is None
    rows = [row for row in read_table(out, DAYS[2], "figures", first) if row["namespace"] == "ns"]
    assert {(row["queue"], row["backlog"], row["backlog_base_known"]) for row in rows} == {
        ("q", 0, False),
        ("", 0, False),
    }
