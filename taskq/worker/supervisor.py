"""Keeps worker processes: as many as asked for, started again when one dies or recycles itself, or a file changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

logger = logging.getLogger("taskq.worker")

RECYCLED: Final = 64
"""Exit status of a worker that wants to be started again: it has run as many jobs, or holds as much memory, as it
may.
"""

FIRST_DELAY_S: Final = 0.2
LONGEST_DELAY_S: Final = 5.0
LIVED_S: Final = 10.0
"""A process that lived so long did not die of its start: the next one is started at once."""

QUICK_DEATHS: Final = 6
"""So many in a row, each before LIVED_S, are a mistake that no restart mends."""

KILL_AFTER_S: Final = 30.0
"""A process that has not ended so long after its grace is killed."""


class WorkerSupervisor:
    """Runs `command` in `processes` processes until it is told to stop, or all have ended by themselves with status 0.

    It gives up, and stops the others, when one keeps dying at its start; not while `watch` is set, for the next change
    of a file may mend it.
    """

    def __init__(self, command: Sequence[str], *, processes: int, grace_s: float, watch: Path | None = None) -> None:
        self._command = list(command)
        self._processes = processes
        self._grace_s = grace_s
        self._watch = watch
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._is_stopping = False
        self._stopped = asyncio.Event()
        self._is_reloading: set[int] = set()

    async def run(self) -> int:
        """The exit status: 0, or 1 if a process kept dying, or ended otherwise than by itself when it was told to."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        for number in (signal.SIGTSTP, signal.SIGCONT):
            loop.add_signal_handler(number, self._forward, number)
        watching = loop.create_task(self._watch_files()) if self._watch else None
        try:
            statuses = await asyncio.gather(*[self._keep(slot) for slot in range(self._processes)])
        finally:
            if watching is not None:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
        return 1 if any(statuses) else 0

    def _stop(self) -> None:
        self._is_stopping = True
        self._stopped.set()
        self._forward(signal.SIGTERM)

    def _is_told_to_stop(self) -> bool:
        return self._is_stopping

    def _forward(self, number: int) -> None:
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    async def _keep(self, slot: int) -> int:
        """Keep one process running. Its last exit status."""
        loop = asyncio.get_running_loop()
        delay_s, quick_deaths = FIRST_DELAY_S, 0
        while True:
            began = loop.time()
            # Of a session of its own, so that Ctrl-C reaches it through us only, and once.
            process = await asyncio.create_subprocess_exec(*self._command, f"--slot={slot}", start_new_session=True)
            self._running[slot] = process
            if self._is_stopping:
                process.terminate()
            status = await self._wait(process)
            del self._running[slot]
            if slot in self._is_reloading:
                self._is_reloading.discard(slot)
                if not self._is_stopping:
                    continue
            if self._is_stopping:
                return 0 if status in (RECYCLED, -signal.SIGTERM) else status  # the latter: it had just been started
            if status == 0:
                return 0
            if status == RECYCLED:
                continue
            has_lived = loop.time() - began > LIVED_S
            delay_s = FIRST_DELAY_S if has_lived else min(2 * delay_s, LONGEST_DELAY_S)
            quick_deaths = 0 if has_lived else quick_deaths + 1
            fields = {"action": "worker.supervise", "pid": process.pid, "status": status}
            if quick_deaths >= QUICK_DEATHS and self._watch is None:
                logger.error("worker processes die as soon as they start: given up", extra=fields)
                self._stop()
                return status
            logger.error("a worker process died, it is started again", extra=fields)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self._stopped.wait()
            if self._is_told_to_stop():
                return 0

    async def _wait(self, process: asyncio.subprocess.Process) -> int:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5 if self._is_stopping else None):
                    return await process.wait()
            if self._is_stopping:
                break
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._grace_s + KILL_AFTER_S):
                return await process.wait()
        process.kill()
        return await process.wait()

    async def _watch_files(self) -> None:
        """Have processes started again when a Python file changes."""
        from watchfiles import PythonFilter, awatch

        assert self._watch is not None
        async for changes in awatch(self._watch, watch_filter=PythonFilter(), step=50):
            names = sorted({Path(path).name for _, path in changes})
            print(f"taskq: {', '.join(names[:3])} changed, the worker is started again", flush=True)
            self._is_reloading |= self._running.keys()
            self._forward(signal.SIGTERM)


def worker_command(arguments: Sequence[str]) -> list[str]:
    """`taskq worker` with these arguments, as a command line."""
    return [sys.executable, "-m", "taskq", "worker", *arguments]
