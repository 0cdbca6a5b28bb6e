"""Opens pools: finds or writes the pool's own metadata, and reports the state of a store."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from redis.cluster import RedisCluster
from redis.exceptions import ResponseError

from . import constants
from .async_engine import AsyncEngine
from .engine import Engine
from .errors import InvalidArgumentError, LayoutError
from .keys import LAYOUT_VERSION, META_KEY, Layout, partition_keys, pumps_key
from .operations.survey import StoreLoad
from .transport import replication
from .transport.connection import (
    REPLY_TIMEOUT_S,
    AsyncClient,
    StoreAddress,
    SyncClient,
    connect,
    connect_async,
    parse_url,
)
from .transport.failures import is_cross_slot, raise_if_cancelled, reaching_redis


def open_engine(
    url: str,
    *,
    partitions: int | None = None,
    events_memory: int | None = None,
    reply_timeout_s: float = REPLY_TIMEOUT_S,
    min_replicas: int = 0,
    replication_timeout_s: float = replication.TIMEOUT_S,
    before_call: Callable[[], None] | None = None,
) -> Engine:
    """Open a pool for synchronous use. A new store is given `partitions` (None: the default), for ever.

    With `min_replicas` a publish returns once so many replicas have it, and raises NotReplicatedError if they do not
    say so within `replication_timeout_s`.
    `events_memory`: bytes for its event streams together; what does not fit is dropped, the oldest first.
    None: a quarter of the server's `maxmemory`, or 256 MiB where it has none.
    `before_call`: as `Engine` has it.

    Raises InvalidArgumentError (URL, a number out of its range), LayoutError (the store has another layout or number of
    partitions), StoreUnavailableError.
    """
    wait = replication.replica_wait(min_replicas, replication_timeout_s)
    _check_partitions(partitions)
    address = parse_url(url)
    client = _connect(address, reply_timeout_s)
    try:
        with reaching_redis("open"):
            meta = client.hgetall(META_KEY)
            if not _is_complete(meta):
                for field, value in _new_meta(partitions).items():
                    client.hsetnx(META_KEY, field, value)
                meta = client.hgetall(META_KEY)
            if events_memory is None:
                events_memory = _events_memory_of(_memory_info(client, address))
    except BaseException:
        client.close()
        raise
    layout = _layout(meta, partitions, events_memory)
    return Engine(client, layout, address, wait, before_call=before_call)


def _connect(address: StoreAddress, reply_timeout_s: float) -> SyncClient:
    """A cluster's client asks for the map of the slots at once, which may fail."""
    with reaching_redis("open"):
        return connect(address, socket_timeout=reply_timeout_s)


async def open_async_engine(
    url: str,
    *,
    partitions: int | None = None,
    events_memory: int | None = None,
    min_replicas: int = 0,
    replication_timeout_s: float = replication.TIMEOUT_S,
) -> AsyncEngine:
    """Open a pool for the running event loop; otherwise as `open_engine`."""
    wait = replication.replica_wait(min_replicas, replication_timeout_s)
    _check_partitions(partitions)
    address = parse_url(url)
    client = connect_async(address)
    try:
        with reaching_redis("open"):
            meta = await client.hgetall(META_KEY)
            if not _is_complete(meta):
                for field, value in _new_meta(partitions).items():
                    await client.hsetnx(META_KEY, field, value)
                meta = await client.hgetall(META_KEY)
            if events_memory is None:
                events_memory = _events_memory_of(await _memory_info_async(client, address))
            joins_slots = address.kind != "cluster" and await _joins_slots(client)
        raise_if_cancelled()
    except BaseException:
        with contextlib.suppress(Exception):
            await client.aclose()
        raise_if_cancelled()
        raise
    layout = _layout(meta, partitions, events_memory)
    return AsyncEngine(client, layout, address, joins_slots=joins_slots, replica_wait=wait)


