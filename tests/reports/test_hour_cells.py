"""Hours are reduced once, in whatever order their events come; what is merged of them is what the raw events give."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from queues.lake.compact import compact_day
from queues.lake.names import EntryId, drained_name, hour_dir

from . import expected
from .conftest import RunDay
from .made import Event, event, ms, read_table, write_lake
from .test_figures import days, is_rich

DAY = "2026-03-29"


def arrive(lake: Path, events: Sequence[Event], number: int) -> None:
    """The events come into the lake as drained files, the `number`th ones of their hours."""
    for hour in sorted({hour_dir(one["at"]) for one in events}):
        name = drained_name("default", 0, EntryId(1_000 * number, 0), EntryId(1_000 * number + 999, 0))
        write_lake(lake, [one for one in events if hour_dir(one["at"]) == hour], name=str(name))


def pointers(out: Path, day: str = DAY) -> dict[int, str]:
    """Hour → the run whose cells of it count."""
    found = {}
    for path in (out / "cells" / f"date={day}").glob("hour=*.json"):
        found[int(path.stem.removeprefix("hour="))] = json.loads(path.read_text())["content"]["run"]
    return found


# A run takes seconds: one day, whose events come in four steps.
@settings(
    max_examples=1, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.explicit, Phase.generate]
)
@given(days().filter(is_rich), st.randoms(use_true_random=False))
def test_events_may_come_in_any_order_and_be_compacted_at_any_time(
    run_day: RunDay, made: tuple[str, list[Event]], dice: random.Random
) -> None:
    day, events = made
    today = [one for one in events if one["at"] >= ms(day)]
    before = [one for one in events if one["at"] < ms(day)]
    dice.shuffle(today)
    late = dice.randrange(1, 10)
    at_last, rest = today[:late], today[late:]
    hours = list({one["at"] // expected.HOUR for one in rest})
    dice.shuffle(hours)
    steps = [[one for one in rest if one["at"] // expected.HOUR in hours[step::3]] for step in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        lake, out = Path(folder) / "lake", Path(folder) / "out"
        arrive(lake, before, 0)
        for number, step in enumerate([*steps, at_last], 1):
            arrive(lake, step, number)
            if dice.random() < 0.5:
                compact_day(str(lake), date.fromisoformat(day))
            summary = run_day(lake, out, day, run=f"run{number}")
        assert summary["events"] == len(today)
        redone = {(one["at"] // expected.HOUR) % 24 for one in at_last}
        kept = {hour for hour, run in pointers(out, day).items() if not run.startswith("run4")}
        assert kept == {hour % 24 for hour in hours} - redone

        expected.check_report(out, day, today=today, before=before, run="run4")


def deliveries(hour: int, longest: Iterable[int] = range(1, 15), **others: Any) -> list[Event]:
    at = ms(f"{DAY}T{hour:02d}:00")
    return [
        event("consumed", at + each, job=f"01J{hour}-{each}", attempt=1, wait_ms=wait, worker="w", **others)
        for each, wait in enumerate(longest)
    ]


FIRST = [*deliveries(3), *deliveries(4)]
LATE = deliveries(4, [7])


@pytest.fixture(scope="module")
def reported(run_day: RunDay, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with two hours of a day, one of them in two files, and its report, which is right."""
    folder = tmp_path_factory.mktemp("reported")
    arrive(folder / "lake", FIRST, 1)
    arrive(folder / "lake", LATE, 2)
    run_day(folder / "lake", folder / "out", DAY, run="one")
    expected.check_report(folder / "out", DAY, today=[*FIRST, *LATE], before=[])
    assert pointers(folder / "out") == {3: "one-0", 4: "one-0"}
    return folder


