"""Finds the processes that a test has brought about, however distantly, and starts commands as a user would."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.waiting import TIMEOUT_S, wait_until

ROOT = Path(__file__).resolve().parents[2]
MANAGE = ROOT / "manage.py"
MARK = "TASKQ_TEST_MARK"

REDIS = "/redis."
"""In the command line of any Redis that taskq starts: of the path of its configuration, later of its socket."""

_OURS = (
    "REDIS_URL",
    "DATABASE_URL",
    "TASKQ_DATA_DIR",
    "TASKQ_REDIS_SERVER",
    "ALLOWED_HOSTS",
    "LOG_LEVEL",
    "LOG_FORMAT",
)


class Family:
    """Processes that inherit a mark in their environment: found again even when their parents are gone.

    Redis writes its title over its environment; it is found by the path of its socket below `directory` in that title.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.mark = uuid.uuid4().hex
        self.directory = directory

    def environment(self, **changes: str) -> dict[str, str]:
        """That of a user who has set nothing, with the mark and `changes`; but no pump starts a Spark by the clock."""
        env = {name: value for name, value in os.environ.items() if name not in _OURS}
        ours = {"DJANGO_SETTINGS_MODULE": "taskq_site.settings", "TASKQ_REPORT_TODAY_EVERY_S": "0", MARK: self.mark}
        return {**env, **ours, **changes}

    def members(self) -> dict[int, str]:
        """Process ids and command lines of those that live."""
        needle = f"{MARK}={self.mark}".encode()
        found = {}
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                environ = (directory / "environ").read_bytes().split(b"\0")
                line = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if (needle in environ or self._is_our_redis(line)) and not _is_zombie(directory):
                    found[int(directory.name)] = line
            except OSError:
                continue  # ended meanwhile
        return found

    def _is_our_redis(self, line: str) -> bool:
        return self.directory is not None and REDIS in line and f"{self.directory}/" in line

    def pid_of(self, *words: str, timeout_s: float = TIMEOUT_S) -> int:
        """The oldest member whose command line holds all of `words`."""
        return wait_until(
            lambda: min((pid for pid, line in self.members().items() if all(w in line for w in words)), default=0),
            or_fail=f"no process with {words}",
            timeout_s=timeout_s,
        )

    def wait_gone(self, *, timeout_s: float = 10.0) -> None:
        """Fail if any of them still lives after `timeout_s`, and end those."""
        try:
            wait_until(lambda: not self.members(), or_fail="still running", timeout_s=timeout_s)
        except pytest.fail.Exception:
            left = self.members()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            pytest.fail(f"left running: {sorted(left.values())}")


def manage(*arguments: str, env: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start `manage.py ARGUMENTS` in a session of its own, as a terminal would."""
    return subprocess.Popen(
        [sys.executable, str(MANAGE), *arguments],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run_manage(*arguments: str, env: Mapping[str, str], timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run `manage.py ARGUMENTS` to its end."""
    return subprocess.run(
        [sys.executable, str(MANAGE), *arguments],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        start_new_session=True,
        check=False,
    )


def _is_zombie(directory: Path) -> bool:
    return (directory / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
