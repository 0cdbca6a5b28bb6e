"""Refuses to start a server that would ignore jobs in one of the two places of append-only files.

Redis 6.2 has one file. Redis 7, Valkey and newer have a directory, and take such a file over when they first start:
they make the directory, write a manifest there that names the file, and move the file into it. Interrupted, they do the
rest at the next start. Once the directory has data, they ignore a file beside it, and Redis 6.2 always ignores the
directory; neither says so.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

from .errors import DataIgnoredError

FILE: Final = "appendonly.aof"
DIRECTORY: Final = "appendonlydir"
_MANIFEST: Final = f"{FILE}.manifest"

_DIRECTORY_SINCE: Final = 7
"""The major version of Redis. Valkey began with 7.2."""

_VERSION_TIMEOUT_S: Final = 10.0


def refuse_ignored_data(data_dir: Path, server: Path) -> None:
    """Raise DataIgnoredError if `server` would start in `data_dir` without some of the jobs there; OSError."""
    file, directory = data_dir / FILE, data_dir / DIRECTORY
    if not _has_data(directory):
        return
    if file.exists():
        raise DataIgnoredError(
            f"{file} and {directory} both hold jobs, and Redis would read only one of them. The directory is that of "
            "Valkey and of Redis 7 and newer, the file that of Redis 6.2, or of a backup. Move the one that is not to "
            "be used out of the data directory: the file to start with what is in the directory, or the directory to "
            "start with what is in the file"
        )
    major = _major_version(server)
    if major is not None and major < _DIRECTORY_SINCE:
        raise DataIgnoredError(
            f"{server} is Redis {major} and does not read {directory}, which a Valkey or a newer Redis wrote: it would "
            "start without the jobs there. Use the server that wrote it (TASKQ_REDIS_SERVER), or move the directory "
            "away to start without them"
        )


def _has_data(directory: Path) -> bool:
    """Whether files of data are there, be they empty. A take-over that was interrupted leaves at most a manifest."""
    if not directory.is_dir():
        return False
    return any(path.name.startswith(FILE) and path.name != _MANIFEST for path in directory.iterdir())


def _major_version(server: Path) -> int | None:
    """None: it does not say."""
    try:
        said = subprocess.run(  # noqa: S603  the server that is started next
            [server, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired:
        return None
    found = re.search(rb"\bv=(\d+)\.", said)
    return int(found[1]) if found is not None else None
