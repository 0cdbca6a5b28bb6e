"""One connection of an event loop to a pool that receives messages of others: wake-ups, and notices to all processes.

A notice says that something that processes have cached is out of date. A sender does not know the receivers, and
nothing is kept: what is sent while the connection is down is lost. So each listener is told when the connection has
been established (again), and then polls.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ..keys import notice_channel
from ..transport.connection import REPLY_TIMEOUT_S, AsyncClient, StoreAddress, connect, connect_subscriber, parse_url
from ..transport.failures import raise_if_cancelled, reaching_redis

logger = logging.getLogger("taskq.subscription")

PING_EVERY_S: Final = 5.0
"""A connection that is silently dead (a cable, a firewall) says nothing, as one does that has nothing to say."""

FIRST_DELAY_S: Final = 0.1
LONGEST_DELAY_S: Final = 5.0
"""Between attempts to connect; doubled from one to the next."""

CANCEL_AGAIN_S: Final = 0.1

MessageHandler = Callable[[bytes], None]


class Subscription:
    """Follows channels, reconnecting for as long as it takes. `hearers`: channel → what takes its messages.

    Nothing is opened before `start`. `client`: the pool's; of a cluster it says where a node is.
    """

    def __init__(self, address: StoreAddress, client: AsyncClient, handlers: Mapping[bytes, MessageHandler]) -> None:
        self._address = address
        self._client = client
        self._handlers = dict(handlers)
        self._told: list[Callable[[], None]] = []
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._established = asyncio.Event()

    @property
    def established(self) -> bool:
        """Whether messages arrive at the moment, as far as is known."""
        return self._established.is_set()

    def on_established(self, callback: Callable[[], None]) -> None:
        """Call it each time that the connection has been established: messages may have been lost until then."""
        self._told.append(callback)

    def follow(self, channel: bytes, on_message: MessageHandler) -> None:
        """Follow one more channel, from the next time on that it connects."""
        self._handlers[channel] = on_message

    def start(self) -> None:
        """Begin, in the background, unless it has begun."""
        if self._task is None and not self._closed:
            self._task = asyncio.get_running_loop().create_task(self._keep_up())

    async def wait(self, timeout_s: float) -> None:
        """Begin, and return once it is established or the time is up."""
        self.start()
        if not self._established.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):  # wait_for of Python 3.11 may lose a cancellation
                    await self._established.wait()

    async def close(self) -> None:
        self._closed = True
        while self._task is not None and not self._task.done():
            self._task.cancel()  # which redis-py may take for a timeout while it connects
            await asyncio.wait([self._task], timeout=CANCEL_AGAIN_S)

    async def _keep_up(self) -> None:
        delay_s = FIRST_DELAY_S
        while not self._closed:
            try:
                await self._follow()
            except Exception as error:
                if self._established.is_set():
                    delay_s = FIRST_DELAY_S
                    logger.warning("subscription lost", extra={"action": "subscribe", "error": str(error)})
            finally:
                self._established.clear()
            raise_if_cancelled()
            if not self._closed:
                await asyncio.sleep(delay_s)
            delay_s = min(delay_s * 2, LONGEST_DELAY_S)

    async def _follow(self) -> None:
        """Connect, subscribe, and listen until the connection breaks: always ends with an exception."""
        client = connect_subscriber(self._address, self._client)
        try:
            async with asyncio.timeout(REPLY_TIMEOUT_S):
                connection = await client.connection_pool.get_connection()
                await connection.send_command("SUBSCRIBE", *self._handlers)
                for _ in self._handlers:
                    await connection.read_response()
            raise_if_cancelled()
            connection.socket_timeout = None  # from here on silence is no fault
            self._tell_established()
            ear = _Ear()
            pings = asyncio.get_running_loop().create_task(ear.ping(connection))
            try:
                await self._listen(connection, ear)
            finally:
                pings.cancel()
        finally:
            await client.connection_pool.disconnect()
            await client.aclose()

    def _tell_established(self) -> None:
        self._established.set()
        for callback in self._told:
            callback()

    async def _listen(self, connection: Any, ear: _Ear) -> None:
        """redis-py's own loop over messages costs five times as much as reading them off its connection."""
        read, handlers = connection.read_response, self._handlers
        while True:
            message = await read(disconnect_on_error=False)
            ear.heard = True
            if message[0] == b"message":
                try:
                    handlers[message[1]](message[2])
                except Exception as error:  # a fault of one hearer must not deafen the others
                    logger.error("message not handled", exc_info=error, extra={"action": "hear"})


class _Ear:
    """Finds out whether a connection that is silent is dead."""

    __slots__ = ("heard",)

    def __init__(self) -> None:
        self.heard = False

    async def ping(self, connection: Any) -> None:
        """Ask for an answer now and then; without one, cut the connection, which its reader notices."""
        with contextlib.suppress(Exception):  # it broke: the reader knows
            while True:
                await asyncio.sleep(PING_EVERY_S)
                self.heard = False
                await connection.send_command("PING")
                await asyncio.sleep(REPLY_TIMEOUT_S)
                if not self.heard:
                    await connection.disconnect(nowait=True)
                    return


ANNOUNCE_TIMEOUT_S: Final = 1.0
"""For connecting, and for the answer: the caller has done its work, and should not wait for long."""


def announce(url: str, notices: Sequence[Sequence[str]]) -> None:
    """Tell every process that follows the pool's notices now. Each notice: its kind, then details, without tabs.

    Uses a connection of its own and closes it: few notices are worth holding one. Raises InvalidArgumentError (URL),
    StoreUnavailableError: some may have been told.
    """
    address = parse_url(url)
    with reaching_redis("announce"):
        client = connect(address, socket_connect_timeout=ANNOUNCE_TIMEOUT_S, socket_timeout=ANNOUNCE_TIMEOUT_S)
        try:
            for notice in notices:
                client.publish(notice_channel(), "\t".join(notice))
        finally:
            client.close()


def read_notice(message: bytes) -> tuple[str, ...]:
    """Kind and details of a message of the notice channel. Raises ValueError for what is none."""
    return tuple(message.decode().split("\t"))
