"""Compaction: few large files of many small ones, sorted so that readers of one queue skip the rest."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCounts:
    """What a compaction did: hours whose files were merged, files before and after, events in them, bytes freed."""

    hours: int = 0
    files_before: int = 0
    files_after: int = 0
    rows: int = 0
    bytes_before: int = 0
    bytes_after: int = 0


def compact_day(url: str, day: date) -> CompactionCounts:
    """Merge the small files of each hour of a UTC day. Repeatable; may be killed at any point. Raises LakeError."""
    raise NotImplementedError
