"""Looks up names, in threads: one lookup at a time for each name, remembered for some seconds.

Threads are of their own and daemons: a name server that never answers holds up neither asyncio's threads nor the end of
the process.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from ipaddress import ip_address
from time import monotonic
from typing import Final

from .errors import HttpClientError, HttpFailure

Lookup = Callable[[str, int], list[str]]
"""Host and port → addresses, as literals, the preferred first. May block; raises OSError."""

KEPT_S: Final = 10.0
LOOKUPS_MAX: Final = 128
"""Lookups under way. More wait for one of them to end."""

KNOWN_MAX: Final = 4_096


def look_up(host: str, port: int) -> list[str]:
    """The system's lookup."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


class Resolver:
    """Lookups of one event loop."""

    def __init__(self, lookup: Lookup = look_up) -> None:
        self._lookup = lookup
        self._known: dict[tuple[str, int], tuple[float, list[str]]] = {}
        self._under_way: dict[tuple[str, int], asyncio.Future[list[str]]] = {}
        self._slots = asyncio.Semaphore(LOOKUPS_MAX)
        self._tasks: set[asyncio.Task[None]] = set()

    async def resolve(self, host: str, port: int) -> list[str]:
        """The addresses of a host. Raises HttpClientError. The caller bounds the time."""
        try:
            ip_address(host)
        except ValueError:
            pass
        else:
            return [host]
        key = (host, port)
        at, addresses = self._known.get(key, (0.0, []))
        if addresses and monotonic() - at < KEPT_S:
            return addresses
        future = self._under_way.get(key)
        if future is None:
            future = self._under_way[key] = asyncio.get_running_loop().create_future()
            future.add_done_callback(lambda done: done.cancelled() or done.exception())  # waiters may all be gone
            task = asyncio.create_task(self._start(key, future))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(future)

    async def _start(self, key: tuple[str, int], future: asyncio.Future[list[str]]) -> None:
        await self._slots.acquire()
        loop = asyncio.get_running_loop()

        def work() -> None:
            found: list[str] | HttpClientError
            try:
                found = self._lookup(*key)
            except (OSError, UnicodeError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                found = HttpClientError(HttpFailure.LOOKUP, f"cannot look up {key[0]}: {reason}")
            try:
                loop.call_soon_threadsafe(self._finish, key, future, found)
            except RuntimeError:
                return  # the loop is closed: nobody waits

        threading.Thread(target=work, name="taskq-lookup", daemon=True).start()

    def _finish(
        self, key: tuple[str, int], future: asyncio.Future[list[str]], found: list[str] | HttpClientError
    ) -> None:
        self._slots.release()
        self._under_way.pop(key, None)
        if isinstance(found, HttpClientError):
            self._known.pop(key, None)
        else:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[key] = (monotonic(), found)
        if future.done():
            return
        if isinstance(found, HttpClientError):
            future.set_exception(found)
        else:
            future.set_result(found)
