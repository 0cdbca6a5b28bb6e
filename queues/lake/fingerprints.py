"""What the events of an hour rest on, as a short text: the same as long as the same events count."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from .files import DamagedFile, DayFiles, LakeFile
from .names import is_compacted, parse_drained

_HOUR: Final = re.compile(r"/hour=(\d{2})(?=/|\Z)")


def hour_of(url: str) -> int | None:
    """The hour of the day whose directory a file of the lake is in; None: it is in none."""
    found = _HOUR.search(url)
    return None if found is None else int(found[1])


def rows_by_hour(files: Iterable[LakeFile]) -> Counter[int]:
    """Events of each hour."""
    rows = Counter[int]()
    for file in files:
        if (hour := hour_of(file.url)) is not None:
            rows[hour] += file.rows
    return rows


def hour_fingerprints(files: DayFiles, left_out: Iterable[DamagedFile] = (), *, definition: str = "") -> dict[int, str]:
    """For each hour that has files: a digest of which drained files its events are from, and of what is damaged.

    Compaction does not change it. `left_out`: damaged files among `files.live` whose events are not counted.
    `definition`: of what is made of the events; another one gives another digest.
    """
    names: dict[int, set[str]] = defaultdict(set)
    for folder, covered in files.covered.items():
        if (hour := hour_of(folder)) is not None:
            names[hour] |= covered
    damaged = [*files.corrupt, *left_out]
    gone = {file.url for file in damaged}
    rows = rows_by_hour(file for file in files.live if file.url not in gone)
    others: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for file in files.live:
        hour = hour_of(file.url)
        if hour is not None and file.url not in gone:
            others[hour] += _told_by_size(file)
    bad: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for one in damaged:
        if (hour := hour_of(one.url)) is not None:
            bad[hour].append((one.url.rpartition("/")[2], one.reason))
    return {
        hour: _digest(definition, sorted(names[hour]), rows[hour], sorted(others[hour]), sorted(bad[hour]))
        for hour in sorted({*names, *rows, *bad})
        if names[hour] or rows[hour] or bad[hour]
    }


def _told_by_size(file: LakeFile) -> list[tuple[str, int]]:
    """The names of files that no drain wrote do not say which events they hold."""
    name = file.url.rpartition("/")[2]
    return [] if is_compacted(name) or parse_drained(name) else [(name, file.size)]


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
