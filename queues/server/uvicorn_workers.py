"""uvicorn's server and its worker processes, judged by their heartbeats. All that relies on how uvicorn works inside.

tests/package/test_internals.py names each class and attribute, and pyproject.toml caps uvicorn below the first version
that was not tested. To raise the cap: `make test-newest`, then this module where that fails. (`Connection` is what
uvicorn's option `http` takes; the test names what that uses, too.)
"""

from __future__ import annotations

import asyncio
import logging
import socket
from multiprocessing import Pipe

import uvicorn
from django.conf import settings
from uvicorn.supervisors import multiprocess
from uvicorn.supervisors.multiprocess import Process

from queues.supervision import BEAT_EVERY_S, HEARTBEAT, HangDetector, has_beaten, warn_hung

logger = logging.getLogger(__name__)


class BeatingServer(uvicorn.Server):
    """Its event loop beats from its start to its end, the time in which it stops included."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self._beat(asyncio.get_running_loop())

    def is_well(self) -> bool:
        """Whether what it serves works, as far as that can be told at once."""
        return True

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        if self.is_well():
            HEARTBEAT.beat()
        loop.call_later(BEAT_EVERY_S, self._beat, loop)


class Worker(Process):
    """Judged by the heartbeats of its event loop; uvicorn asks a thread of it, and waits for the answer.

    What this process does for long while others depend on it, it does beating.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._hears, self._beats = Pipe(duplex=False)
        self._detector = HangDetector(self._was_heard)

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = BeatingServer(config=self.config)
        return self._server

    def target(self, sockets: list[socket.socket] | None = None) -> None:
        """What the worker runs."""
        HEARTBEAT.begin(self._beats.fileno())
        super().target(sockets)

    def start(self) -> None:
        """Run it in a process of its own, whose ends of the pipes are none of this one's."""
        super().start()
        self.child_conn.close()
        self._beats.close()

    def is_alive(self, timeout: float = 5) -> bool:
        """Whether it runs, and does not hang."""
        if not self.process.is_alive():
            return False
        self._detector.look()
        if not self._detector.is_hung(settings.TASKQ_HUNG_AFTER_S):
            return True
        warn_hung(logger, "kill_hung_child", child="worker", pid=self.pid, silent_s=self._detector.silent_s)
        return False

    def is_ready(self, timeout: float = 5) -> bool:
        """Whether it serves."""
        HEARTBEAT.beat()
        return super().is_ready(timeout)

    def join(self) -> None:
        """Wait for its end."""
        while self.process.is_alive():
            HEARTBEAT.beat()
            self.process.join(BEAT_EVERY_S)

    def _was_heard(self) -> bool:
        return has_beaten(self._hears.fileno())


multiprocess.Process = Worker  # type: ignore[misc]  # uvicorn has no other way to choose the class


class Workers(multiprocess.Multiprocess):
    """Starts workers, and starts those anew that have died or hang."""

    def keep_subprocess_alive(self) -> None:
        """Look after all of them."""
        HEARTBEAT.beat()
        super().keep_subprocess_alive()
