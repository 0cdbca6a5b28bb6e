"""A day that is deleted is gone as a whole, wherever the deletion is killed, and late events do not bring it back."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from queues.lake import __main__ as command
from queues.lake import writer as writer_module
from queues.lake.appended import read_appended, write_appended
from queues.lake.compact import compact_day
from queues.lake.counts import CountsWriter, newest_counts
from queues.lake.deletion import (
    Deletion,
    delete_day,
    deleted_days,
    find_deletion,
    remove_deleted,
)
from queues.lake.demo import DemoPlan, write_demo
from queues.lake.files import DayFiles, Gap, list_days, read_day
from queues.lake.lines import Entries
from queues.lake.measuring import Size, measure_lake
from queues.lake.names import DELETED, EntryId, drained_name, gap_name
from queues.lake.storage import LakeError, Storage
from queues.lake.writer import Writer

DAY = date(2026, 3, 17)
BEFORE, AFTER = DAY - timedelta(days=1), DAY + timedelta(days=1)
HOUR_MS = 3_600_000
NOTHING = DayFiles(live=(), corrupt=(), gaps=())


def ms(day: date, hour: int = 0) -> int:
    return int(datetime(day.year, day.month, day.day, hour, tzinfo=UTC).timestamp() * 1_000)


def write(url: str, *times: int) -> int:
    batch = Entries(
        [b"%d-0" % at for at in times],
        [b"%d" % at for at in times],
        [b"shop/orders"] * len(times),
        [b"published\tjob\t\t\t\t5\t\t"] * len(times),
    )
    return Writer(url, "default").write(drained_name("default", 0, EntryId(times[0], 0), EntryId(times[-1], 0)), batch)


@pytest.fixture(params=["local", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A lake of three days, each with events of two hours, counts, and gaps within it and into the next one."""
    url = str(tmp_path / "lake") if request.param == "local" else f"memory://lake-{os.urandom(4).hex()}"
    storage = Storage(url)
    for day in (BEFORE, DAY, AFTER):
        write(url, ms(day, 3), ms(day, 3) + 1)
        write(url, ms(day, 4))
        write_appended(storage, "default", day, [3])
        counts = CountsWriter(storage, "default", ms(day, 4), partitions=1)
        counts.end_partition(0, EntryId(0, 0), EntryId(0, 0))
        counts.put()
        for from_ms, until_ms in ((ms(day, 5), ms(day, 6)), (ms(day, 23), ms(day + timedelta(days=1), 1))):
            Writer(url, "default").write_gap(
                Gap(pool="default", partition=0, dropped=1, from_ms=from_ms, until_ms=until_ms)
            )
    return url


def delete(url: str, day: date = DAY) -> Deletion | None:
    size = measure_lake(url).days.get(day, Size())
    return delete_day(url, day, reason="older than 30 days", files=size.files, size=size.bytes)


def check_deleted(url: str, day: date = DAY) -> None:
    """That nothing of the day is left, and all of the others."""
    storage = Storage(url)
    assert read_day(url, day) == NOTHING
    assert list_days(url) == [BEFORE, AFTER]
    assert (read_appended(storage, day), newest_counts(storage, day)) == (({}, []), ([], []))
    assert not [path for path, _ in storage.walk() if f"date={day}" in path and not path.startswith(DELETED)]
    for other in (BEFORE, AFTER):
        assert (read_day(url, other).rows, read_appended(storage, other).events) == (3, {"default": 3})
        assert len(newest_counts(storage, other)[0]) == 1
    assert [len(read_day(url, other).gaps) for other in (BEFORE, AFTER)] == [2, 3]


def test_a_deleted_day_is_gone_with_its_counts_and_gaps_and_the_lake_says_why(url: str) -> None:
    whole = measure_lake(url)
    assert [size.files for size in whole.days.values()] == [2, 2, 2]

    deletion = delete(url)

    assert deletion is not None
    assert (deletion.day, deletion.files, deletion.bytes) == (DAY, 2, whole.days[DAY].bytes)
    check_deleted(url)
    assert find_deletion(Storage(url), DAY) == deletion
    assert str(deletion).startswith("the lake no longer has 2026-03-17: it was deleted on ")
    assert str(deletion).endswith(" UTC (older than 30 days)")
    assert find_deletion(Storage(url), BEFORE) is None
    assert measure_lake(url).days.keys() == {BEFORE, AFTER}


def test_it_is_deleted_once_however_many_do_it(url: str) -> None:
    assert delete(url) is not None
    assert delete(url) is None
    check_deleted(url)


def test_gaps_into_other_days_go_with_the_last_of_these(url: str) -> None:
    delete(url)
    delete(url, AFTER)
    delete(url, BEFORE)

    # The last one reaches into a day that is there still, as far as anybody knows.
    left = gap_name("default", 0, ms(AFTER, 23), ms(AFTER + timedelta(days=1), 1))
    assert [entry.name for entry in Storage(url).list("_gaps")] == [left]


