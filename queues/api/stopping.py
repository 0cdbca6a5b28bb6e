"""A graceful stop does not wait for long polls: the server calls this before it lets requests finish."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from queues.services.pools.engines import stop_all_waiting

_stopping: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[None]] = WeakKeyDictionary()


def stop_waiting(loop: asyncio.AbstractEventLoop) -> None:
    """Answer those who wait on this loop, empty-handed, now and from now on. To ask again changes nothing."""
    if loop not in _stopping:
        _stopping[loop] = loop.create_task(stop_all_waiting())
