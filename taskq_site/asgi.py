"""The ASGI application: `granian --interface asgi taskq_site.asgi:application`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final, cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "taskq_site.settings")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_django: Final = cast(Application, get_asgi_application())


async def _site(scope: Scope, receive: Receive, send: Send) -> None:
    """HTTP goes to Django; the server's lifespan messages, which Django does not know, are answered here."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    else:
        await _django(scope, receive, send)


async def _lifespan(receive: Receive, send: Send) -> None:
    """On shutdown, waiting consumers are answered at once instead of being cut off."""
    from queues.pools import close_async_engines

    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await close_async_engines()
            await send({"type": "lifespan.shutdown.complete"})
            return


from queues.api.asgi import ApiGate  # noqa: E402 - imports models, which Django must have set up

application: Final = ApiGate(_site)
