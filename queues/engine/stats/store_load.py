"""How much a pool's Redis holds and how many are connected to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLoad:
    """Of a cluster, the sum over its masters. Sizes in bytes; `max_memory` 0: no bound. `keys`: of all databases.

    `version`: what the server is (`queues.engine.store.server_version`), or what they are where they differ.
    """

    used_memory: int
    max_memory: int
    keys: int
    connected_clients: int
    blocked_clients: int
    version: str = ""
