"""A graceful stop does not wait for long polls.

The server tells the application of its shutdown only after the last request has been answered, and a consumer may wait
for ten minutes. So the signal itself is listened to: waiters are answered at once, the server drains, then it stops.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from types import FrameType

from queues.services.jobs_run import stop_all_waiting

logger = logging.getLogger(__name__)

_stopping: set[asyncio.Task[None]] = set()


def stop_waiting_on_signal() -> None:
    """Answer waiters on SIGTERM and SIGINT, beside whatever the event loop's own handlers do.

    The loop handles signals by way of Python's wake-up descriptor, which is written to whichever Python handler is
    installed; replacing that handler (a stub of the loop's) takes nothing away from it. Call it on the running loop.
    """
    if threading.current_thread() is not threading.main_thread():
        logger.warning("long polls will delay a stop", extra={"action": "http.stop", "reason": "not the main thread"})
        return
    loop = asyncio.get_running_loop()

    def handle(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(_stop, loop)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
        signal.siginterrupt(number, False)


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    task = loop.create_task(stop_all_waiting())
    _stopping.add(task)
    task.add_done_callback(_stopping.discard)
