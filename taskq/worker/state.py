"""The state of a worker: what it runs and has done; signals and commands that change it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
import uuid
from collections import Counter
from typing import Any, Final

from queues.engine import WorkerCommand, WorkerCommandKind

from ..app import App
from .attempt import Attempt, Why
from .options import StopReason, WorkerOptions

logger = logging.getLogger("taskq.worker")

COMMANDS_REMEMBERED: Final = 1_000


class WorkerState:
    """The state of one worker process."""

    def __init__(self, app: App, options: WorkerOptions) -> None:
        self.app = app
        self.options = options
        self.host = socket.gethostname()
        self.id = f"{self.host[:32]}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self.active: dict[str, Attempt] = {}
        """Attempts that run, by the job's id."""
        self.done = 0
        self.failed = 0
        self.parked: Counter[tuple[str, str, str]] = Counter()
        """Jobs that were put back, by queue, task and reason."""
        self.started = time.monotonic()
        self.hears_commands = False
        """Whether commands arrive when they are given; else they come with the heartbeats."""
        self._is_quiet = False
        self._is_hurried = False
        """Whether it was told twice to stop."""
        self._end: StopReason | None = None
        self._told_to_stop = asyncio.Event()
        self._obeyed: dict[str, None] = {}

    @property
    def is_stopping(self) -> bool:
        return self._end is not None

    @property
    def state(self) -> str:
        """running, quiet or stopping."""
        return "stopping" if self.is_stopping else "quiet" if self._is_quiet else "running"

    def handle_signals(self) -> None:
        """SIGTERM, SIGINT: finish what runs, then end; again: end now. SIGTSTP: take no more jobs; SIGCONT: go on."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop)
        loop.add_signal_handler(signal.SIGINT, self.stop)
        loop.add_signal_handler(signal.SIGTSTP, self.quiet)
        loop.add_signal_handler(signal.SIGCONT, self.resume)

    def stop(self, end: StopReason = StopReason.STOPPED) -> None:
        """Take no more jobs, let those that run finish, end. A second time: give back what still runs."""
        if self._end is None:
            self._end = end
        elif end is StopReason.STOPPED:
            self._is_hurried = True
        self._told_to_stop.set()
        self._wake()

    def stop_for(self, end: StopReason) -> None:
        """Stop, unless it is stopping already."""
        if not self.is_stopping:
            self.stop(end)

    def quiet(self) -> None:
        """Take no more jobs."""
        self._is_quiet = True
        self._log(logging.INFO, "worker takes no more jobs")
        self._wake()

    def resume(self) -> None:
        """Take jobs again."""
        if self._is_quiet:
            self._is_quiet = False
            self._log(logging.INFO, "worker takes jobs again")
            self._wake()

    def obey(self, command: WorkerCommand) -> None:
        """Carry out a command, if it concerns this worker. Once: it comes as a message and with heartbeats."""
        if command.given in self._obeyed:
            return
        attempt = self.active.get(command.target) if command.kind is WorkerCommandKind.CANCEL else None
        if attempt is not None and command.attempt not in (0, attempt.delivery.attempt):
            return  # it was meant for an earlier attempt, which has ended
        if attempt is None and command.target != self.id:
            return  # the job does not run here (yet)
        self._obeyed[command.given] = None
        if len(self._obeyed) > COMMANDS_REMEMBERED:
            del self._obeyed[next(iter(self._obeyed))]
        if attempt is not None:
            attempt.interrupt(Why.CANCELLED)
        elif command.kind is WorkerCommandKind.STOP:
            self.stop_for(StopReason.STOPPED)
        elif command.kind is WorkerCommandKind.QUIET and not self._is_quiet:
            self.quiet()
        elif command.kind is WorkerCommandKind.RESUME:
            self.resume()

    def _wake(self) -> None:
        """Called after each signal and command. `Worker` overrides it."""

    def _log(self, level: int, message: str, **fields: Any) -> None:
        logger.log(level, message, extra={"action": "worker", "worker": self.id, **fields})
