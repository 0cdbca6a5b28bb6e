"""The ASGI application: `uvicorn taskq_site.asgi:application`; `manage.py serve` does it best."""

from __future__ import annotations

import os
from typing import Final, cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "taskq_site.settings")

_django: Final = get_asgi_application()  # sets Django up, which must come before models are imported

from django.conf import settings  # noqa: E402

from queues.api.asgi import ApiGate  # noqa: E402
from queues.api.asgi_types import Application, Receive, Scope, Send  # noqa: E402
from queues.api.context import CONTEXT  # noqa: E402
from queues.api.fast_lane import FastLane  # noqa: E402
from queues.api.routes import ROUTER  # noqa: E402
from queues.pools import close_async_engines  # noqa: E402


async def _site(scope: Scope, receive: Receive, send: Send) -> None:
    """HTTP goes to Django; the server's lifespan messages, which Django does not know, are answered here."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    else:
        await cast(Application, _django)(scope, receive, send)


async def _lifespan(receive: Receive, send: Send) -> None:
    """On shutdown, waiting consumers are answered at once instead of being cut off."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await close_async_engines()
            await send({"type": "lifespan.shutdown.complete"})
            return


application: Final = ApiGate(_site, fast_lane=FastLane(ROUTER, CONTEXT) if settings.TASKQ_FAST_LANE else None)
