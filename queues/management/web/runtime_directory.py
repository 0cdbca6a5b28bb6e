"""The directory that the processes of one server share: the socket of the pages process, counts of the workers."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "taskq-serve-"


@contextmanager
def runtime_directory() -> Iterator[Path]:
    """A new directory that only this user may enter; it goes in the end.

    Those that killed servers of this user have left behind go at once. A server locks its directory for as long as it
    lives, so that nobody takes it for one of those.
    """
    _remove_abandoned()
    path, lock = _make()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _make() -> tuple[Path, int]:
    """The directory, and the file descriptor that holds its lock."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = _lock(path)
        if lock is not None:
            return path, lock  # another one that starts may have removed it before it was locked


def _remove_abandoned() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = _lock(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _lock(path: Path) -> int | None:
    """Lock a directory of this user's. None: it is not one, it is gone, or somebody holds the lock."""
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(directory)
        if found.st_uid == os.getuid() and os.path.samestat(found, path.stat()):
            return directory
    os.close(directory)
    return None
