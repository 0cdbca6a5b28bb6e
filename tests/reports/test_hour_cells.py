"""Hours are reduced once. Cells that no longer fit, or are damaged, are made again, and others stay."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from queues.lake.compact import compact_day
from queues.lake.schema import arrow_schema
from queues.lake.writer import parquet_bytes
from queues.reports.day import DayReport
from queues.reports.day_tables import OpeningBacklog, Totals, WrittenTables

from . import expected
from .conftest import ReduceDay, RunDay
from .made import Event, arrive, event, ms, pointers, read_table

DAY = "2026-03-29"


def deliveries(hour: int, longest: Iterable[int] = range(1, 15), **others: Any) -> list[Event]:
    at = ms(f"{DAY}T{hour:02d}:00")
    return [
        event("consumed", at + each, job=f"01J{hour}-{each}", attempt=1, wait_ms=wait, worker="w", **others)
        for each, wait in enumerate(longest)
    ]


TOMORROW = "2026-03-30"
EMPTY, LATE, UNTOUCHED, COMPACTED, SLOW, SLOWEST, LAST = 2, 3, 4, 5, 14, 15, 23
"""Hours, by what becomes of them; EMPTY has a file without events. The slowest jobs of SLOWEST's queue are all in it,
the others in SLOW."""

POINTERS: dict[str, tuple[int, Callable[[dict[str, Any]], str]]] = {
    "empty": (6, lambda _told: ""),
    "to another run": (7, lambda told: json.dumps({**told, "content": {**told["content"], "run": "other"}})),
    "of other events": (11, lambda told: json.dumps({**told, "content": {**told["content"], "events": 1}})),
}
"""What has become of an hour's pointer → which hour, and what is written there instead."""

DAMAGES: dict[str, tuple[int, str, Callable[[bytes], bytes]]] = {
    "page": (8, "counts.parquet", lambda content: content[:20] + bytes([content[20] ^ 4]) + content[21:]),
    "footer": (9, "values.parquet", lambda content: content[:-30] + bytes([content[-30] ^ 4]) + content[-29:]),
    "end": (10, "notable.parquet", lambda content: content[:-100]),
}
"""What is damaged, of the cells of an hour → which hour, and how."""


NO_TABLES = WrittenTables(
    Totals(events=1, demo=False, by_kind={"published": 1}, last_at_ms=None),
    OpeningBacklog(None, is_known=True, differences=""),
    handed_on="",
)
"""Of the first report of TOMORROW, of which only the cells matter here."""


@dataclass(frozen=True, slots=True)
class Night:
    """Where the report of a day is, what had happened on the day, and which runs' cells counted before and after.

    `before_midnight`: once the hours but the last one had cells; `evening`: once the first report of the next day was
    made; `morning`: after the day's report.
    """

    out: Path
    events: list[Event]
    before_midnight: dict[int, str]
    evening: dict[int, str]
    morning: dict[int, str]
    summary: dict[str, Any]


@pytest.fixture(scope="module")
def night(run_day: RunDay, reduce_day: ReduceDay, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """The report of a day whose hours had cells, to which all sorts of things have happened since."""
    folder = tmp_path_factory.mktemp("night")
    lake, out = folder / "lake", folder / "out"
    events: list[Event] = []

    def come(more: Sequence[Event], number: int) -> None:
        arrive(lake, more, number)
        events.extend(more)

    for hour in (LATE, UNTOUCHED, COMPACTED, *(hour for hour, _ in POINTERS.values())):
        come(deliveries(hour), 1)
    come(deliveries(COMPACTED, [7]), 2)
    empty = lake / f"date={DAY}" / f"hour={EMPTY:02d}" / "empty.parquet"
    empty.parent.mkdir()
    empty.write_bytes(parquet_bytes(arrow_schema().empty_table()))
    reduce_day(lake, out, DAY, run="whole-0")
    for what, (hour, *_) in DAMAGES.items():
        come(deliveries(hour), 1)
        reduce_day(lake, out, DAY, run=f"{what}-0")
    come(deliveries(SLOW, queue="slow"), 1)
    arrive(lake, deliveries(SLOWEST, range(10_000, 10_020), queue="slow"), 1)
    reduce_day(lake, out, DAY, run="slow-0")
    before_midnight = pointers(out, DAY)
    come(deliveries(LAST), 1)
    arrive(lake, [event("published", ms(f"{TOMORROW}T00:01"), job="01J", size=1)], 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DayReport, "_write_tables", lambda _report: NO_TABLES)
        run_day(lake, out, TOMORROW, run="midnight", today=TOMORROW)
    evening = pointers(out, DAY)

    assert compact_day(str(lake), date.fromisoformat(DAY)).hours == 1
    come(deliveries(LATE, [8]), 3)
    for hour, spoil in POINTERS.values():
        pointer = out / "cells" / f"date={DAY}" / f"hour={hour:02d}.json"
        pointer.write_text(spoil(json.loads(pointer.read_text())))
    for what, (_, table, damage) in DAMAGES.items():
        for path in (out / "cells" / f"date={DAY}" / f"run={what}-0" / table).glob("*.parquet"):
            path.write_bytes(damage(path.read_bytes()))
    for file in lake.glob(f"*/hour={SLOWEST}/*"):
        file.unlink()
    summary = run_day(lake, out, DAY, run="night")
    return Night(out, events, before_midnight, evening, pointers(out, DAY), summary)


def runs_of(cells: dict[int, str], *hours: int) -> list[str]:
    """Which report's cells count of these hours; one has several runs, if it begins again."""
    return [cells[hour].partition("-")[0] for hour in hours]


def test_whatever_has_become_of_cells_the_report_is_what_the_events_say(night: Night) -> None:
    expected.check_report(night.out, DAY, today=night.events, before=[], run="night")
    assert night.summary["corrupt"] == []


def test_a_late_event_costs_its_hour_and_no_other(night: Night) -> None:
    assert runs_of(night.morning, LATE, UNTOUCHED) == ["night", "whole"]


def test_compaction_costs_no_hour(night: Night) -> None:
    assert runs_of(night.morning, COMPACTED) == ["whole"]


def test_the_first_report_of_today_reduces_the_last_hours_of_yesterday(night: Night) -> None:
    """So it is done within minutes of midnight, and the nightly report has nothing to reduce."""
    assert night.evening == {**night.before_midnight, LAST: "midnight-0"}
    assert night.morning[LAST] == "midnight-0"


def test_when_long_times_go_those_that_a_run_did_not_keep_are_looked_for_again(night: Night) -> None:
    """The ten slowest of both hours were all in the second, whose files are then deleted."""
    assert runs_of(night.before_midnight, SLOW, SLOWEST) == ["slow", "slow"]
    assert runs_of(night.morning, SLOW) == ["night"]
    slow = [row["ms"] for row in read_table(night.out, DAY, "slow", "night") if row["queue"] == "slow"]
    assert slow == list(range(14, 4, -1))


@pytest.mark.parametrize("what", DAMAGES)
def test_cells_that_are_damaged_are_made_again(night: Night, what: str) -> None:
    hour = DAMAGES[what][0]
    assert runs_of(night.evening, hour) == [what]
    assert runs_of(night.morning, hour) == ["night"]


@pytest.mark.parametrize("what", POINTERS)
def test_a_pointer_that_is_not_as_it_was_written_leads_nowhere(night: Night, what: str) -> None:
    hour = POINTERS[what][0]
    assert runs_of(night.evening, hour) == ["whole"]
    assert runs_of(night.morning, hour) == ["night"]
