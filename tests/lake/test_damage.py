"""A damaged file is named, with the number of its events, and costs no events of other files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queues.lake.__main__ import main
from queues.lake.compact import compact_day
from queues.lake.damage import find_damaged
from queues.lake.files import DamagedFile, LakeFile, read_batches, read_day
from queues.lake.lines import Entries
from queues.lake.names import EntryId, drained_name
from queues.lake.schema import arrow_schema
from queues.lake.storage import LakeError, Storage
from queues.lake.writer import Writer

from .test_views import open_lake

DAY = date(2030, 3, 17)
AT_MS = 1_900_000_000_000
FLIPS = 400


def write(lake: Path, *, first: int = AT_MS, rows: int = 300) -> None:
    """A file with a few hundred events of several kinds."""
    dice = random.Random(first)
    times = range(first, first + rows)
    lines = [
        b"consumed\tj%d\t%d\t%d\t\t512\tworker-%d\t" % (ms, 1 + dice.randrange(3), dice.randrange(10**6), ms % 3)
        if ms % 2
        else b"failed\tj%d\t1\t\t%d\t\tworker-1\terror %d" % (ms, dice.randrange(10**6), dice.randrange(9))
        for ms in times
    ]
    queues = [b"shop/q%d" % (ms % 4) for ms in times]
    name = drained_name("p", 0, EntryId(times[0], 0), EntryId(times[-1], 0))
    Writer(str(lake), "p").write(
        name, Entries([b"%d-0" % ms for ms in times], [b"%d" % ms for ms in times], queues, lines)
    )


def only_file(lake: Path) -> Path:
    (file,) = lake.rglob("*.parquet")
    return file


@pytest.fixture
def drained(tmp_path: Path) -> Path:
    """A lake with one file, as it was drained."""
    write(tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture
def compacted(tmp_path: Path) -> Path:
    """A lake with one file, which was made of two."""
    lake = tmp_path / "lake"
    write(lake)
    write(lake, first=AT_MS + 1_000)
    assert compact_day(str(lake), DAY).files_after == 1
    return lake


def listed(lake: Path) -> tuple[list[LakeFile], list[DamagedFile]]:
    day = read_day(str(lake), DAY)
    return list(day.live), list(day.corrupt)


def events(lake: Path, file: Path) -> Any:
    """Raises LakeError."""
    batches = list(read_batches(Storage(str(lake)), str(file.relative_to(lake)), rows=1_000))
    return pa.Table.from_batches(batches)


def flipped(sound: bytes, seed: int) -> Iterator[tuple[int, bytes]]:
    """The bit's place in the file, and what the file is with it flipped."""
    dice = random.Random(seed)
    for _ in range(FLIPS):
        at, bit = dice.randrange(len(sound)), dice.randrange(8)
        yield 8 * at + bit, sound[:at] + bytes([sound[at] ^ 1 << bit]) + sound[at + 1 :]


