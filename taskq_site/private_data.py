"""Keeps what taskq writes from other users of the machine: job bodies, digests of tokens, password hashes, logs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from queues.embedded.private_files import make_content_private, make_private

from .env import EnvError

SQLITE_FILES: Final = ("", "-wal", "-shm", "-journal")
"""SQLite gives the later ones the permissions that the database itself has when they are made."""

_FILES: Final = ("secret_key", "demo.json", "up.lock", "pump.heartbeat")
_LOGS: Final = "log"
_BIG_DIRECTORIES: Final = ("redis", "lake", "reports")
"""May hold very many files; nobody reaches those in a closed directory. The embedded Redis looks after its own."""


def keep_private(*, data_dir: Path, database: Mapping[str, Any], umask: int) -> None:
    """Set the umask of this process and its children, and close the files of ours that are there already.

    The data directory may have been made by somebody else, with other files in it: only taskq's own are touched.
    Raises EnvError.
    """
    os.umask(umask)
    try:
        for name in _FILES:
            make_private(data_dir / name, umask=umask)
        for name in _BIG_DIRECTORIES:
            make_private(data_dir / name, umask=umask)
        make_content_private(data_dir / _LOGS, umask=umask)
        if database["ENGINE"].endswith("sqlite3"):
            for suffix in SQLITE_FILES:
                make_private(Path(f"{database['NAME']}{suffix}"), umask=umask)
    except OSError as error:
        raise EnvError(f"cannot close {error.filename} to other users: {error.strerror}") from error
