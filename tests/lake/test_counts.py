"""Files of Redis's own counts of jobs: what was written is read, or the file is named as damaged."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path

from queues.lake.counts import CountsWriter, QueueCount, newest_counts, read_counts
from queues.lake.names import HOUR_MS, EntryId, Stream
from queues.lake.storage import LakeError, Storage

AT_MS = 1_900_000_000_000
DAY = date(2030, 3, 17)
PARTITIONS, QUEUES, FLIPS = 2, 20, 600
WRITTEN = {Stream("default", number): EntryId(AT_MS + 500, 0) for number in range(PARTITIONS)}


def test_of_600_flipped_bits_none_changes_a_count_without_an_error(tmp_path: Path) -> None:
    """A queue whose row is gone would count as one without jobs."""
    dice = random.Random(1)
    storage = Storage(str(tmp_path))
    writer = CountsWriter(storage, "default", AT_MS, partitions=PARTITIONS)
    for number in range(PARTITIONS):
        counts = (dice.randrange(1_000) for _ in range(QUEUES))
        writer.add_queues(
            number,
            (QueueCount("ns", f"q{number}-{n}", 12, jobs, EntryId(AT_MS + n, 3)) for n, jobs in enumerate(counts)),
        )
        writer.end_partition(number, EntryId(AT_MS, 0), EntryId(AT_MS + 500, 0))
    writer.put()
    (file,) = tmp_path.rglob("*.parquet")
    name, sound = str(file.relative_to(tmp_path)), file.read_bytes()
    written = read_counts(storage, name)
    assert len(written) == PARTITIONS * (QUEUES + 1)
    unnoticed, unnamed = [], []

    for _ in range(FLIPS):
        at, bit = dice.randrange(len(sound)), dice.randrange(8)
        file.write_bytes(sound[:at] + bytes([sound[at] ^ 1 << bit]) + sound[at + 1 :])
        try:
            if read_counts(storage, name) != written:
                unnoticed.append(8 * at + bit)
        except LakeError as error:
            if [f"{url}: {reason}" for url, reason in newest_counts(storage, DAY, written=WRITTEN)[1]] != [str(error)]:
                unnamed.append(8 * at + bit)

    assert (unnoticed, unnamed) == ([], [])


def test_counts_count_once_drains_have_written_what_they_rest_on(tmp_path: Path) -> None:
    """Each partition's; of the hours whose counts do, the newest."""
    storage = Storage(str(tmp_path))
    yesterday = EntryId(AT_MS - 24 * HOUR_MS, 0)
    for hour in range(2):
        at = AT_MS + hour * HOUR_MS
        writer = CountsWriter(storage, "default", at, partitions=3)
        for number, until in enumerate((EntryId(at, 5), EntryId(at, 6), yesterday)):
            writer.end_partition(number, yesterday, until)
        writer.put()
    of_hour = AT_MS // HOUR_MS % 24

    def found(*written: EntryId) -> list[int]:
        told = {Stream("default", number): entry for number, entry in enumerate(written)}
        newest, damaged = newest_counts(storage, DAY, written=told)
        assert damaged == []
        return [hour - of_hour for counts in newest for hour in counts.hours]

    assert found(EntryId(AT_MS + HOUR_MS, 5), EntryId(AT_MS + HOUR_MS, 6)) == [1]
    assert found(EntryId(AT_MS + HOUR_MS, 5), EntryId(AT_MS + HOUR_MS, 5)) == [0]
    assert found(EntryId(AT_MS + HOUR_MS, 5)) == []
