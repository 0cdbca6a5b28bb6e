"""Django's SECRET_KEY when nobody sets one: made once, kept in the data directory, readable by its owner only."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path
from typing import Final

from .env import EnvError

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
