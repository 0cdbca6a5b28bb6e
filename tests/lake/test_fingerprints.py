"""A fingerprint of an hour changes with the events that count, and with nothing else."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from queues.lake.compact import compact_day
from queues.lake.files import DamagedFile, read_day
from queues.lake.fingerprints import hour_fingerprints
from tests.reports.made import Event, arrive, event, ms

DAY = date(2026, 3, 29)


def events(hour: int, number: int = 3) -> list[Event]:
    return [event("published", ms(f"{DAY}T{hour:02d}:00") + each, job=f"J{each}", size=1) for each in range(number)]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for number in (1, 2):
        arrive(tmp_path, [*events(3), *events(4)], number)
    return tmp_path


def fingerprints(lake: Path, *left_out: DamagedFile, definition: str = "1") -> dict[int, str]:
    return hour_fingerprints(read_day(str(lake), DAY), left_out, definition=definition)


def test_compaction_does_not_change_it_however_often(lake: Path) -> None:
    before = fingerprints(lake)
    compact_day(str(lake), DAY)
    assert fingerprints(lake) == before

    arrive(lake, events(4), 3)
    grown = fingerprints(lake)
    assert grown[3] == before[3]
    assert grown[4] != before[4]
    compact_day(str(lake), DAY)
    assert fingerprints(lake) == grown


def test_a_file_that_a_manifest_names_and_turns_up_again_does_not_change_it(lake: Path) -> None:
    (path, *_) = sorted(lake.glob("*/hour=03/*.parquet"))
    content, before = path.read_bytes(), fingerprints(lake)
    compact_day(str(lake), DAY)

    path.write_bytes(content)

    assert fingerprints(lake) == before


def test_damage_changes_it_whoever_finds_it(lake: Path) -> None:
    before = fingerprints(lake)
    file = next(file for file in read_day(str(lake), DAY).live if "hour=03" in file.url)
    found = fingerprints(lake, DamagedFile(file.url, "is damaged", file.rows))
    Path(file.url.removeprefix("file://")).write_bytes(b"PAR1")
    listed = fingerprints(lake)

    assert len({before[3], found[3], listed[3]}) == 3
    assert before[4] == found[4] == listed[4]


def test_so_does_another_definition_of_what_is_made_of_the_events(lake: Path) -> None:
    assert fingerprints(lake, definition="2").keys() == fingerprints(lake).keys()
    assert set(fingerprints(lake, definition="2").values()).isdisjoint(fingerprints(lake).values())


def test_a_file_that_no_drain_wrote_is_told_by_its_size(lake: Path) -> None:
    before = fingerprints(lake)
    other = lake / f"date={DAY}" / "hour=03" / "mine.parquet"
    (drained, *_) = sorted(lake.glob("*/hour=04/*.parquet"))
    other.write_bytes(drained.read_bytes())
    assert fingerprints(lake)[3] != before[3]
