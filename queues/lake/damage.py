"""Finds damaged files by reading files to the end: the seal's checksum, each page's, and numbers that no event has."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq
from fsspec.core import url_to_fs

from .files import DamagedFile, LakeFile
from .footers import DamagedFooterError, has_sound_data, read_footer
from .names import TIMES_END_MS

READERS: Final = 4
"""Files that are read at a time."""

BATCH_ROWS: Final = 65_536

_MOST: Final = {"wait_ms": TIMES_END_MS, "run_ms": TIMES_END_MS, "size": 2**48}
"""In files without checksums a flipped bit may make a number so large that a day's sum has no room for it."""


def find_damaged(files: Sequence[LakeFile]) -> list[DamagedFile]:
    """Those of the files that cannot be read to the end as they were written. A file that is gone is not damaged."""
    with ThreadPoolExecutor(READERS) as threads:
        reasons = list(threads.map(_damage_of, (file.url for file in files)))
    return [
        DamagedFile(file.url, reason, file.rows)
        for file, reason in zip(files, reasons, strict=True)
        if reason is not None
    ]


def _damage_of(url: str) -> str | None:
    try:
        fs, path = url_to_fs(url)
        with fs.open(path, "rb") as file:
            return _damage_in(file)
    except FileNotFoundError:
        return None  # compaction has taken it; the next list has what it became
    except DamagedFooterError as error:
        return str(error)
    except Exception as error:  # pyarrow's errors share no base class of their own
        return f"is damaged: {' '.join(str(error).split())}"


def _damage_in(file: IO[bytes]) -> str | None:
    """Raises pyarrow's errors, those of the file, and DamagedFooterError."""
    footer = read_footer(file)
    if not has_sound_data(file, footer):
        return "is damaged: its data is not what was written"
    file.seek(0)
    left = footer.rows
    for batch in pq.ParquetFile(file, page_checksum_verification=True).iter_batches(batch_size=BATCH_ROWS):
        left -= len(batch)
        for name, most in _MOST.items():
            if name in batch.schema.names and (value := _beyond(batch[name], most)) is not None:
                return f"is damaged: it has an event with {name} {value}"
    return f"is damaged: {left} of its rows cannot be read" if left else None


def _beyond(values: Any, most: int) -> int | None:
    """The greatest or least of the numbers, if its absolute value is greater than `most`."""
    extremes = pc.min_max(values).as_py()
    found = (extremes["min"], extremes["max"])
    return next((int(value) for value in found if value is not None and abs(value) > most), None)