@pytest.mark.parametrize("kind", ["drained", "compacted"])
def test_of_400_flipped_bits_none_goes_unnoticed_and_each_file_is_named(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """Unnoticed: reading it gives other events and no error. A flip that leaves all values as they were, such as in a
    page's header where it says what no reader needs, may be read; to look for damage names that, too."""
    lake: Path = request.getfixturevalue(kind)
    file = only_file(lake)
    sound, written = file.read_bytes(), events(lake, file)
    rows = len(written)
    ((live,), ()) = listed(lake)
    unnoticed, unnamed, harmless = [], [], 0

    for place, content in flipped(sound, seed=1):
        file.write_bytes(content)
        try:
            if events(lake, file).equals(written):
                harmless += 1
            else:
                unnoticed.append(place)
        except LakeError as error:
            if live.url not in str(error):
                unnamed.append(place)
        found, damaged = listed(lake)
        if [(one.url, one.rows) for one in (*damaged, *find_damaged(found))] != [(live.url, rows)]:
            unnamed.append(place)

    assert (unnoticed, unnamed) == ([], [])
    assert harmless < FLIPS // 4
    file.write_bytes(sound)
    assert find_damaged([live]) == []


def cut(sound: bytes) -> bytes:
    return sound[: len(sound) // 2]


def with_another_end(sound: bytes) -> bytes:
    """The footer's length is one that no file has."""
    return sound[:-8] + b"\xff\xff\xff\x7f" + sound[-4:]


def with_a_zeroed_footer(sound: bytes) -> bytes:
    length = int.from_bytes(sound[-8:-4], "little")
    return sound[: -8 - length] + bytes(length) + sound[-8:]


def without_its_seal(sound: bytes) -> bytes:
    at = sound.rfind(b"\x00taskq\x01\x00")
    return sound[:at] + bytes(28) + sound[at + 28 :]


@pytest.mark.parametrize(
    ("spoil", "reason", "rows"),
    [
        (lambda _: b"", "not readable as Parquet: no Parquet footer at the end of 0 bytes", None),
        (lambda _: b"PAR1", "not readable as Parquet: no Parquet footer at the end of 4 bytes", None),
        (lambda _: b"kind,at\ndead,1\n", "not readable as Parquet: no Parquet footer at the end of 15 bytes", None),
        (cut, "not readable as Parquet: no Parquet footer at the end of", None),
        (lambda sound: sound[:-1], "not readable as Parquet: no Parquet footer at the end of", 300),
        (with_another_end, "not readable as Parquet: the footer is longer than the file", 300),
        (with_a_zeroed_footer, "is damaged: its footer is not the one that was written", 300),
        (without_its_seal, "is damaged: there is no seal before its footer", 300),
    ],
    ids=["empty", "only magic", "text", "cut in half", "cut by a byte", "other length", "zeroed footer", "no seal"],
)  # fmt: skip
def test_a_file_that_is_none_is_named_and_costs_its_own_rows_only(
    drained: Path, spoil: Callable[[bytes], bytes], reason: str, rows: int | None
) -> None:
    file = only_file(drained)
    file.write_bytes(spoil(file.read_bytes()))
    write(drained, first=AT_MS + 5_000, rows=7)

    live, ((url, said, lost),) = listed(drained)

    assert (url, lost) == (f"file://{file}", rows)
    assert said.startswith(reason)
    assert [one.rows for one in live] == [7]


def flip_in_the_middle(file: Path) -> bytes:
    """What the file is then."""
    sound = file.read_bytes()
    at = len(sound) // 3
    content = sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :]
    file.write_bytes(content)
    return content


def test_compaction_merges_the_others_and_leaves_a_damaged_file(drained: Path) -> None:
    damaged = only_file(drained)
    content = flip_in_the_middle(damaged)
    for number in (1, 2):
        write(drained, first=AT_MS + number * 1_000, rows=50)

    counts = compact_day(str(drained), DAY)

    ((url, reason),) = counts.problems
    assert (counts.files_before, counts.files_after, counts.rows) == (2, 1, 100)
    assert (url, damaged.read_bytes()) == (f"file://{damaged}", content)
    assert reason.startswith("is damaged: ")
    assert sorted(one.rows for one in listed(drained)[0]) == [100, 300]


def test_a_number_that_no_event_has_is_damage_also_without_checksums(drained: Path) -> None:
    file = only_file(drained)
    table = pq.ParquetFile(file).read()
    waits = [value if row else 2**62 for row, value in enumerate(table["wait_ms"].to_pylist())]
    place = table.schema.get_field_index("wait_ms")
    table = table.set_column(place, arrow_schema().field("wait_ms"), pa.array(waits, pa.int64()))
    pq.write_table(table.replace_schema_metadata(None), file)
    (live,), _ = listed(drained)

    assert find_damaged([live]) == [
        DamagedFile(live.url, "is damaged: it has an event with wait_ms 4611686018427387904", 300)
    ]


def test_the_command_reads_all_days_and_names_damaged_files(drained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(drained)]) == 0
    assert capsys.readouterr().out == "1 files, 300 events; 0 damaged\n"
    file = only_file(drained)
    flip_in_the_middle(file)

    assert main([str(drained), "--date", DAY.isoformat()]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"file://{file}: is damaged: its data is not what was written (300 events)",
        "1 files, 300 events; 1 damaged",
    ]
    assert main(["nosuch://lake"]) == 2
    assert "nosuch" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["drained", "compacted"])
def test_views_leave_out_exactly_the_files_that_the_check_lists(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake: Path = request.getfixturevalue(kind)
    damaged, listing = only_file(lake), tmp_path / "damaged.txt"
    flip_in_the_middle(damaged)
    write(lake, first=AT_MS + 5_000, rows=7)

    assert main([str(lake), "--list", str(listing)]) == 1
    assert f"file://{damaged}: is damaged" in capsys.readouterr().out
    assert listing.read_text() == f"{damaged.relative_to(lake)}\n"

    views = open_lake(lake, damaged=str(listing))
    assert views.execute("SELECT count(*), min(entry_ms) FROM events").fetchall() == [(7, AT_MS + 5_000)]
    found = views.execute("SELECT file, reason FROM lake_files WHERE NOT counts AND reason = 'is damaged'").fetchall()
    assert found == [(str(damaged), "is damaged")]


def test_a_check_that_finds_nothing_empties_the_list(drained: Path, tmp_path: Path) -> None:
    listing = tmp_path / "damaged.txt"
    listing.write_text("date=2030-03-17/hour=16/an-earlier-one.parquet\n")

    assert main([str(drained), "--list", str(listing)]) == 0
    assert listing.read_text() == ""
    assert open_lake(drained, damaged=str(listing)).execute("SELECT count(*) FROM events").fetchall() == [(300,)]
