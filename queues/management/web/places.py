"""Bounds how many things are under way, in all and for each client address."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable


class Places:
    """At most `total` places, of which one address holds at most `per_address`.

    One address thus never uses up what others need. A holder is whatever takes a place: it takes one only.
    """

    def __init__(self, *, total: int, per_address: int) -> None:
        self._total = total
        self._per_address = per_address
        self._taken = 0
        self._holders: dict[str, dict[Hashable, None]] = {}

    def take(self, address: str, holder: Hashable) -> bool:
        """Give `holder` a place. False: there is none for this address."""
        if not self.has_room_for(address):
            return False
        self._holders.setdefault(address, {})[holder] = None
        self._taken += 1
        return True

    def has_room_for(self, address: str) -> bool:
        """Whether `take` would succeed."""
        return self._taken < self._total and len(self._holders.get(address, ())) < self._per_address

    def give_back(self, address: str, holder: Hashable) -> None:
        """Free the place of `holder`, if it has one."""
        holders = self._holders.get(address)
        if holders is None or holder not in holders:
            return
        del holders[holder]
        self._taken -= 1
        if not holders:
            del self._holders[address]

    def rivals(self, address: str) -> list[tuple[str, Hashable]]:
        """Addresses and holders, oldest first, of which one has to go before `address` gets a place."""
        own = self._holders.get(address, {})
        addresses = {address: own} if len(own) >= self._per_address else self._holders
        return [(place, holder) for place, holders in addresses.items() for holder in holders]


class Turns:
    """Lets each address do at most `per_address` things at a time; what is more waits for its turn."""

    def __init__(self, *, per_address: int) -> None:
        self._per_address = per_address
        self._semaphores: dict[str, asyncio.Semaphore] = {}
        self._users: dict[str, int] = {}

    async def take(self, address: str) -> None:
        """Wait for a turn."""
        if address not in self._semaphores:
            self._semaphores[address], self._users[address] = asyncio.Semaphore(self._per_address), 0
        self._users[address] += 1
        try:
            await self._semaphores[address].acquire()
        except BaseException:
            self._leave(address)
            raise

    def give_back(self, address: str) -> None:
        """It is the turn of the next one."""
        self._semaphores[address].release()
        self._leave(address)

    def _leave(self, address: str) -> None:
        self._users[address] -= 1
        if not self._users[address]:
            del self._semaphores[address], self._users[address]
