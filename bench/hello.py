"""The yardstick application: answers "hello" and nothing else, on the server that `manage.py serve` would start.

`python -m bench.hello PORT` serves it with the options of queues.management.web_server, one worker.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from granian.constants import Interfaces
from granian.server.mp import MPServer

from queues.embedded import follow_parent
from queues.management import web_server

BODY = b"hello"
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/plain"), (b"content-length", str(len(BODY)).encode())],
}
_BODY = {"type": "http.response.body", "body": BODY}


async def application(_scope: Any, _receive: Any, send: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    """Bare ASGI."""
    await send(_START)
    await send(_BODY)


def load(server_pid: int) -> Callable[..., Any]:
    """What the worker calls first."""
    follow_parent(server_pid)
    return application


class HelloServer(MPServer):
    """Granian with whatever options the service chooses, and another application."""

    def __init__(self, _target: str, **options: Any) -> None:
        super().__init__("bench.hello:application", **{**options, "interface": Interfaces.ASGI})

    def serve(self, spawn_target: Any = None, target_loader: Any = None, wrap_loader: bool = True) -> Any:
        return super().serve(spawn_target, partial(load, os.getpid()), wrap_loader=False)


def main() -> None:
    """Serve until SIGTERM."""
    vars(web_server)["Granian"] = HelloServer
    web_server.serve(host="127.0.0.1", port=int(sys.argv[1]), workers=1)


if __name__ == "__main__":
    main()
