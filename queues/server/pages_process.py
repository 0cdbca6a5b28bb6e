"""Keeps the pages process running beside the web server's workers."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Final, Self

from django.conf import settings

from queues.supervision import Pulse, Watch, tied_to_parent

logger = logging.getLogger(__name__)

SOCKET: Final = "pages.sock"
"""In the directory that the main process shares with those that it starts."""

PAUSE_FIRST_S: Final = 0.25
PAUSE_MAX_S: Final = 10.0
"""Before it is started again; twice as long each time, so that one which cannot live takes no processor's time."""

STEADY_AFTER_S: Final = 10.0
"""One that lived this long has no bad record any more."""

STOP_TIMEOUT_S: Final = 4.0
"""Pages take moments; workers, which end before, may have taken long already."""

LOOK_EVERY_S: Final = 0.2


class PagesProcess:
    """A context manager, to be left when the workers have ended: they may need it for requests under way.

    The process ends with the watching thread, so whatever ends this process ends that one, too.
    """

    def __init__(self, directory: Path) -> None:
        self._socket = directory / SOCKET
        self._command = tied_to_parent((*settings.TASKQ_COMMAND, "servepages", str(directory)))
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._watch, name="taskq-pages", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._stopping.set()
        if self._process is not None:
            self._process.terminate()
            self._thread.join(STOP_TIMEOUT_S)
            if self._thread.is_alive():
                logger.warning("pages process did not end in time", extra={"action": "pages.kill"})
                self._process.kill()
        self._thread.join()

    def _watch(self) -> None:
        pause_s = PAUSE_FIRST_S
        while not self._stopping.is_set():
            started = monotonic()
            with Pulse() as pulse:
                try:
                    process = self._start(pulse)
                except OSError:
                    logger.exception("pages process could not be started", extra={"action": "pages.restart"})
                    self._stopping.wait(PAUSE_MAX_S)
                    continue
                if process is None:
                    return
                status = self._wait(process, pulse)
            if self._stopping.is_set():
                return
            if monotonic() - started >= STEADY_AFTER_S:
                pause_s = PAUSE_FIRST_S
            logger.warning(
                "pages process ended; it is started again",
                extra={"action": "pages.restart", "status": status, "wait_s": pause_s},
            )
            self._stopping.wait(pause_s)
            pause_s = min(PAUSE_MAX_S, pause_s * 2)

    def _wait(self, process: subprocess.Popen[bytes], pulse: Pulse) -> int:
        """Its status when it has ended, if need be because it hung. While all is to stop, it is left alone."""
        watch = Watch(pulse.was_heard)
        is_killed = False
        while (status := process.poll()) is None:
            sleep(LOOK_EVERY_S)
            watch.look()
            if watch.is_hung(settings.TASKQ_HUNG_AFTER_S) and not (is_killed or self._stopping.is_set()):
                fields = {"action": "kill_hung_child", "child": "pages", "pid": process.pid}
                logger.warning("child shows no sign of life", extra={**fields, "silent_s": round(watch.silent_s, 1)})
                process.kill()
                is_killed = True
        return status

    def _start(self, pulse: Pulse) -> subprocess.Popen[bytes] | None:
        """None: there is to be none any more."""
        with self._lock:
            if self._stopping.is_set():
                return None
            self._process = subprocess.Popen(  # noqa: S603  our own command line
                self._command,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **pulse.variables},
                pass_fds=(pulse.fd,),
            )
            return self._process
