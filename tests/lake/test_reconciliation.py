"""Whatever is done to the files of a day, the balance names the difference to the event."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from queues.lake.appended import read_appended, write_appended
from queues.lake.compact import compact_day
from queues.lake.demo import DemoPlan, write_demo
from queues.lake.files import Gap, read_day
from queues.lake.lines import Entries
from queues.lake.names import EntryId, drained_name
from queues.lake.reconciliation import PoolBalance, balance_day, describe_difference
from queues.lake.storage import Storage
from queues.lake.writer import Writer

DAY = date(2026, 3, 17)
START = int(datetime(2026, 3, 17, tzinfo=UTC).timestamp() * 1_000)
HOUR_MS = 3_600_000
POOLS = ("default", "other", "_" + "odd" * 40)
"""The last one is abbreviated in names."""


class Day:
    """A day of several pools, each event of which Redis counted."""

    def __init__(self, lake: Path) -> None:
        self.lake = lake
        self.storage = Storage(str(lake))
        self.told: Counter[str] = Counter()
        self.next_ms = START

    def drain(self, pool: str, events: int) -> Path:
        """A file with so many events."""
        times = range(self.next_ms, self.next_ms + events)
        self.next_ms += events
        name = drained_name(pool, 0, EntryId(times[0], 0), EntryId(times[-1], 0))
        lines = [b"published\tj%d\t\t\t\t5\t\t" % at for at in times]
        ids = [b"%d-0" % at for at in times]
        Writer(str(self.lake), pool).write(
            name, Entries(ids, [b"%d" % at for at in times], [b"shop/orders"] * events, lines)
        )
        self.told[pool] += events
        (path,) = self.lake.rglob(str(name))
        return path

    def balance(self, gaps: Sequence[Gap] = ()) -> dict[str, PoolBalance]:
        """By pool, as it is called."""
        for pool, events in self.told.items():
            write_appended(self.storage, pool, DAY, [events])
        files = read_day(str(self.lake), DAY)
        found = balance_day(
            self.storage,
            DAY,
            appended=read_appended(self.storage, DAY).events,
            live=files.live,
            damaged=files.corrupt,
            gaps=[*files.gaps, *gaps],
        )
        names = {"pool" + one.pool[4:] if len(one.pool) == 28 else one.pool: one for one in found}
        return {next((pool for pool in POOLS if pool == name), POOLS[2]): one for name, one in names.items()}

    def differences(self, gaps: Sequence[Gap] = ()) -> dict[str, int]:
        return {pool: one.difference for pool, one in self.balance(gaps).items()}


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path / "lake")


def gap(dropped: int, *, until_ms: int = START + HOUR_MS, from_ms: int | None = START) -> Gap:
    return Gap(pool="default", partition=0, dropped=dropped, from_ms=from_ms, until_ms=until_ms)


@pytest.mark.parametrize("seed", range(12))
def test_lost_repeated_and_damaged_files_are_told_to_the_event(day: Day, seed: int) -> None:
    """Some before compaction, some after it, of pools that share compacted files."""
    dice = random.Random(seed)
    files = [(pool, events, day.drain(pool, events)) for pool in POOLS for events in dice.sample(range(1, 400), 6)]
    assert day.differences() == dict.fromkeys(POOLS, 0)
    dice.shuffle(files)
    missing: Counter[str] = Counter()
    damaged: Counter[str] = Counter()
    for number, (pool, events, path) in enumerate(files[:9]):
        match dice.choice(["lost", "repeated", "damaged"]):
            case "lost":
                path.unlink()
                missing[pool] += events
            case "repeated":
                shutil.copy(path, path.with_name(f"copy-{number}.parquet"))
                missing[pool] -= events
            case "damaged":
                content = bytearray(path.read_bytes())
                content[-20] ^= 1
                path.write_bytes(content)
                damaged[pool] += events
    if dice.random() < 0.7:
        assert compact_day(str(day.lake), DAY).files_after == 1

    found = day.balance()

    assert {pool: one.difference for pool, one in found.items()} == {pool: missing[pool] for pool in POOLS}
    assert {pool: one.damaged for pool, one in found.items()} == {pool: damaged[pool] for pool in POOLS}
    assert {pool: one.appended for pool, one in found.items()} == day.told


def test_files_whose_pools_are_mixed_within_row_groups_are_looked_into(day: Day) -> None:
    for pool in POOLS:
        day.drain(pool, 30)
    compact_day(str(day.lake), DAY)
    (path,) = day.lake.rglob("compact-*.parquet")
    assert pq.ParquetFile(path).num_row_groups == 1
    assert day.differences() == dict.fromkeys(POOLS, 0)


@pytest.mark.parametrize(("pools", "opened"), [(POOLS[:1], 0), (POOLS[:2], 2)])
def test_sealed_files_that_executors_have_checked_are_not_opened_here(
    day: Day, monkeypatch: pytest.MonkeyPatch, pools: Sequence[str], opened: int
) -> None:
    """But for compacted ones that have events of several pools. One of two compacted hours was compacted twice."""
    for number in range(300):
        day.next_ms = START + number % 6 * HOUR_MS + number * 10
        day.drain(pools[number % 5 % len(pools)], 1 + number % 3)
    compact_day(str(day.lake), DAY, hours=[0, 1])
    day.next_ms = START + HOUR_MS - 10
    day.drain(pools[0], 3)
    compact_day(str(day.lake), DAY, hours=[0])
    sound = {file.url: file.rows for file in read_day(str(day.lake), DAY).live}
    assert len(sound) > 200
    paths: list[str] = []
    open_ = Storage.open

    def count(storage: Storage, path: str, mode: str) -> Any:
        paths.append(path)
        return open_(storage, path, mode)

    monkeypatch.setattr(Storage, "open", count)
    live = read_day(str(day.lake), DAY, check_seals=lambda _: sound).live
    (found, *others) = balance_day(day.storage, DAY, appended=day.told, live=live, damaged=(), gaps=())

    files = [path for path in paths if path.endswith(".parquet")]
    assert (len(files), len({*files})) == (opened, opened)
    assert {one.pool: one.in_lake for one in (found, *others)} == dict(day.told)


def test_events_that_were_made_up_count_for_nothing(day: Day) -> None:
    day.drain("default", 5)
    write_demo(str(day.lake), DemoPlan(first=DAY, days=1, jobs_per_day=200), tell=lambda _day, _events: None)
    assert day.differences() == {"default": 0}
    compact_day(str(day.lake), DAY)
    assert day.differences() == {"default": 0}


def test_what_gaps_explain_is_no_difference(day: Day) -> None:
    day.drain("default", 50)
    day.told["default"] += 10  # dropped
    assert day.differences() == {"default": 10}
    assert day.differences([gap(10)]) == {"default": 0}
    assert day.differences([gap(4)]) == {"default": 6}
    assert day.differences([gap(13)]) == {"default": -3}


@pytest.mark.parametrize("from_ms", [START - 1, None])
def test_a_gap_that_may_be_of_the_day_before_explains_any_part_of_itself(day: Day, from_ms: int | None) -> None:
    day.drain("default", 50)
    day.told["default"] += 10
    for dropped, difference in ((10, 0), (25, 0), (4, 6)):
        assert day.differences([gap(dropped, from_ms=from_ms)]) == {"default": difference}


def test_of_a_compacted_file_that_is_damaged_nobody_knows_how_many_are_of_which_pool(day: Day) -> None:
    for pool in POOLS[:2]:
        day.drain(pool, 30)
        day.drain(pool, 20)
    compact_day(str(day.lake), DAY)
    (path,) = day.lake.rglob("compact-*.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    day.drain("default", 7)

    found = day.balance()

    assert {pool: (one.in_lake, one.damaged, one.difference) for pool, one in found.items()} == {
        "default": (7, None, 0),
        "other": (0, None, 0),
    }


def test_of_one_pool_its_events_are_known_also_after_compaction(day: Day) -> None:
    day.drain("default", 30)
    day.drain("default", 20)
    compact_day(str(day.lake), DAY)
    (path,) = day.lake.rglob("compact-*.parquet")
    path.unlink()

    (found,) = day.balance().values()

    assert (found.damaged, found.difference) == (50, 0)


def test_a_pool_that_redis_did_not_count_is_told_without_a_difference(day: Day) -> None:
    day.drain("default", 30)
    day.told.clear()
    assert [(one.appended, one.in_lake, one.difference) for one in day.balance().values()] == [(None, 30, 0)]


LOST = "events are missing and nothing says why"


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((100, 90, 3, 2, 0), f"5 {LOST}: Redis appended 100, the lake has 90, 3 in damaged files, 2 dropped"),
        ((9, 1_209, 0, 0, 0), "there are 1,200 events more than Redis counted: Redis appended 9, the lake has 1,209"),
        ((10, 4, 0, 0, 2), f"4 {LOST}: Redis appended 10, the lake has 4, 2 dropped on this day or beside it"),
        ((10, 10, 0, 0, 0), ""),
    ],
)
def test_a_difference_is_told_with_all_that_it_follows_from(numbers: tuple[int, ...], words: str) -> None:
    appended, in_lake, damaged, dropped, around = numbers
    balance = PoolBalance(
        pool="p", appended=appended, in_lake=in_lake, damaged=damaged, dropped=dropped, dropped_around=around
    )
    assert describe_difference(balance) == (words and f"pool p: {words}")
