"""Keeps what taskq writes from other users of the machine: job bodies, digests of tokens, password hashes, logs.

Django's SECRET_KEY, when nobody sets one, is made once and kept in the data directory, readable by its owner only.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from queues.embedded.server import make_content_private, make_private

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


FILE_NAME: Final = "secret_key"
_BYTES: Final = 48


def keep_secret_key(data_dir: Path) -> str:
    """The key in `data_dir`, written on first use. Several processes may start at once: all get the same key.

    Raises EnvError when the directory cannot be written or the file is empty.
    """
    path = data_dir / FILE_NAME
    try:
        if not path.exists():
            _write_once(path, secrets.token_urlsafe(_BYTES))
        key = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise EnvError(f"SECRET_KEY is not set, and {path} cannot be used instead: {error.strerror}") from error
    if not key:
        raise EnvError(f"{path} is empty: delete it to have a new key made, or set SECRET_KEY")
    return key


def _write_once(path: Path, key: str) -> None:
    """Write the whole file under another name (mkstemp: mode 0600), then link it: the first process to link wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{FILE_NAME}-")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(key + "\n")
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was first; its key is as good
    finally:
        os.unlink(draft)
