"""Reads a request body from ASGI messages when an operation asks for it, no further than it allows; JSON objects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import orjson

from queues.engine.constants import BULK_MAX_JOBS, DISCARD_MAX_BYTES, SECONDS_MAX

from .errors import BodyTooLargeError, ClientGoneError, ParameterError
from .large_requests import COPIES, LARGE_BYTES, large_work
from .request import ApiRequest, Headers, Message, Receive

DRAIN_MAX_S: Final = 2.0
"""How long a refused body is read and thrown away: clients that send first and read later get their answer."""

TakeMemory = Callable[[int], None]

_EMPTY: Final = {"type": "http.request", "body": b"", "more_body": False}


class RequestBody:
    """The body of one request. Nothing is read before it is asked for, so a refused request costs no memory."""

    __slots__ = (
        "_declared",
        "_expects_continue",
        "_handed_empty",
        "_may_watch",
        "_receive",
        "_told",
        "_watching",
        "client_gone",
        "is_settled",
    )

    def __init__(self, http_version: str, headers: Headers, receive: Receive) -> None:
        self._receive = receive
        self._handed_empty = False
        self._watching = False
        self.client_gone = False
        self._told: asyncio.Event | None = None
        first = headers.first
        self._expects_continue = b"expect" in first and first[b"expect"].lower() == b"100-continue"
        length = first.get(b"content-length")
        if b"transfer-encoding" in first:
            self._declared: int | None = None
        elif length is not None and length.isdigit():
            self._declared = int(length)
        else:
            # In HTTP/1 a body announces itself; in HTTP/2 it may come without a word.
            self._declared = 0 if http_version.startswith("1") else None
        self.is_settled = self._may_watch = self._declared == 0

    async def read(self, keep_max: int, most: int, take_memory: TakeMemory) -> bytes | bytearray | None:
        """All of it; None if it is longer than `keep_max`: then it is read to its end, and dropped piece by piece.

        Raises BodyTooLargeError if it is longer than `most`, by its declared length or while reading. `take_memory`
        counts what a large body takes, as it comes; raises ServerBusyError.
        """
        if self.is_settled:
            return b""
        declared = self._declared or 0
        if declared > most:
            raise BodyTooLargeError("body too large")
        chunk, more = await self._next()
        if not more and len(chunk) <= keep_max:
            return chunk
        is_kept = declared <= keep_max
        body = bytearray(chunk)
        size, counted = len(chunk), 0
        while more and size <= most:
            if is_kept and size > keep_max:
                is_kept = False
                body.clear()
            chunk, more = await self._next_of(size)
            size += len(chunk)
            if is_kept:
                body += chunk
                if size - counted > LARGE_BYTES:
                    take_memory(COPIES * (size - counted))
                    counted = size
        if size > most:
            raise BodyTooLargeError("body too large")
        return body if size <= keep_max else None

    async def drain(self) -> None:
        """Read and drop the rest of the body, within bounds. A client that waits for `100 Continue` sent nothing."""
        if self.is_settled or self._expects_continue:
            return
        try:
            async with asyncio.timeout(DRAIN_MAX_S):
                if self._watching:  # it throws the body away already, and two readers would take from each other
                    await self._until(lambda: self.is_settled)
                    return
                size, more = 0, True
                while more and size <= DISCARD_MAX_BYTES:
                    chunk, more = await self._next_of(size)
                    size += len(chunk)
        except (TimeoutError, ClientGoneError):
            return

    async def receive_for_django(self) -> Message:
        """What Django gets to see: an empty body, and then only that the client has gone."""
        if not self._handed_empty:
            self._handed_empty = True
            return _EMPTY
        await self._until(lambda: self._may_watch)
        return await self.wait_until_gone()

    async def wait_until_gone(self) -> Message:
        """Read and drop what comes until the client disconnects, within bounds. For bodies that are not used."""
        self._watching = True
        size = 0
        while (message := await self._receive())["type"] != "http.disconnect":
            size += len(message.get("body", b""))
            if not message.get("more_body", False):
                self._tell(settled=True)
            elif size > DISCARD_MAX_BYTES:
                # Too much to throw away: from now on the client is not listened to, and its request runs to its end.
                self._tell(settled=True)
                await asyncio.Event().wait()
            elif size > LARGE_BYTES:
                await large_work().turn()
        self._tell(settled=True)
        return message

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While in here, the current task is cancelled when the client hangs up; then `client_gone` is true."""
        task = asyncio.current_task()
        assert task is not None

        def leave(_: asyncio.Future[Message]) -> None:
            self.client_gone = True
            task.cancel()

        watching = asyncio.ensure_future(self.wait_until_gone())
        watching.add_done_callback(leave)
        try:
            yield
        finally:
            watching.remove_done_callback(leave)
            watching.cancel()

    def skip(self) -> None:
        """Declare that the body is not used: it is dropped, within bounds, so that a disconnect is noticed."""
        self._tell(may_watch=True)

    def _tell(self, *, settled: bool = False, may_watch: bool = False) -> None:
        self.is_settled = self.is_settled or settled
        self._may_watch = self._may_watch or may_watch
        if self._told is not None:
            self._told.set()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        """Wait for a condition. Most bodies are read at once, so the event is made only here."""
        while not is_so():
            if self._told is None:
                self._told = asyncio.Event()
            self._told.clear()
            await self._told.wait()

    async def _next_of(self, size: int) -> tuple[bytes, bool]:
        """As `_next`, of a body of which `size` bytes have come: a large one is read in turn with others.

        The server reads no further than this asks for. No turn is held while the client has not sent.
        """
        if size > LARGE_BYTES:
            await large_work().turn()
        return await self._next()

    async def _next(self) -> tuple[bytes, bool]:
        """The next piece, and whether more follow. Raises ClientGoneError."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._tell(settled=True, may_watch=True)
            raise ClientGoneError("client gone")
        more = message.get("more_body", False)
        if not more:
            self._tell(settled=True, may_watch=True)
        return message.get("body", b""), more


JSON_BODY_MAX_BYTES: Final = 64 * 1024

ARRAYS_MAX: Final = 65_536
"""Brackets in a body, those within texts included. Arrays take longest to decode: 60 ms for 1 MiB of `[],`."""


async def read_object(
    request: ApiRequest, limit: int = JSON_BODY_MAX_BYTES, *, values_max: int | None = None
) -> dict[str, Any]:
    """The body as a JSON object; an empty body is an empty object. Raises ParameterError, BodyTooLargeError.

    `values_max`: brackets, braces and commas in it, those within texts included. Many small values take long to decode.
    """
    body = bytes(await request.read_body(limit))
    if not body.strip():
        return {}
    if body.count(b"[") > ARRAYS_MAX:
        raise ParameterError("too many values")
    if values_max is not None and len(body) - len(body.translate(None, b"[{,")) > values_max:
        raise ParameterError("too many values")
    value = _decode(body)
    if not isinstance(value, dict):
        raise ParameterError("request body should be an object")
    return value


def _decode(body: bytes) -> Any:
    """The value, or None if it is no JSON.

    A text that JavaScript cut within a character ends in a lone surrogate, which orjson refuses. A consumer that
    reports such an error must not be left with its job until its lease runs out: the half character becomes a "?".
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return orjson.loads(json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def text_of(fields: dict[str, Any], name: str) -> str:
    """A text, "" when absent. Raises ParameterError("invalid NAME")."""
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ParameterError(f"invalid {name}")
    return value


def flag_of(fields: dict[str, Any], name: str) -> bool:
    """A boolean, false when absent."""
    value = fields.get(name, False)
    if not isinstance(value, bool):
        raise ParameterError(f"invalid {name}")
    return value


def seconds_as_ms_of(fields: dict[str, Any], name: str) -> int | None:
    """Seconds, decimals allowed, as ms; None when absent."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= SECONDS_MAX:
        raise ParameterError(f"invalid {name}")
    return round(value * 1000)


def number_of(fields: dict[str, Any], name: str, default: int) -> int:
    """A whole number that is not negative."""
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ParameterError(f"invalid {name}")
    return value


def ids_of(fields: dict[str, Any]) -> list[str]:
    """The job ids under `ids`: a list of 1 to BULK_MAX_JOBS texts."""
    ids = fields.get("ids")
    if not isinstance(ids, list) or not 0 < len(ids) <= BULK_MAX_JOBS or not all(isinstance(one, str) for one in ids):
        raise ParameterError("invalid ids")
    return ids
