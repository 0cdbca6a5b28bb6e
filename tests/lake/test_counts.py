"""Files of Redis's own counts of jobs: what was written is read, or the file is named as damaged."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path

from queues.lake.counts import CountsWriter, QueueCount, newest_counts, read_counts
from queues.lake.names import EntryId
from queues.lake.storage import LakeError, Storage

AT_MS = 1_900_000_000_000
DAY = date(2030, 3, 17)
PARTITIONS, QUEUES, FLIPS = 2, 20, 600


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
            if [f"{url}: {reason}" for url, reason in newest_counts(storage, DAY)[1]] != [str(error)]:
                unnamed.append(8 * at + bit)

    assert (unnoticed, unnamed) == ([], [])