@pytest.fixture
def places(reported: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A copy of them."""
    for name in ("lake", "out"):
        shutil.copytree(reported / name, tmp_path / name)
    return tmp_path / "lake", tmp_path / "out"


def test_a_late_event_costs_its_hour_and_no_other(run_day: RunDay, places: tuple[Path, Path]) -> None:
    lake, out = places
    later = deliveries(4, [8])
    arrive(lake, later, 3)

    run_day(lake, out, DAY, run="two")

    expected.check_report(out, DAY, today=[*FIRST, *LATE, *later], before=[], run="two")
    assert pointers(out) == {3: "one-0", 4: "two-0"}


def test_compaction_costs_no_hour(run_day: RunDay, places: tuple[Path, Path]) -> None:
    lake, out = places
    assert compact_day(str(lake), date.fromisoformat(DAY)).hours == 1

    run_day(lake, out, DAY, run="two")

    expected.check_report(out, DAY, today=[*FIRST, *LATE], before=[], run="two")
    assert pointers(out) == {3: "one-0", 4: "one-0"}


def test_the_first_report_of_today_reduces_the_last_hours_of_yesterday(
    run_day: RunDay, places: tuple[Path, Path]
) -> None:
    """So it is done within minutes of midnight, and the nightly report has nothing to reduce."""
    lake, out = places
    tomorrow = "2026-03-30"
    last = deliveries(23)
    arrive(lake, last, 3)
    arrive(lake, [event("published", ms(f"{tomorrow}T00:01"), job="01J", size=1)], 4)

    run_day(lake, out, tomorrow, run="midnight", today=tomorrow)

    assert pointers(out) == {3: "one-0", 4: "one-0", 23: "midnight-0"}
    run_day(lake, out, DAY, run="night")
    expected.check_report(out, DAY, today=[*FIRST, *LATE, *last], before=[], run="night")
    assert pointers(out) == {3: "one-0", 4: "one-0", 23: "midnight-0"}


def test_when_long_times_go_those_that_a_run_did_not_keep_are_looked_for_again(
    run_day: RunDay, places: tuple[Path, Path]
) -> None:
    """The ten slowest of both hours were all in the second, whose files are then deleted."""
    lake, out = places
    arrive(lake, deliveries(4, range(10_000, 10_020)), 3)
    run_day(lake, out, DAY, run="two")
    for file in lake.glob("*/hour=04/*"):
        file.unlink()

    run_day(lake, out, DAY, run="three")

    expected.check_report(out, DAY, today=deliveries(3), before=[], run="three")
    assert [row["ms"] for row in read_table(out, DAY, "slow", "three")] == list(range(14, 4, -1))


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a page": ("counts.parquet", lambda content: content[:20] + bytes([content[20] ^ 4]) + content[21:]),
    "a footer": ("values.parquet", lambda content: content[:-30] + bytes([content[-30] ^ 4]) + content[-29:]),
    "the end": ("notable.parquet", lambda content: content[:-100]),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_cells_that_are_damaged_are_made_again(run_day: RunDay, places: tuple[Path, Path], what: str) -> None:
    lake, out = places
    table, damage = DAMAGES[what]
    for path in (out / "cells" / f"date={DAY}" / "run=one-0" / table).glob("*.parquet"):
        path.write_bytes(damage(path.read_bytes()))

    summary = run_day(lake, out, DAY, run="two")

    expected.check_report(out, DAY, today=[*FIRST, *LATE], before=[], run="two")
    assert summary["corrupt"] == []
    assert {run.partition("-")[0] for run in pointers(out).values()} == {"two"}


def test_a_pointer_that_is_not_as_it_was_written_leads_nowhere(run_day: RunDay, places: tuple[Path, Path]) -> None:
    lake, out = places
    (out / "cells" / f"date={DAY}" / "hour=03.json").write_text("")
    wrong = json.loads((out / "cells" / f"date={DAY}" / "hour=04.json").read_text())
    wrong["content"]["run"] = "other"
    (out / "cells" / f"date={DAY}" / "hour=04.json").write_text(json.dumps(wrong))

    run_day(lake, out, DAY, run="two")

    expected.check_report(out, DAY, today=[*FIRST, *LATE], before=[], run="two")
    assert pointers(out) == {3: "two-0", 4: "two-0"}
