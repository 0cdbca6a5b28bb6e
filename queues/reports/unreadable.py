"""Files that are damaged in the middle, where their footers do not tell."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow.parquet as pq
from fsspec.core import url_to_fs

READERS: Final = 4


def find_unreadable(urls: Sequence[str]) -> dict[str, str]:
    """URL → what is wrong, of those that cannot be read to the end, every page's checksum included."""
    with ThreadPoolExecutor(READERS) as threads:
        found = zip(urls, threads.map(_read, urls), strict=True)
        return {url: reason for url, reason in found if reason is not None}


def _read(url: str) -> str | None:
    try:
        fs, path = url_to_fs(url)
        with fs.open(path, "rb") as file:
            for _ in pq.ParquetFile(file, page_checksum_verification=True).iter_batches():
                pass
    except FileNotFoundError:
        return None  # compaction has taken it; the next list has what it became
    except Exception as error:  # pyarrow's errors share no base class of their own
        return f"is damaged: {' '.join(str(error).split())}"
    return None
