"""A small ASGI application, and a process that serves it on connections of ours."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import defaultdict
from contextvars import ContextVar
from typing import Any

from queues.server.connection import ANSWER, HAS_HUNG_UP, ON_UNDELIVERED
from queues.server.server import run
from tests.support.waiting import wait_until

PIECES = (b"one ", b"two ", b"three")
FLOOD = 64 * 1_048_576
CARED_FOR = 1_048_576
HUNG_UP_NOTICED = "hung up: True"

left_behind: ContextVar[bytes] = ContextVar("left_behind", default=b"nothing")


class Application:
    """ASGI; each path is one way to answer."""

    def __init__(self) -> None:
        self._released: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._seen: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for stage in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{stage}.complete"})
            return
        way = getattr(self, scope["path"].removeprefix("/"))
        await way(scope, receive, send)

    async def seen(self, _scope: Any, _receive: Any, send: Any) -> None:
        """What `wait` has noted."""
        await _answer(send, json.dumps(self._seen).encode())

    async def release(self, scope: Any, _receive: Any, send: Any) -> None:
        self._released[scope["query_string"].decode()].set()
        await _answer(send, b"")

    async def echo(self, _scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        await _answer(send, body)

    async def echo_header(self, scope: Any, receive: Any, send: Any) -> None:
        """Content-Length as it was heard, and a body that came in one piece."""
        message = await receive()
        await _answer(send, dict(scope["headers"])[b"content-length"] + b" " + message["body"])

    async def query(self, scope: Any, _receive: Any, send: Any) -> None:
        await _answer(send, scope["query_string"])

    async def wait(self, scope: Any, receive: Any, send: Any) -> None:
        """Until it is released, or the client is gone."""
        name = scope["query_string"].decode()
        self._seen.append(f"{name} begun")
        released = asyncio.create_task(self._released[name].wait())
        gone = asyncio.create_task(_until_gone(receive))
        await asyncio.wait((released, gone), return_when=asyncio.FIRST_COMPLETED)
        self._seen.append(f"{name} {'gone' if gone.done() else 'released'}")
        released.cancel()
        gone.cancel()
        await _answer(send, name.encode())

    async def block_upload(self, scope: Any, _receive: Any, send: Any) -> None:
        """As `wait`, but it has no ear for its client."""
        name = scope["query_string"].decode()
        self._seen.append(f"{name} begun")
        await self._released[name].wait()
        await _answer(send, name.encode())

    async def block(self, scope: Any, _receive: Any, _send: Any) -> None:
        """Keeps the event loop from hearing of anything until the kernel tells that the client is gone."""
        has_hung_up = scope["extensions"][HAS_HUNG_UP]
        print(f"hung up: {has_hung_up()}", flush=True)
        wait_until(has_hung_up, or_fail="the client did not hang up")
        print(HUNG_UP_NOTICED, flush=True)

    async def stream(self, _scope: Any, _receive: Any, send: Any) -> None:
        await _start(send)
        for piece in PIECES:
            await _piece(send, piece, more=True)
        await _piece(send, b"")

    async def pieces(self, scope: Any, _receive: Any, send: Any) -> None:
        """As many bytes as the query says are promised, and PIECES sent."""
        await _start(send, (b"content-length", scope["query_string"]))
        for piece in PIECES:
            await _piece(send, piece, more=piece is not PIECES[-1])

    async def whole(self, scope: Any, _receive: Any, send: Any) -> None:
        """As many bytes as the query says are promised, and b"three" sent at once."""
        await _start(send, (b"content-length", scope["query_string"]))
        await _piece(send, PIECES[-1])

    async def flood(self, _scope: Any, _receive: Any, send: Any) -> None:
        """FLOOD bytes."""
        await _start(send)
        for _ in range(0, FLOOD, 65_536):
            await _piece(send, bytes(65_536), more=True)
        await _piece(send, b"")

    async def cared_for(self, scope: Any, _receive: Any, send: Any) -> None:
        """CARED_FOR bytes; notes it if they are not delivered."""
        scope["extensions"][ON_UNDELIVERED](lambda: self._seen.append("not delivered"))
        await _answer(send, bytes(CARED_FOR))

    async def empty(self, _scope: Any, _receive: Any, send: Any) -> None:
        await _start(send, (b"content-length", b"0"), status=204)
        await _piece(send, b"")

    async def fail(self, _scope: Any, _receive: Any, _send: Any) -> None:
        raise ValueError("before the start")

    async def fail_late(self, _scope: Any, _receive: Any, send: Any) -> None:
        await _start(send)
        await _piece(send, PIECES[0], more=True)
        raise ValueError("after the start")

    async def at_once(self, scope: Any, _receive: Any, send: Any) -> None:
        """The query, by the extension for whole answers; in ASGI's way, and saying so, if that declines."""
        body = scope["query_string"]
        if not scope["extensions"][ANSWER](200, (), b"content-length: %d\r\n" % len(body), body):
            await _start(send, (b"content-length", b"%d" % len(body)), (b"x-declined", b"1"))
            await _piece(send, body)

    async def at_once_broken(self, scope: Any, _receive: Any, _send: Any) -> None:
        """The query, percent-decoded by hand, is a header's value."""
        value = bytes.fromhex(scope["query_string"].decode())
        scope["extensions"][ANSWER](200, ((b"x-value", value),), b"content-length: 0\r\n", b"")

    async def tasks(self, _scope: Any, _receive: Any, send: Any) -> None:
        """How many there are."""
        await _answer(send, b"%d" % len(asyncio.all_tasks()))

    async def leave_behind(self, scope: Any, _receive: Any, send: Any) -> None:
        """What the request before has left in the context. This one leaves its query."""
        found = left_behind.get()
        left_behind.set(scope["query_string"])
        await _answer(send, found)

    async def broken_header(self, scope: Any, _receive: Any, send: Any) -> None:
        """The query, percent-decoded by hand, is a header's value."""
        value = bytes.fromhex(scope["query_string"].decode())
        await _start(send, (b"content-length", b"0"), (b"x-value", value))
        await _piece(send, b"")


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _start(send: Any, *headers: tuple[bytes, bytes], status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _piece(send: Any, body: bytes, *, more: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def _answer(send: Any, body: bytes) -> None:
    await _start(send, (b"content-length", b"%d" % len(body)))
    await _piece(send, body)


def _load() -> Application:
    import django

    django.setup()  # as the real application is: what ends long polls is imported when the server stops
    return Application()


def main() -> None:
    """Serve until SIGTERM: `python -m tests.running.connections.application PORT IDLE_MAX_S HOST`."""
    run(_load, host=sys.argv[3], port=int(sys.argv[1]), workers=1, idle_max_s=int(sys.argv[2]))


if __name__ == "__main__":
    main()
