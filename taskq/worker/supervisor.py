"""Keeps worker processes: as many as asked for, started again when one dies or recycles itself, or a file changes."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from queues.supervision import GIVE_UP_AFTER, ChildGivenUpError, ChildSpec, ExitAction, RestartPolicy, Supervisor

logger = logging.getLogger("taskq.worker")

RECYCLED: Final = 64
"""Exit status of a worker that wants to be started again: it has run as many jobs, or holds as much memory, as it
may.
"""

FIRST_PAUSE_S: Final = 0.4
LONGEST_PAUSE_S: Final = 5.0

KILL_AFTER_S: Final = 30.0
"""A process that has not ended so long after its grace is killed."""

_HARMLESS: Final = frozenset({0, RECYCLED, -signal.SIGTERM})
"""Statuses of processes that were told to end; the last one is that of a process that had just been started."""


class WorkerSupervisor:
    """Runs `command` in `processes` processes until it is told to stop, or all have ended by themselves with status 0.

    It gives up, and stops the others, when one keeps dying at its start; not while `watch` is set, for the next change
    of a file may mend it.
    """

    def __init__(self, command: Sequence[str], *, processes: int, grace_s: float, watch: Path | None = None) -> None:
        self._command = tuple(command)
        self._processes = processes
        self._grace_s = grace_s
        self._watch = watch
        self._supervisor = Supervisor(logger)

    def run(self) -> int:
        """The exit status: 0, or 1 if a process kept dying, or ended otherwise than by itself when it was told to.

        To be called from the main thread, for it handles signals.
        """
        is_given_up = False
        with self._handle_signals(), self._reload_on_changes():
            try:
                for slot in range(self._processes):
                    self._supervisor.start(self._spec(slot))
                self._supervisor.run()
            except ChildGivenUpError as error:
                is_given_up = True
                fields = {"action": "worker.supervise", "status": error.status}
                logger.error("worker processes die as soon as they start: given up", extra=fields)
            finally:
                self._supervisor.ask_to_stop()
                statuses = self._supervisor.stop_together()
        return int(is_given_up or not _HARMLESS.issuperset(statuses))

    def _spec(self, slot: int) -> ChildSpec:
        """In a session of its own, so that Ctrl-C reaches it through us only, and once."""
        return ChildSpec(
            name=f"worker-{slot}",
            argv=(*self._command, f"--slot={slot}"),
            is_tied=False,  # it follows this process by itself (`--supervised`)
            kills_group=False,  # what tasks started may go on
            sends_heartbeats=False,
            stop_timeout_s=self._grace_s + KILL_AFTER_S,
            restarts=RestartPolicy(
                first_pause_s=FIRST_PAUSE_S,
                longest_pause_s=LONGEST_PAUSE_S,
                give_up_after=GIVE_UP_AFTER if self._watch is None else None,
                on_exit=_action_on_exit,
                action="worker.supervise",
                level=logging.ERROR,
            ),
        )

    @contextmanager
    def _handle_signals(self) -> Iterator[None]:
        """First SIGTERM or SIGINT: stop. Every further one is passed on, for workers to stop at once."""

        def stop(_number: int, _frame: FrameType | None) -> None:
            if self._supervisor.is_stopping:
                self._supervisor.send(signal.SIGTERM)
            self._supervisor.ask_to_stop()

        def forward(number: int, _frame: FrameType | None) -> None:
            self._supervisor.send(number)

        handlers = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGTSTP: forward, signal.SIGCONT: forward}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def _reload_on_changes(self) -> Iterator[None]:
        """Have processes started again when a Python file changes."""
        if self._watch is None:
            yield
            return
        stopping = threading.Event()
        thread = threading.Thread(target=self._watch_files, args=(self._watch, stopping), daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()

    def _watch_files(self, path: Path, stopping: threading.Event) -> None:
        from watchfiles import PythonFilter, watch

        for changes in watch(path, watch_filter=PythonFilter(), step=50, stop_event=stopping, raise_interrupt=False):
            names = sorted({Path(name).name for _, name in changes})
            print(f"taskq: {', '.join(names[:3])} changed, the worker is started again", flush=True)
            self._supervisor.reload()


def worker_command(arguments: Sequence[str]) -> list[str]:
    """`taskq worker` with these arguments, as a command line."""
    return [sys.executable, "-m", "taskq", "worker", *arguments]


def _action_on_exit(status: int) -> ExitAction:
    return {0: ExitAction.DONE, RECYCLED: ExitAction.RESTART_AT_ONCE}.get(status, ExitAction.RESTART)
