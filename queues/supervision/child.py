"""One child process, which ends with this one; and its log file."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from .parent_death_signal import tied_to_parent

LOG_MAX_BYTES: Final = 10 * 1024 * 1024
_TAIL_BYTES: Final = 8 * 1024


class Child:
    """Runs `argv`. To be started from a thread that lives as long as the process is to live.

    `is_tied`: it ends when this process does, however that ends; else `argv` sees to that itself. `leads_group`: it has
    a session of its own, so that Ctrl-C in the terminal does not reach it. `kills_group`: whatever it started, in its
    session, is killed with it.
    `options`: of `subprocess.Popen`, for its files and its environment. Raises OSError.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        is_tied: bool = True,
        leads_group: bool = True,
        kills_group: bool = True,
        **options: Any,
    ) -> None:
        self._has_group = leads_group and kills_group
        self._started = time.monotonic()
        self.process: subprocess.Popen[Any] = subprocess.Popen(  # noqa: S603  our own command lines
            tied_to_parent(argv) if is_tied else list(argv),
            stdin=subprocess.DEVNULL,
            start_new_session=leads_group,
            **options,
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs. Negative: the signal that ended it."""
        return self.process.poll()

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._started

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def send_all(self, number: int) -> None:
        """Send a signal to it, and to whatever it started if that is killed with it."""
        if not self._has_group:
            self.send(number)
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Whether it ended within `timeout_s`."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End it and whatever it started, at once. To be called when it ended by itself, too: its children may live."""
        self.send_all(signal.SIGKILL)
        self.process.wait()

    def stop(self, timeout_s: float) -> bool:
        """SIGTERM, time to finish, SIGKILL to what is left of its group. Whether it ended in time."""
        self.send(signal.SIGTERM)
        has_ended = self.wait(timeout_s)
        self.kill()
        return has_ended


def bound_log(path: Path) -> None:
    """Keep a log and one predecessor, each of LOG_MAX_BYTES or a little more.

    The child keeps its file open for appending, so the file is copied and emptied, not moved.
    """
    if path.exists() and path.stat().st_size > LOG_MAX_BYTES:
        shutil.copyfile(path, path.with_name(path.name + ".1"))
        os.truncate(path, 0)


def last_lines(path: Path | None, *, count: int) -> list[str]:
    """The last lines of a log, at most `count`; none if there is no log."""
    if path is None or not path.exists():
        return []
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return log.read().decode("utf-8", "replace").splitlines()[-count:]
