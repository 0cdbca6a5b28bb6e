"""What a worker is and has done, which its parts read."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections import Counter

from ..app import App
from .attempt import Attempt
from .options import StopReason, WorkerOptions


class WorkerState:
    """Of one worker process."""

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
        self._end: StopReason | None = None

    @property
    def is_stopping(self) -> bool:
        return self._end is not None

    @property
    def state(self) -> str:
        """running, quiet or stopping."""
        return "stopping" if self.is_stopping else "quiet" if self._is_quiet else "running"
