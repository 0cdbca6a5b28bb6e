"""The log files of children."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

LOG_MAX_BYTES: Final = 10 * 1024 * 1024
_TAIL_BYTES: Final = 8 * 1024


def bound_log(path: Path) -> None:
    """Keep a log and one predecessor, each of LOG_MAX_BYTES or a little more.

    The child keeps its file open for appending, so the file is copied and emptied, not moved.
    """
    if path.exists() and path.stat().st_size > LOG_MAX_BYTES:
        shutil.copyfile(path, path.with_name(path.name + ".1"))
        os.truncate(path, 0)


def last_lines(path: Path, *, count: int) -> list[str]:
    """The last lines of a log, at most `count`; none if there is no log."""
    if not path.exists():
        return []
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return log.read().decode("utf-8", "replace").splitlines()[-count:]
