"""Looks up names, and checks addresses: public ones may be connected to, and those that the operator allows.

IPv4 addresses inside IPv6 ones (mapped, 6to4, NAT64, Teredo) are judged by the address that is meant. Names are looked
up in threads, one lookup at a time for each name, remembered for some seconds. The threads are daemons of their own: a
name server that never answers holds up neither asyncio's threads nor the end of the process.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from time import monotonic
from typing import Final

from .connection import HttpClientError, HttpFailure

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64: Final = IPv6Network("64:ff9b::/96")
_MORE_REFUSED: Final = tuple(
    ip_network(text) for text in ("192.0.0.0/24", "192.88.99.0/24", "::/96", "64:ff9b:1::/48", "fec0::/10")
)
"""Not public either, though `ipaddress` of some versions of Python says so, or says nothing."""


@dataclass(frozen=True, slots=True)
class AddressRules:
    """`allowed`: networks that may be connected to although they are not public."""

    allowed: tuple[Network, ...] = ()

    @classmethod
    def of(cls, networks: Iterable[Network]) -> AddressRules:
        """The rules with these networks allowed."""
        return cls(tuple(networks))

    def permits(self, address: str) -> bool:
        """Whether a connection to `address` (a literal) may be made. What cannot be read may not."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        meant = _meant(found)
        if any(one in network for one in {found, meant} for network in self.allowed if network.version == one.version):
            return True
        return _is_public(found) and _is_public(meant)


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, if it stands for one."""
    if isinstance(address, IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is not None:
        return inner
    if address.teredo is not None:
        return address.teredo[1]
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and (address.ipv4_mapped is not None or address in _NAT64):
        return True  # judged by the address that is meant
    if any(address in network for network in _MORE_REFUSED if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


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
