"""Files that workers share: replaced as a whole, and changed together under a lock that nobody waits for."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson


def replace_file(path: Path, content: Any) -> None:
    """Whoever reads it sees all of the old or all of the new content."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(orjson.dumps(content))
    draft.replace(path)


@contextmanager
def locked(path: Path | None) -> Iterator[bool]:
    """Hold the lock of the directory that `path` is in; False if another process holds it, or the directory is gone.

    Without a path nobody else is there. The lock of a process that dies is free again.
    """
    if path is None:
        yield True
        return
    if not path.parent.is_dir():
        yield False
        return
    with (path.parent / "lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
