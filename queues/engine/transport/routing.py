"""Which server an operation goes to. In a Redis Cluster that is the node that serves its slot, by a client of its own.

redis-py's cluster pipeline is not used for operations: it fails as a whole when one node does, and sends again what a
node may have carried out already. Its cluster client still keeps the map of the slots.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import MovedError, SlotNotCoveredError
from redis.retry import Retry

from ..operation import Operation
from .connection import CONNECT_TIMEOUT_S, REPLY_TIMEOUT_S, AsyncClient, StoreAddress, SyncClient
from .failures import is_from_replica, is_from_wrong_node
from .redis_internals import KeptConnections, move_slot, reconnect_all, renew_slot_map
from .replication import UnconfirmedError

NEW_MAP_S: Final = 0.5
"""The map of a cluster is asked for at most this often, however many calls fail."""


@dataclass(frozen=True, slots=True, eq=False)
class Server:
    """One Redis, and a client that talks to it alone. `name`: host:port of a cluster's node, otherwise empty.

    `kept`: a synchronous client's connections.
    """

    name: str
    client: Any
    kept: KeptConnections | None = None


class _Routes:
    """`client` is the pool's; of a cluster (then `address` is needed) it is only asked where things are."""

    def __init__(self, client: Any, address: StoreAddress | None) -> None:
        self._client = client
        self._address = address
        self._is_cluster = address is not None and address.kind == "cluster"
        self.only: Final = None if self._is_cluster else self._server("", client)
        """The server of every operation, unless this is a cluster."""
        self._servers: dict[str, Server] = {} if self.only is None else {"": self.only}
        self._mapped_at = -NEW_MAP_S

    def server_of(self, operation: Operation[Any]) -> Server:
        """Where to send an operation. All its keys share one hash tag, so the first stands for all."""
        if self.only is not None:
            return self.only
        try:
            node = self._client.get_node_from_key(operation.keys[0])
        except SlotNotCoveredError:
            node = self._client.get_random_node()  # which knows better, or says that the cluster is down
        server = self._servers.get(node.name)
        if server is None:
            # Two threads may get here at once; a client without connections can be thrown away.
            server = self._servers.setdefault(node.name, self._server(node.name, self._connect(node.host, node.port)))
        return server

    def split(self, operations: Sequence[Operation[Any]]) -> dict[Server, list[int]]:
        """The servers of operations, with the places of their operations in the sequence."""
        if self.only is not None:
            return {self.only: list(range(len(operations)))}
        places: dict[Server, list[int]] = {}
        for place, operation in enumerate(operations):
            places.setdefault(self.server_of(operation), []).append(place)
        return places

    def wants_new_map(self, replies: Iterable[Any]) -> bool:
        """Whether replies show that the cluster has changed, and its map was not asked for just now."""
        if not self._is_cluster or not any(is_from_wrong_node(reply) for reply in replies):
            return False
        now = time.monotonic()
        if now - self._mapped_at < NEW_MAP_S:
            return False
        self._mapped_at = now
        return True

    def _server(self, name: str, client: Any) -> Server:
        return Server(name, client)

    def _connect(self, host: str, port: int) -> Any:
        raise NotImplementedError

    def _node_options(self) -> dict[str, Any]:
        assert self._address is not None
        return {
            "username": self._address.username,
            "password": self._address.password,
            "socket_connect_timeout": CONNECT_TIMEOUT_S,
            "socket_timeout": REPLY_TIMEOUT_S,
            "protocol": 2,
        }


class Routes(_Routes):
    """For `Engine`."""

    def follow(self, moved: Iterable[MovedError]) -> None:
        """Believe nodes that say who serves a slot now."""
        for error in moved:
            move_slot(self._client, error)

    def heed(self, server: Server, replies: Sequence[Any]) -> None:
        """Find the way anew if the replies of a server say that it is no longer what it was."""
        if not any(isinstance(reply, Exception) for reply in replies):
            return
        if any(is_from_replica(reply) or isinstance(reply, UnconfirmedError) for reply in replies):
            reconnect_all(server.client)
        if self.wants_new_map(replies):
            with suppress(Exception):  # whatever the connection raised, the map stays as it was
                renew_slot_map(self._client, server.name)

    def close(self) -> None:
        for server in list(self._servers.values()):
            server.client.close()
        self._client.close()

    def _server(self, name: str, client: SyncClient) -> Server:
        return Server(name, client, KeptConnections(client))

    def _connect(self, host: str, port: int) -> SyncClient:
        return redis.Redis(host=host, port=port, retry=Retry(NoBackoff(), 0), **self._node_options())


class AsyncRoutes(_Routes):
    """For `AsyncEngine`."""

    async def follow(self, moved: Iterable[MovedError]) -> None:
        """Believe nodes that say who serves a slot now."""
        for error in moved:
            await move_slot(self._client, error)

    async def draw_new_map(self, suspect: str) -> None:
        """Ask the cluster which nodes serve which slots, the suspect last. May take long if more nodes are away."""
        with suppress(Exception):  # whatever the connection raised, the map stays as it was
            await renew_slot_map(self._client, suspect)

    async def close(self) -> None:
        for server in list(self._servers.values()):
            await server.client.aclose()
        await self._client.aclose()

    def _connect(self, host: str, port: int) -> AsyncClient:
        return redis.asyncio.Redis(host=host, port=port, retry=AsyncRetry(NoBackoff(), 0), **self._node_options())
