"""Keeps the pages process running beside the web server's workers."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Final, Self

from queues.embedded import leashed

from ..local.parts import MANAGE

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
ASK_EVERY_S: Final = 5.0
HUNG_AFTER_S: Final = 30.0
"""One that has not answered for so long is killed, and replaced."""

STARTED_AFTER_S: Final = 180.0
"""The same of one that has not answered yet: a machine that is slow or busy must not keep it from ever starting."""


class PagesProcess:
    """A context manager, to be left when the workers have ended: they may need it for requests under way.

    The process is on a leash that the watching thread holds, so whatever ends this process ends that one, too.
    """

    def __init__(self, directory: Path) -> None:
        self._socket = directory / SOCKET
        self._command = leashed((sys.executable, str(MANAGE), "servepages", str(directory)))
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
            try:
                process = self._start()
            except OSError:
                logger.exception("pages process could not be started", extra={"action": "pages.restart"})
                self._stopping.wait(PAUSE_MAX_S)
                continue
            if process is None:
                return
            started = monotonic()
            status = self._wait(process)
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

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        """Its status when it has ended, if need be because it hung. While all is to stop, it is left alone."""
        asked_at = heard_at = monotonic()
        patience_s = STARTED_AFTER_S
        while (status := process.poll()) is None:
            sleep(LOOK_EVERY_S)
            if self._stopping.is_set() or monotonic() - asked_at < ASK_EVERY_S:
                continue
            if self._answers():
                heard_at, patience_s = monotonic(), HUNG_AFTER_S
            elif monotonic() - heard_at > patience_s:
                logger.warning("pages process does not answer", extra={"action": "pages.kill"})
                process.kill()
            asked_at = monotonic()
        return status

    def _answers(self) -> bool:
        """True also when it cannot be asked: for a want of this process's, that one is not killed."""
        try:
            asking = socket.socket(socket.AF_UNIX)
        except OSError:
            return True
        try:
            with asking as connection:
                connection.settimeout(ASK_EVERY_S)
                connection.connect(str(self._socket))
                connection.shutdown(socket.SHUT_WR)  # a message without anything in it: see `connection_receiver`
                return connection.recv(1) != b""
        except OSError:
            return False

    def _start(self) -> subprocess.Popen[bytes] | None:
        """None: there is to be none any more."""
        with self._lock:
            if self._stopping.is_set():
                return None
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)  # noqa: S603  our own command
            return self._process
