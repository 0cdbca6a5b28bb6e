"""ASGI's lifespan messages: what an application does when its server starts and stops."""

from __future__ import annotations

from queues.pools import close_async_engines

from .asgi_types import Receive, Send
from .outages import OUTAGES


async def answer_lifespan(receive: Receive, send: Send) -> None:
    """On shutdown, waiting consumers are answered at once instead of being cut off."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await close_async_engines()
            OUTAGES.flush()
            await send({"type": "lifespan.shutdown.complete"})
            return
