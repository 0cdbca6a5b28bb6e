"""The Redis servers of this machine: the embedded one always, others where they are installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from queues.embedded import find_server

SERVERS_VARIABLE: Final = "TASKQ_TEST_REDIS_SERVERS"
"""Environment variable with paths of more binaries, separated by colons, for trying out another version."""

_INSTALLED: Final = ("redis-server", "valkey-server")


def redis_binaries() -> list[object]:
    """Parameters of tests: a Path each. One that is not installed is skipped, with the reason."""
    more = [Path(path) for path in os.environ.get(SERVERS_VARIABLE, "").split(":") if path]
    return [
        pytest.param(find_server(), id="embedded"),
        *[_installed(name) for name in _INSTALLED],
        *[pytest.param(path, id=str(path)) for path in more],
    ]


def _installed(name: str) -> object:
    path = shutil.which(name)
    if path is None:
        return pytest.param(None, id=name, marks=pytest.mark.skip(reason=f"no {name} on PATH"))
    return pytest.param(Path(path), id=name)
