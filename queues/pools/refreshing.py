"""Reads again what is in use before it expires, beside the calls that use it: none of them has to wait.

One thread for all memories of this process. It ends, with its database connection, when there was nothing to do for a
while. More work than it can do is left undone: then an entry expires, and is read by whoever needs it next.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Final

from django.db import close_old_connections, connection

logger = logging.getLogger(__name__)

WAITING_MAX: Final = 256
"""Entries that wait to be read again."""

IDLE_S: Final = 5.0

Work = Callable[[], object]


class Refresher:
    """A queue, and a thread while there is something in it. Thread-safe."""

    def __init__(self, *, idle_s: float = IDLE_S, size: int = WAITING_MAX) -> None:
        self._idle_s = idle_s
        self._waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._size = size
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, work: Work) -> bool:
        """Do it soon. False: there is too much to do already."""
        if self._waiting.qsize() >= self._size:
            return False
        with self._lock:
            self._waiting.put(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="taskq-refresh", daemon=True)
                self._thread.start()
        return True

    def stop(self) -> None:
        """Finish what is waiting, and wait for the end of it. For tests; another `add` begins anew."""
        with self._lock:
            thread = self._thread
            if thread is not None:
                self._waiting.put(None)
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        try:
            while work := self._next():
                close_old_connections()
                try:
                    work()
                except Exception:
                    logger.exception("not refreshed", extra={"action": "metadata.refresh"})
        finally:
            connection.close()

    def _next(self) -> Work | None:
        """None: end; nobody else thinks that this thread is running any more."""
        try:
            work = self._waiting.get(timeout=self._idle_s)
        except queue.Empty:
            work = None
        if work is None:
            with self._lock:
                try:
                    work = self._waiting.get_nowait()
                except queue.Empty:
                    self._thread = None
        return work


REFRESHER: Final = Refresher()
