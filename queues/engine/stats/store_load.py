"""How much a pool's Redis holds and who is connected to it: asked for in one round trip, by those who poll."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..aio import AsyncEngine
from ..executor import Engine
from ..store import server_version
from ..transport.connection import StoreAddress
from ..transport.failures import reaching_redis


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLoad:
    """Of a cluster, the sum over its masters. Sizes in bytes; `max_memory` 0: no bound. `keys`: of all databases.

    `version`: what the server is (`server_version`), or what they are where they differ.
    """

    used_memory: int
    max_memory: int
    keys: int
    connected_clients: int
    blocked_clients: int
    version: str = ""


async def read_store_load(engine: AsyncEngine) -> StoreLoad:
    """Ask now. Raises StoreUnavailableError."""
    with reaching_redis("info"):
        found = await engine.client.info(**_targets(engine.address))
    return _load_of(found)


def ask_store_load(engine: Engine) -> StoreLoad:
    """The same for threads."""
    with reaching_redis("info"):
        found = engine.client.info(**_targets(engine.address))
    return _load_of(found)


def _targets(address: StoreAddress | None) -> dict[str, str]:
    return {"target_nodes": "primaries"} if address is not None and address.kind == "cluster" else {}


def _load_of(found: Mapping[str, Any]) -> StoreLoad:
    """Of a cluster, each node's address is the key of its answer; with one node redis-py gives the answer alone."""
    nodes = [found] if "redis_version" in found else list(found.values())
    return StoreLoad(
        used_memory=_sum(nodes, "used_memory"),
        max_memory=_sum(nodes, "maxmemory"),
        keys=sum(_keys(node) for node in nodes),
        connected_clients=_sum(nodes, "connected_clients"),
        blocked_clients=_sum(nodes, "blocked_clients"),
        version=", ".join(sorted({server_version(node) for node in nodes})),
    )


def _sum(nodes: Iterable[Mapping[str, Any]], field: str) -> int:
    return sum(int(node.get(field, 0)) for node in nodes)


def _keys(node: Mapping[str, Any]) -> int:
    return sum(int(value["keys"]) for name, value in node.items() if name.startswith("db") and isinstance(value, dict))