def _memory_info(client: SyncClient, address: StoreAddress) -> Mapping[str, Any]:
    """What the server, or each node, says of its memory; nothing where INFO is not allowed."""
    try:
        return dict(client.info("memory", **_targets(address)))
    except ResponseError:
        return {}


async def _memory_info_async(client: AsyncClient, address: StoreAddress) -> Mapping[str, Any]:
    """The same for an event loop."""
    try:
        return dict(await client.info("memory", **_targets(address)))
    except ResponseError:
        return {}


def _events_memory_of(info: Mapping[str, Any]) -> int:
    """The default memory for a pool's events, in bytes."""
    if bound := _sum(_nodes_of(info, "maxmemory"), "maxmemory"):
        return max(bound // constants.EVENTS_MEMORY_PART, constants.EVENTS_MEMORY_MIN_MB * constants.MEBIBYTE)
    return constants.EVENTS_MEMORY_MB * constants.MEBIBYTE


async def _joins_slots(client: AsyncClient) -> bool:
    """Whether a script may use keys of several slots. Not if what answers is part of a cluster, or its proxy."""
    try:
        await client.eval("return 1", 2, partition_keys(0)["queues"], pumps_key())
    except ResponseError as error:
        if not is_cross_slot(error):
            raise
        return False
    return True


def _is_complete(meta: dict[bytes, bytes]) -> bool:
    """Whether the pool has been opened before: then opening writes nothing, and so works on a full Redis."""
    return b"partitions" in meta and b"layout" in meta


def _new_meta(partitions: int | None) -> dict[str, int]:
    return {"partitions": partitions or constants.PARTITIONS_DEFAULT, "layout": LAYOUT_VERSION}


def _check_partitions(partitions: int | None) -> None:
    if partitions is not None and not 1 <= partitions <= constants.PARTITIONS_MAX:
        raise InvalidArgumentError(f"partitions must be 1 to {constants.PARTITIONS_MAX}")


def _layout(meta: dict[bytes, bytes], partitions: int | None, events_memory: int) -> Layout:
    layout, found = int(meta[b"layout"]), int(meta[b"partitions"])
    if layout != LAYOUT_VERSION:
        raise LayoutError(f"the pool has layout version {layout}, this taskq reads {LAYOUT_VERSION}")
    if partitions is not None and found != partitions:
        raise LayoutError(f"the pool has {found} partitions, not {partitions}; they are fixed when a pool is made")
    return Layout(found, events_memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """How a store is doing. Sizes in bytes, `latency_ms` of one PING; None: not known (unreachable, or not a pool yet).

    `max_memory` 0 = no bound. `eviction_policy` other than noeviction may lose jobs; `aof` False may lose the newest.
    `replicas`: that follow the master now; of a cluster, the fewest that one of its masters has.
    `allocator`: as INFO names it, `libc` or `jemalloc-VERSION`.
    """

    reachable: bool
    error: str = ""
    version: str = ""
    mode: str = ""
    used_memory: int | None = None
    max_memory: int | None = None
    eviction_policy: str = ""
    aof: bool | None = None
    jobs: int | None = None
    clients: int | None = None
    replicas: int | None = None
    allocator: str = ""
    latency_ms: float | None = None
    layout_version: int | None = None
    partitions: int | None = None


def probe_store(url: str, *, timeout_s: float = 2.0) -> StoreInfo:
    """Look at a store without writing to it. Never raises for what Redis does; `error` then says why it is unreachable.

    `jobs` is counted over at most 10,000 queues; with more it is None.
    """
    try:
        client = connect(parse_url(url), socket_connect_timeout=timeout_s, socket_timeout=timeout_s)
    except Exception as error:
        return StoreInfo(reachable=False, error=str(error) or type(error).__name__)
    try:
        started = time.perf_counter()
        client.ping()
        latency_ms = (time.perf_counter() - started) * 1000
        info = _info(client)
        meta = client.hgetall(META_KEY)
        partitions = int(meta[b"partitions"]) if b"partitions" in meta else None
        return StoreInfo(
            reachable=True,
            version=server_version(info),
            mode=str(info.get("server_mode") or info.get("redis_mode", "")),  # Valkey's, Redis's
            used_memory=int(info.get("used_memory", 0)),
            max_memory=int(info.get("maxmemory", 0)),
            eviction_policy=str(info.get("maxmemory_policy", "")),
            aof=bool(info.get("aof_enabled", 0)),
            jobs=None if partitions is None else _count_jobs(client, partitions),
            clients=int(info.get("connected_clients", 0)),
            replicas=_count_replicas(info),
            allocator=str(info.get("mem_allocator", "")),
            latency_ms=latency_ms,
            layout_version=int(meta[b"layout"]) if b"layout" in meta else None,
            partitions=partitions,
        )
    except Exception as error:
        return StoreInfo(reachable=False, error=str(error) or type(error).__name__)
    finally:
        client.close()


def server_version(info: Mapping[str, Any]) -> str:
    """What a server is by its INFO: `Valkey 9.1.2`, `Redis 7.0.15`. Valkey says a version of Redis, too."""
    valkey = info.get("valkey_version")
    return f"Valkey {valkey}" if valkey else f"Redis {info.get('redis_version', '')}".strip()


def _info(client: Any) -> dict[str, Any]:
    """INFO; of a cluster, of the master with the fewest replicas (all are set up alike), memory and clients summed."""
    info = client.info(target_nodes="primaries") if isinstance(client, RedisCluster) else client.info()
    if "redis_version" in info:
        return dict(info)
    nodes = [node for node in info.values() if isinstance(node, dict)]
    merged = dict(min(nodes, key=_count_replicas))
    for field in ("used_memory", "connected_clients", "maxmemory"):
        merged[field] = sum(int(node.get(field, 0)) for node in nodes)
    return merged


def _count_replicas(info: Any) -> int:
    """Those that have their copy and follow: INFO counts, as connected, one that is still loading it, too."""
    replicas = [info.get(f"slave{number}") for number in range(int(info.get("connected_slaves", 0)))]
    return sum(isinstance(replica, dict) and replica.get("state") == "online" for replica in replicas)


_COUNTED_QUEUES_MAX = 10_000


def _count_jobs(client: Any, partitions: int) -> int | None:
    layout = Layout(partitions)
    total = visited = 0
    for partition in range(partitions):
        names = client.zrange(b"{tq%d}:queues" % partition, 0, _COUNTED_QUEUES_MAX)
        visited += len(names)
        if visited > _COUNTED_QUEUES_MAX:
            return None
        pipeline = client.pipeline(transaction=False)
        for name in names:
            pipeline.hlen(layout.named(name).select(("jobs",))[0])
        total += sum(pipeline.execute()) if names else 0
    return total


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
    nodes = _nodes_of(found, "redis_version")
    return StoreLoad(
        used_memory=_sum(nodes, "used_memory"),
        max_memory=_sum(nodes, "maxmemory"),
        keys=sum(_keys(node) for node in nodes),
        connected_clients=_sum(nodes, "connected_clients"),
        blocked_clients=_sum(nodes, "blocked_clients"),
        version=", ".join(sorted({server_version(node) for node in nodes})),
    )


def _nodes_of(found: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    """The answers of nodes to INFO, each of which has `field`.

    Of a cluster, each node's address is the key of its answer; with one node redis-py gives the answer alone.
    """
    return [found] if field in found else [node for node in found.values() if isinstance(node, dict)]


def _sum(nodes: Iterable[Mapping[str, Any]], field: str) -> int:
    return sum(int(node.get(field, 0)) for node in nodes)


def _keys(node: Mapping[str, Any]) -> int:
    return sum(int(value["keys"]) for name, value in node.items() if name.startswith("db") and isinstance(value, dict))
