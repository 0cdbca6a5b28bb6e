"""Compaction changes files and no event, wherever it is killed, and whatever turns up afterwards."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queues.lake import compact as module
from queues.lake.compact import CompactionCounts, compact_day
from queues.lake.files import DamagedFile, read_day, read_hour
from queues.lake.lines import Entries
from queues.lake.names import EntryId, drained_name
from queues.lake.storage import Storage
from queues.lake.writer import Writer
from tests.support.lake import EventName, Lake

DAY = date(2030, 3, 17)
AT_MS = 1_900_000_000_000
HOUR = "date=2030-03-17/hour=17"
POOL = "default"


class Drained:
    """A lake that small files are written to."""

    def __init__(self, url: str) -> None:
        self.lake = Lake(url)
        self.next_ms = AT_MS
        self.told: Counter[EventName] = Counter()
        self.written: list[str] = []

    def add(self, *, partition: int = 0, entries: int = 10, pool: str = POOL) -> str:
        """A file more. Its path."""
        first, self.next_ms = self.next_ms, self.next_ms + entries
        return self.put(first, self.next_ms - 1, partition=partition, pool=pool)

    def put(self, first: int, last: int, *, partition: int = 0, pool: str = POOL) -> str:
        """A file with entries of these times."""
        times = range(first, last + 1)
        name = drained_name(pool, partition, EntryId(first, 0), EntryId(last, 0))
        batch = Entries(
            [b"%d-0" % ms for ms in times],
            [b"%d" % ms for ms in times],
            [b"shop/q%d" % (ms * 7 % 5) for ms in times],
            [b"published\tj%d\t\t\t\t5\t\t\npurged\tj%d\t\t\t\t\t\t" % (ms, ms) for ms in times],
        )
        Writer(self.lake.url, pool).write(name, batch)
        self.told |= Counter(EventName(pool, partition, ms, 0, line) for ms in times for line in range(2))
        self.written.append(f"{HOUR}/{name}")
        return self.written[-1]

    def compact(self) -> CompactionCounts:
        return compact_day(self.lake.url, DAY)

    def check(self) -> None:
        assert self.lake.names() == self.told
        assert read_day(self.lake.url, DAY).rows == self.told.total()


@pytest.fixture(params=["local", "memory"])
def drained(request: pytest.FixtureRequest, tmp_path: Path) -> Drained:
    return Drained(str(tmp_path / "lake") if request.param == "local" else f"memory://lake-{os.urandom(4).hex()}")


@pytest.fixture
def local(tmp_path: Path) -> Drained:
    return Drained(str(tmp_path / "lake"))


def test_many_files_become_one_with_the_same_events(drained: Drained) -> None:
    for number in range(12):
        drained.add(partition=number % 3)

    counts = drained.compact()

    drained.check()
    assert (counts.hours, counts.files_before, counts.files_after, counts.rows) == (1, 12, 1, 240)
    assert counts.problems == ()
    assert 0 < counts.bytes_after < counts.bytes_before
    (compacted, manifest) = sorted(drained.lake.everything())
    assert drained.lake.files() == [manifest if manifest.endswith(".parquet") else compacted]


def test_the_result_is_sorted_so_that_one_queue_lies_together(drained: Drained) -> None:
    for number in range(5):
        drained.add(pool=f"pool{number % 2}")
    drained.compact()

    rows = drained.lake.table().to_pylist()

    assert rows == sorted(rows, key=lambda row: (row["pool"], row["namespace"], row["queue"], row["kind"], row["at"]))


def test_much_is_merged_in_portions(drained: Drained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PORTION_ROWS", 50)
    monkeypatch.setattr(module, "GROUP_ROWS", 20)
    for _ in range(9):
        drained.add()

    drained.compact()

    drained.check()
    storage = Storage(drained.lake.url)
    with storage.open(drained.lake.files()[0], "rb") as file:
        groups = pq.ParquetFile(file).metadata
        assert groups.num_row_groups >= 4
        assert all(groups.row_group(number).num_rows <= 20 for number in range(groups.num_row_groups))


def test_once_it_is_to_stop_no_hour_is_begun(drained: Drained) -> None:
    drained.add()
    drained.add()
    stop = threading.Event()
    stop.set()

    assert compact_day(drained.lake.url, DAY, stop=stop) == CompactionCounts()
    assert drained.compact().hours > 0


def test_compacting_twice_changes_nothing(drained: Drained) -> None:
    drained.add()
    drained.add()
    drained.compact()
    before = drained.lake.everything()

    assert drained.compact() == CompactionCounts()
    assert drained.lake.everything() == before


def test_a_single_file_stays_as_it_is(drained: Drained) -> None:
    path = drained.add()

    assert drained.compact() == CompactionCounts()
    assert drained.lake.everything() == [path]


def test_what_comes_late_is_merged_by_the_next_compaction(drained: Drained) -> None:
    drained.add()
    drained.add()
    drained.compact()
    drained.add()
    drained.check()

    counts = drained.compact()

    drained.check()
    assert counts.files_before == 2
    assert len(drained.lake.everything()) == 2


@pytest.mark.parametrize("compactions", [1, 2])
def test_a_file_that_turns_up_again_after_it_was_compacted_does_not_count(drained: Drained, compactions: int) -> None:
    """A drain was asleep before it put its file into place."""
    for _ in range(compactions):
        drained.add()
        drained.add()
        drained.compact()
    zombie = drained.written[0]
    drained.put(AT_MS, AT_MS + 9)
    assert zombie in drained.lake.everything()

    drained.check()
    drained.compact()
    drained.check()
    assert zombie not in drained.lake.everything()


def test_a_file_that_overlaps_what_was_compacted_does_not_count(drained: Drained) -> None:
    """It was planned before Redis was set back, and its entries were planned anew in other portions."""
    drained.add()
    drained.add()
    drained.compact()
    told = drained.told.copy()
    drained.put(AT_MS, AT_MS + 14)

    drained.told = told
    drained.check()


def test_entries_that_were_compacted_are_known_as_written(drained: Drained) -> None:
    drained.add()
    drained.add()
    drained.compact()
    ids = [b"%d-0" % ms for ms in range(AT_MS + 15, AT_MS + 25)]
    batch = Entries(ids, [entry[:-2] for entry in ids], [b"shop/q"] * 10, [b"purged\tj\t\t\t\t\t\t"] * 10)
    name = drained_name(POOL, 0, EntryId(AT_MS + 15, 0), EntryId(AT_MS + 24, 0))
    writer = Writer(drained.lake.url, POOL)

    assert writer.leading_run(name, batch) == (5, True)
    assert writer.leading_run(name, batch.part(5)) == (5, False)


class Killed(BaseException):
    """Nothing of the process runs after this."""


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("step", "call"), [("put", 1), ("put_written", 1), *(("delete", n) for n in range(1, 5))])
def test_a_compaction_that_is_killed_anywhere_loses_nothing_and_the_next_one_finishes(
    drained: Drained, monkeypatch: pytest.MonkeyPatch, step: str, call: int, after: bool
) -> None:
    for _ in range(2):
        drained.add()
    drained.compact()
    for _ in range(2):
        drained.add()
    with monkeypatch.context() as patch:
        patch.setattr(Storage, step, dying(getattr(Storage, step), call, after=after))
        with pytest.raises(Killed):
            drained.compact()
    drained.check()

    drained.compact()

    drained.check()
    assert len(drained.lake.files()) == 1
    if step != "put_written":  # an unfinished file may be somebody's who still writes
        assert len(drained.lake.everything()) == 2


def dying(whole: Callable[..., Any], call: int, *, after: bool) -> Callable[..., Any]:
    calls = 0

    def die(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and not after:
            raise Killed
        result = whole(*arguments)
        if calls == call:
            raise Killed
        return result

    return die


@pytest.mark.parametrize("step", ["read_hour", "read_rewritable", "count_rows", "_merge", "_write"])
def test_of_two_compactions_at_once_the_slower_one_does_no_harm(
    drained: Drained, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    drained.add()
    drained.add()
    whole = getattr(module, step)
    happened: list[bool] = []

    def sleepy(*arguments: Any) -> Any:
        result = whole(*arguments)
        if not happened:
            happened.append(True)
            drained.compact()
            drained.add()
            drained.compact()
        return result

    monkeypatch.setattr(module, step, sleepy)
    drained.compact()

    drained.check()
    drained.compact()
    drained.check()
    assert len(drained.lake.everything()) == 2


def test_a_file_that_cannot_be_read_is_named_and_left_alone(local: Drained) -> None:
    for _ in range(3):
        local.add()
    broken = Path(local.lake.url) / HOUR / "broken.parquet"
    broken.write_bytes(b"no Parquet")
    other = Path(local.lake.url) / HOUR / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), other)

    day = read_day(local.lake.url, DAY)
    counts = local.compact()

    assert [(url.rpartition("/")[2], reason.split(":")[0]) for url, reason, _ in day.corrupt] == [
        ("broken.parquet", "not readable as Parquet"),
        ("other.parquet", "has no column pool"),
    ]
    assert day.rows == local.told.total()
    assert [url.rpartition("/")[2] for url, _ in counts.problems] == ["broken.parquet", "other.parquet"]
    assert counts.files_before == 3
    assert broken.exists()


def test_a_file_with_a_sound_footer_and_broken_pages_stops_only_its_hour(local: Drained) -> None:
    local.add()
    path = Path(local.lake.url) / local.add(entries=2_000)
    content = bytearray(path.read_bytes())
    content[4:400] = b"\xff" * 396
    path.write_bytes(content)
    before = sorted(local.lake.everything())

    counts = local.compact()

    assert (counts.hours, len(counts.problems)) == (0, 1)
    assert sorted(local.lake.everything()) == before


def test_a_compacted_file_that_somebody_deleted_is_named(local: Drained) -> None:
    local.add()
    local.add()
    local.compact()
    (path,) = local.lake.files()
    (Path(local.lake.url) / path).unlink()

    assert read_day(local.lake.url, DAY).corrupt == (DamagedFile(Storage(local.lake.url).url(path), "is missing", 40),)


def test_a_compacted_file_without_its_manifest_counts_only_once_it_has_it(local: Drained) -> None:
    local.add()
    local.add()
    local.compact()
    folder = Path(local.lake.url) / HOUR
    (manifest,) = folder.glob("_compact-*.json")
    content = manifest.read_text()
    manifest.unlink()
    assert local.lake.files() == []

    manifest.write_text(content)

    local.check()
    assert json.loads(content)["sources"] == sorted(path.rpartition("/")[2] for path in local.written)


def test_an_old_compacted_file_without_a_manifest_is_deleted_and_a_young_one_is_not(local: Drained) -> None:
    local.add()
    folder = Path(local.lake.url) / HOUR
    old, young = (folder / f"compact-{letter * 20}.parquet" for letter in "ab")
    for path in (old, young):
        path.write_bytes(b"x")
    os.utime(old, (1e9, 1e9))

    local.compact()

    assert (old.exists(), young.exists()) == (False, True)
    assert len(read_hour(Storage(local.lake.url), HOUR).live) == 1
