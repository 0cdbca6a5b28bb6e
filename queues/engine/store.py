"""Opens pools: finds or writes the pool's own metadata, and tells how a store is doing."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any

from redis.exceptions import ResponseError

from . import limits
from .aio import AsyncEngine
from .connection import REPLY_TIMEOUT_S, AsyncClient, StoreAddress, SyncClient, connect, connect_async, parse_url
from .errors import InvalidArgumentError, LayoutError
from .executor import Engine
from .failures import is_cross_slot, reaching_redis
from .keys import LAYOUT_VERSION, META_KEY, Layout, partition_keys, pumps_key


def open_engine(
    url: str,
    *,
    partitions: int | None = None,
    events_cap: int = limits.EVENTS_CAP_DEFAULT,
    reply_timeout_s: float = REPLY_TIMEOUT_S,
) -> Engine:
    """Open a pool for synchronous use. A new store is given `partitions` (None: the default), for ever.

    Raises InvalidArgumentError (URL, number of partitions), LayoutError (the store has another layout or number of
    partitions), StoreUnavailableError.
    """
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
    except BaseException:
        client.close()
        raise
    return Engine(client, _layout(meta, partitions, events_cap), address)


def _connect(address: StoreAddress, reply_timeout_s: float) -> SyncClient:
    """A cluster's client asks for the map of the slots at once, which may fail."""
    with reaching_redis("open"):
        return connect(address, socket_timeout=reply_timeout_s)


async def open_async_engine(
    url: str, *, partitions: int | None = None, events_cap: int = limits.EVENTS_CAP_DEFAULT
) -> AsyncEngine:
    """Open a pool for the running event loop; otherwise as `open_engine`."""
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
            joins_slots = address.kind != "cluster" and await _joins_slots(client)
    except BaseException:
        with contextlib.suppress(Exception):
            await client.aclose()
        raise
    return AsyncEngine(client, _layout(meta, partitions, events_cap), address, joins_slots=joins_slots)


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
    return {"partitions": partitions or limits.PARTITIONS_DEFAULT, "layout": LAYOUT_VERSION}


def _check_partitions(partitions: int | None) -> None:
    if partitions is not None and not 1 <= partitions <= limits.PARTITIONS_MAX:
        raise InvalidArgumentError(f"partitions must be 1 to {limits.PARTITIONS_MAX}")


def _layout(meta: dict[bytes, bytes], partitions: int | None, events_cap: int) -> Layout:
    layout, found = int(meta[b"layout"]), int(meta[b"partitions"])
    if layout != LAYOUT_VERSION:
        raise LayoutError(f"the pool has layout version {layout}, this taskq reads {LAYOUT_VERSION}")
    if partitions is not None and found != partitions:
        raise LayoutError(f"the pool has {found} partitions, not {partitions}; they are fixed when a pool is made")
    return Layout(found, events_cap)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInfo:
    """How a store is doing. Sizes in bytes, `latency_ms` of one PING; None: not known (unreachable, or not a pool yet).

    `max_memory` 0 = no bound. `eviction_policy` other than noeviction may lose jobs; `aof` False may lose the newest.
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
            version=str(info.get("valkey_version") or info.get("redis_version", "")),
            mode=str(info.get("server_mode") or info.get("redis_mode", "")),  # Valkey's, Redis's
            used_memory=int(info.get("used_memory", 0)),
            max_memory=int(info.get("maxmemory", 0)),
            eviction_policy=str(info.get("maxmemory_policy", "")),
            aof=bool(info.get("aof_enabled", 0)),
            jobs=None if partitions is None else _count_jobs(client, partitions),
            clients=int(info.get("connected_clients", 0)),
            latency_ms=latency_ms,
            layout_version=int(meta[b"layout"]) if b"layout" in meta else None,
            partitions=partitions,
        )
    except Exception as error:
        return StoreInfo(reachable=False, error=str(error) or type(error).__name__)
    finally:
        client.close()


def _info(client: Any) -> dict[str, Any]:
    """INFO; of a cluster, of one of its nodes (they are set up alike), memory and clients added up."""
    info = client.info()
    if "redis_version" in info:
        return dict(info)
    nodes = [node for node in info.values() if isinstance(node, dict)]
    merged = dict(nodes[0])
    for field in ("used_memory", "connected_clients", "maxmemory"):
        merged[field] = sum(int(node.get(field, 0)) for node in nodes)
    return merged


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
