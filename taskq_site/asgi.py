"""The ASGI application: `uvicorn taskq_site.asgi:application`; `manage.py serve` does it best.

It serves everything in one process. `manage.py serve` gives pages a process of their own (`queues.server`).
"""

from __future__ import annotations

import os
from typing import Final, cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "taskq_site.settings")

_django: Final = get_asgi_application()  # sets Django up, which must come before models are imported

from django.conf import settings  # noqa: E402

from queues.api.asgi import ApiMiddleware, answer_lifespan  # noqa: E402
from queues.api.context import CONTEXT  # noqa: E402
from queues.api.fast_path import FastPath  # noqa: E402
from queues.api.http.request import Application, Receive, Scope, Send  # noqa: E402
from queues.api.routes import ROUTER  # noqa: E402


async def _site(scope: Scope, receive: Receive, send: Send) -> None:
    """HTTP goes to Django, which does not know the server's lifespan messages."""
    if scope["type"] == "lifespan":
        await answer_lifespan(receive, send)
    else:
        await cast(Application, _django)(scope, receive, send)


application: Final = ApiMiddleware(_site, fast_path=FastPath(ROUTER, CONTEXT) if settings.TASKQ_FAST_PATH else None)
