"""The yardstick application: answers "hello" and nothing else, on the server that `manage.py serve` would start.

`python -m bench.hello PORT WORKERS` serves it with the options of queues.server.server.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

from queues.server.server import run

BODY = b"hello"
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/plain"), (b"content-length", str(len(BODY)).encode())],
}
_BODY = {"type": "http.response.body", "body": BODY}


async def application(_scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
    """Bare ASGI."""
    if _scope["type"] == "lifespan":
        await _live(receive, send)
        return
    await send(_START)
    await send(_BODY)


async def _live(receive: Callable[[], Awaitable[Any]], send: Any) -> None:
    for stage in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{stage}.complete"})


def load() -> Any:
    """The application, in each worker."""
    return application


def main() -> None:
    """Serve until SIGTERM."""
    run(load, host="127.0.0.1", port=int(sys.argv[1]), workers=int(sys.argv[2]))


if __name__ == "__main__":
    main()
