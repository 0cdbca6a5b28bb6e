"""Hands clients' connections over from a worker to the pages process: the worker's side.

A worker serves the API's fast path. It passes a connection on which anything else is asked for to the pages process, by
SCM_RIGHTS on a Unix socket, with the bytes that it has read from the beginning of that request on. Nothing is parsed
twice and nothing is copied afterwards: the worker closes its own descriptor, which the client does not notice.

The pages process confirms a connection before it serves it, and cannot confirm it any more once the worker has given
up. So a request is served by one of them, never by both; the worker answers 503 for what was not taken.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Hashable
from enum import Enum
from pathlib import Path
from time import monotonic
from typing import Final

PATIENCE_S: Final = 15.0
"""How long connections wait for a pages process that starts, from the first that found it away; and for its answer."""

RETRY_S: Final = 0.05
"""Between two looks for a pages process that is away."""

REFUSED_FOR_S: Final = 0.25
"""How long the pages process is not asked again about an address for which it had no slot."""

PAGE_SLOTS: Final = 256
PAGE_SLOTS_PER_ADDRESS: Final = 64
"""Connections that a worker is handing over at the same time. More are refused at once: producers come first."""

API_SLOTS: Final = 256
API_SLOTS_PER_ADDRESS: Final = 64
"""The same of those on which a route of the API is asked for: `/metrics` and staff's routes do not wait for pages."""

HEAD: Final = struct.Struct("!?I")
"""What a message begins with: whether the first request is for the API, and how many bytes follow."""


class HandOverReply(Enum):
    """What the pages process says of a connection: one byte."""

    TAKEN = b"T"
    BUSY = b"B"
    """It has no slot for this address; the worker refuses the request."""
    AWAY = b""
    """It has not taken the connection, and will not."""


class ConnectionSlots:
    """At most `total` slots, of which one address holds at most `per_address`.

    One address thus never uses up what others need. A holder takes one slot only.
    """

    def __init__(self, *, total: int, per_address: int) -> None:
        self._total = total
        self._per_address = per_address
        self._taken = 0
        self._holders: dict[str, dict[Hashable, None]] = {}

    def take(self, address: str, holder: Hashable) -> bool:
        """Give `holder` a slot. False: there is none for this address."""
        if not self.has_room_for(address):
            return False
        self._holders.setdefault(address, {})[holder] = None
        self._taken += 1
        return True

    def has_room_for(self, address: str) -> bool:
        """Whether `take` would succeed."""
        return self._taken < self._total and len(self._holders.get(address, ())) < self._per_address

    def give_back(self, address: str, holder: Hashable) -> None:
        """Free the slot of `holder`, if it has one."""
        holders = self._holders.get(address)
        if holders is None or holder not in holders:
            return
        del holders[holder]
        self._taken -= 1
        if not holders:
            del self._holders[address]

    def rivals(self, address: str) -> list[tuple[str, Hashable]]:
        """Addresses and holders, oldest first, of which one has to go before `address` gets a slot."""
        own = self._holders.get(address, {})
        addresses = {address: own} if len(own) >= self._per_address else self._holders
        return [(its_address, holder) for its_address, holders in addresses.items() for holder in holders]


class ConnectionSender:
    """Passes connections to the pages process that listens at `path`."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._slots = {
            False: ConnectionSlots(total=PAGE_SLOTS, per_address=PAGE_SLOTS_PER_ADDRESS),
            True: ConnectionSlots(total=API_SLOTS, per_address=API_SLOTS_PER_ADDRESS),
        }
        self._refused: set[tuple[bool, str]] = set()
        self._away_since: float | None = None
        self._missed_at = 0.0
        self._lookout: asyncio.Task[bool] | None = None

    async def hand_over(self, client: socket.socket, data: bytes, *, address: str, is_api: bool) -> HandOverReply:
        """Pass the socket `client`, on which `data` was read already. The caller keeps its own descriptor."""
        slots, holder = self._slots[is_api], object()
        if (is_api, address) in self._refused or not slots.take(address, holder):
            return HandOverReply.BUSY
        message = HEAD.pack(is_api, len(data)) + data
        until = monotonic() + PATIENCE_S
        try:
            verdict = await self._offer(client, message, until)
            while verdict is HandOverReply.AWAY and monotonic() < until and await self._comes_back():
                verdict = await self._offer(client, message, until)
        finally:
            slots.give_back(address, holder)
        if verdict is not HandOverReply.AWAY:
            self._away_since = None
        if verdict is HandOverReply.BUSY:
            self._refused.add((is_api, address))
            asyncio.get_running_loop().call_later(REFUSED_FOR_S, self._refused.discard, (is_api, address))
        return verdict

    async def _offer(self, client: socket.socket, message: bytes, until: float) -> HandOverReply:
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.setblocking(False)
            try:
                channel.connect(self._path)
                sent = socket.send_fds(channel, [message], [client.fileno()])
                try:
                    async with asyncio.timeout(until - monotonic()):
                        if sent < len(message):  # else it may be confirmed, and the other end closed, by now
                            await loop.sock_sendall(channel, memoryview(message)[sent:])
                        return HandOverReply(await loop.sock_recv(channel, 1))
                except TimeoutError:
                    channel.shutdown(socket.SHUT_RD)  # from now on the confirmation cannot be sent; was it before?
                    return HandOverReply(channel.recv(1))
            except OSError:
                return HandOverReply.AWAY

    async def _comes_back(self) -> bool:
        """Wait for it; one looks for all. Those that come when it has been away for long are told at once."""
        now = monotonic()
        if self._away_since is None or now - self._missed_at > PATIENCE_S:
            self._away_since = now
        self._missed_at = now
        if now - self._away_since >= PATIENCE_S:
            return False
        if self._lookout is None or self._lookout.done():
            self._lookout = asyncio.create_task(self._look_out(until=self._away_since + PATIENCE_S))
        return await asyncio.shield(self._lookout)

    async def _look_out(self, *, until: float) -> bool:
        while monotonic() < until:
            await asyncio.sleep(RETRY_S)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
                channel.setblocking(False)
                try:
                    channel.connect(self._path)
                except OSError:
                    continue
                return True
        return False
