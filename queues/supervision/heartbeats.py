"""Heartbeats: how a process shows the one that started it that it works, and how that one notices that it hangs.

Each child gets the writing end of a pipe, and writes a byte to it every BEAT_EVERY_S from where its work is done (its
event loop, its scheduler). A pipe needs no disk, which may hang itself, and a beat never blocks. The parent counts for
how long it has heard nothing, but only time in which it was running: after a suspension of both (SIGSTOP of the whole
group, a laptop that slept) or on a machine that lets nobody run, it does not take its own absence for its children's.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Final, Self

FD_VARIABLE: Final = "TASKQ_HEARTBEAT_FD"
"""Environment variable with the number of the pipe's writing end."""

BEAT_EVERY_S: Final = 1.0

HUNG_AFTER_S: Final = 8.0
"""How long a process may be silent, where nothing else is said."""

BEGUN_AFTER_S: Final = 180.0
"""How long one may be silent that has not beaten yet: a machine that is slow or busy must not keep it from ever
starting."""

GAP_MAX_S: Final = 1.0
"""How much of the time between two looks of the parent counts as silence of the child."""


class Heartbeat:
    """The child's side: `beat` tells the parent that this process works. Nothing happens where none listens."""

    def __init__(self) -> None:
        self._fd: int | None = None

    def begin(self, fd: int | None = None) -> None:
        """Beat into `fd` from now on; None: into the one that the environment names, if any."""
        named = os.environ.pop(FD_VARIABLE, "")  # what this process starts has heartbeats of its own
        self._fd = fd if fd is not None else int(named) if named.isdecimal() else None
        if self._fd is not None:
            os.set_blocking(self._fd, False)
            os.set_inheritable(self._fd, False)

    def beat(self) -> None:
        """Never blocks: if the pipe is full, the parent has not listened for long. It may also be gone."""
        if self._fd is not None:
            with suppress(OSError):
                os.write(self._fd, b".")


HEARTBEAT: Final = Heartbeat()
"""This process's."""


def has_beaten(fd: int) -> bool:
    """Whether there is a beat at the reading end of a child's pipe that was not read before."""
    os.set_blocking(fd, False)
    try:
        return os.read(fd, 65_536) != b""
    except BlockingIOError:
        return False


class HeartbeatPipe:
    """The parent's side of the pipe. `variables` and `fd` are for the child."""

    def __init__(self) -> None:
        self._listening, self.fd = os.pipe()

    @property
    def variables(self) -> Mapping[str, str]:
        return {FD_VARIABLE: str(self.fd)}

    def was_heard(self) -> bool:
        """Whether the child has beaten since this was asked last."""
        return has_beaten(self._listening)

    def close(self) -> None:
        """Hear no more."""
        os.close(self._listening)
        os.close(self.fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class HealthProbe:
    """Signs of life of a process that does not know our heartbeats: a thread asks it, every BEAT_EVERY_S."""

    def __init__(self, answers: Callable[[], bool]) -> None:
        self._answers = answers
        self._heard = threading.Event()
        self._closed = threading.Event()
        threading.Thread(target=self._ask, name="taskq-probe", daemon=True).start()

    def was_heard(self) -> bool:
        """Whether it has answered since this was asked last."""
        heard = self._heard.is_set()
        self._heard.clear()
        return heard

    def close(self) -> None:
        """Ask no more."""
        self._closed.set()

    def _ask(self) -> None:
        while not self._closed.wait(BEAT_EVERY_S):
            if self._answers():
                self._heard.set()


class HangDetector:
    """Decides whether a process hangs. `was_heard`: whether it has shown a sign of life since the last call."""

    def __init__(self, was_heard: Callable[[], bool]) -> None:
        self._was_heard = was_heard
        self._has_begun = False
        self._looked_at = monotonic()
        self.silent_s = 0.0
        """For how long nothing was heard, of the time in which this process was running."""

    def look(self) -> None:
        """To be called every GAP_MAX_S or more often."""
        now = monotonic()
        self.silent_s += min(now - self._looked_at, GAP_MAX_S)
        self._looked_at = now
        if self._was_heard():
            self.silent_s = 0.0
            self._has_begun = True

    def is_hung(self, after_s: float) -> bool:
        """Whether nothing was heard for `after_s`; for BEGUN_AFTER_S if it has never beaten."""
        return self.silent_s > (after_s if self._has_begun else BEGUN_AFTER_S)


def warn_hung(logger: logging.Logger, action: str, *, child: str, pid: int | None, silent_s: float) -> None:
    """Log that a child hangs. `action`: what is done about it."""
    fields = {"action": action, "child": child, "pid": pid, "silent_s": round(silent_s, 1)}
    logger.warning("child shows no sign of life", extra=fields)
