"""Lakes written by earlier versions of taskq, in lakes/; a test reads each of them for good.

    python -m tests.lake.old_lakes COMMIT NAME

writes lakes/NAME with the code of that commit: an hour of two files that were compacted, and an hour of one file as it
was drained. All of them hold the events of ENTRIES.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from datetime import date
from pathlib import Path
from typing import Final

LAKES: Final = Path(__file__).with_name("lakes")
DAY: Final = date(2026, 11, 20)
POOL: Final = "default"

_JOB: Final = "01M7WY8R00{:016d}"
_AT: Final = 1_795_194_000_000
"""17:00 on the day, UTC."""

LINES: Final = (
    "published\t{job}\t\t250\t\t512\t\t",
    "ready\t{job}\t\t4\t\t\t\t",
    "consumed\t{job}\t1\t17\t\t512\tworker-1\t",
    "failed\t{job}\t1\t\t1200\t\tworker-1\tTimeoutError: no answer",
    "dead\t{job}\t2\t\t\t\t\tlease lost",
    "acked\t{job}\t2\t\t35\t\tworker-2\t",
    "deleted\t{job}\t\t\t\t\t\twas dead",
    "destroyed\t\t2\t\t\t7\t\t",
)

ENTRIES: Final = [
    # partition, time, number within the millisecond, queue, lines
    (partition, _AT + hour * 3_600_000 + number * 1_000, number % 2, queue, LINES[number : number + 2])
    for partition, queue, hour in ((0, "shop/mails", 0), (3, "shop/orders", 0), (0, "shop/mails", 1))
    for number in range(len(LINES) - 1)
]

_WRITE: Final = """
import sys
from datetime import date

from queues.lake.compact import compact_day
from queues.lake.lines import Entries
from queues.lake.names import EntryId, drained_name
from queues.lake.writer import Writer

_, url, pool, day, entries = sys.argv
batches = {}
for partition, at, number, queue, lines in eval(entries):
    batches.setdefault((partition, at // 3_600_000), []).append((at, number, queue, lines))
compacted = False
for (partition, hour), batch in sorted(batches.items(), key=lambda one: one[0][1]):
    if hour != min(hour for _, hour in batches) and not compacted:
        compact_day(url, date.fromisoformat(day))
        compacted = True
    ids = [EntryId(at, number) for at, number, _, _ in batch]
    Writer(url, pool).write(
        drained_name(pool, partition, ids[0], ids[-1]),
        Entries(
            [b"%d-%d" % (at, number) for at, number, _, _ in batch],
            [b"%d" % at for at, _, _, _ in batch],
            [queue.encode() for _, _, queue, _ in batch],
            ["\\n".join(lines).encode() for _, _, _, lines in batch],
        ),
    )
"""


def entries() -> list[tuple[int, int, int, str, tuple[str, ...]]]:
    """ENTRIES with the ids of their jobs."""
    return [
        (partition, at, seq, queue, tuple(line.format(job=_JOB.format(number)) for line in lines))
        for number, (partition, at, seq, queue, lines) in enumerate(ENTRIES)
    ]


def write_lake(commit: str, lake: Path) -> None:
    """Write the lake with the code of a commit of this checkout."""
    packed = subprocess.run(["git", "archive", commit, "queues"], check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as code:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(code, filter="data")
        words = [sys.executable, "-c", _WRITE, str(lake), POOL, DAY.isoformat(), repr(entries())]
        subprocess.run(words, check=True, cwd=code, env={**os.environ, "PYTHONPATH": code})


if __name__ == "__main__":
    write_lake(sys.argv[1], LAKES / sys.argv[2])