@pytest.mark.parametrize("fatal", range(12))
def test_wherever_it_is_killed_the_day_is_whole_or_gone_and_the_rest_goes_later(
    url: str, fatal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0

    def killing(method: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > fatal:
                raise KeyboardInterrupt
            return method(*arguments)

        return step

    with monkeypatch.context() as patch:
        for name in ("put", "rename_dir", "delete_tree", "delete", "make_dir"):
            patch.setattr(Storage, name, killing(getattr(Storage, name)))
        with suppress(KeyboardInterrupt):
            delete(url)

    is_gone = DAY in deleted_days(Storage(url))
    assert is_gone == (fatal > 0)
    assert read_day(url, DAY).rows == (0 if is_gone else 3)
    if is_gone:
        remove_deleted(url)
    else:
        delete(url)
    check_deleted(url)
    assert remove_deleted(url) == []


def test_a_reader_that_knows_no_markers_finds_all_of_a_day_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a local disk: between any two files that are deleted."""
    lake = str(tmp_path / "lake")
    for hour in range(24):
        write(lake, ms(DAY, hour), ms(DAY, hour) + 1)
    seen = []
    rename, delete_tree = Storage.rename_dir, Storage.delete_tree

    def look() -> None:
        paths = [str(path) for path in tmp_path.glob("lake/date=*/hour=*/*.parquet")]
        seen.append(duckdb.read_parquet(paths).count("*").fetchall()[0][0] if paths else 0)

    def watched(method: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            look()
            result = method(*arguments)
            look()
            return result

        return step

    monkeypatch.setattr(Storage, "rename_dir", watched(rename))
    monkeypatch.setattr(Storage, "delete_tree", watched(delete_tree))
    look()
    delete(lake)

    assert seen[0] == 48
    assert set(seen) == {48, 0}
    assert seen == sorted(seen, reverse=True)


def test_events_that_come_for_a_deleted_day_are_left_out_and_noted(url: str, caplog: pytest.LogCaptureFixture) -> None:
    delete(url)
    at = ms(DAY, 3) + 5

    with caplog.at_level(logging.WARNING):
        assert write(url, at, at + 1, ms(AFTER, 7)) == 3  # they have been dealt with: the drain takes them out

    assert read_day(url, DAY) == NOTHING
    assert list_days(url) == [BEFORE, AFTER]
    assert read_day(url, AFTER).rows == 4
    assert (caplog.records[-1].__dict__["action"], caplog.records[-1].__dict__["events"]) == ("events_too_late", 2)
    (note,) = [entry.name for entry in Storage(url).list(DELETED) if "-late-" in entry.name]
    assert json.loads(Storage(url).read(f"{DELETED}/{note}")) == {"day": "2026-03-17", "events": 2}
    assert deleted_days(Storage(url)) == {DAY}


def test_events_of_yesterday_cost_no_look_at_what_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "deleted_days", lambda _storage: pytest.fail("looked"))
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    assert write(str(tmp_path), ms(yesterday, 5)) == 1
    assert read_day(str(tmp_path), yesterday).rows == 1


def test_what_slips_in_while_the_day_is_deleted_does_not_count_and_goes_with_the_next_upkeep(url: str) -> None:
    slow = Writer(url, "default")
    delete(url)
    slow.storage.put(f"date={DAY}/hour=03/default-p0000-{'0' * 15}_{'0' * 10}-{'0' * 15}_{'0' * 10}.parquet", b"slept")

    assert (read_day(url, DAY), list_days(url)) == (NOTHING, [BEFORE, AFTER])
    assert compact_day(url, DAY).files_after == 0
    assert remove_deleted(url) == [DAY]
    check_deleted(url)


def test_a_damaged_marker_still_marks(url: str) -> None:
    delete(url)
    storage = Storage(url)
    storage.delete(f"{DELETED}/date={DAY}.json")
    storage.put(f"{DELETED}/date={DAY}.json", b"{half")

    check_deleted(url)
    assert "its note is damaged" in str(find_deletion(storage, DAY))


def test_the_command_that_looks_for_damage_passes_over_it(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    delete(url)
    assert command.main([url]) == 0
    assert capsys.readouterr().out == "4 files, 6 events; 0 damaged\n"


def test_a_lake_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / DELETED).write_text("in the way")
    with pytest.raises(LakeError):
        delete_day(str(tmp_path), DAY, reason="asked for", files=0, size=0)


def test_no_demo_data_is_made_of_a_deleted_day(url: str) -> None:
    delete(url)
    with pytest.raises(LakeError, match="the lake no longer has 2026-03-17"):
        write_demo(url, DemoPlan(first=BEFORE, days=3, jobs_per_day=10), tell=lambda _day, _events: None)
    assert measure_lake(url).days.keys() == {BEFORE, AFTER}
