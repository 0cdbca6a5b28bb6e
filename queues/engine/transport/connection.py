"""From a pool's URL to redis-py clients: plain, TLS, unix socket, Sentinel, Cluster.

redis://[user:password@]host:port/db       rediss://... (TLS)       unix:///path/to/socket?db=0
redis+sentinel://[user:password@]host:port,host:port/service[/db]
redis+cluster://[user:password@]host:port,host:port
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import redis
import redis.asyncio
from redis.asyncio.cluster import ClusterNode as AsyncClusterNode
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.driver_info import DriverInfo
from redis.retry import Retry
from redis.sentinel import Sentinel

from ..errors import InvalidArgumentError

CONNECT_TIMEOUT_S = 2.0
REPLY_TIMEOUT_S = 5.0


def _untyped(function: Any) -> Any:
    """redis-py leaves these without annotations."""
    return function


SyncClient = Any
"""redis.Redis or redis.cluster.RedisCluster; redis-py's own types do not let the two be used alike."""
AsyncClient = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAddress:
    """A parsed pool URL. `kind`: plain, sentinel or cluster; for plain, redis-py reads `url` itself."""

    url: str
    kind: str
    hosts: tuple[tuple[str, int], ...] = ()
    service: str = ""
    db: int = 0
    username: str | None = None
    password: str | None = None


_SCHEMES = {
    "redis": "plain",
    "rediss": "plain",
    "unix": "plain",
    "redis+sentinel": "sentinel",
    "redis+cluster": "cluster",
}
_DEFAULT_PORT = {"sentinel": 26379, "cluster": 6379}


def parse_url(url: str) -> StoreAddress:
    """Read a pool URL. Raises InvalidArgumentError that says what is wrong, without the password."""
    scheme, separator, rest = url.partition("://")
    kind = _SCHEMES.get(scheme)
    if kind is None or not separator or not rest:
        raise InvalidArgumentError(f"pool URL must begin with one of {', '.join(f'{name}://' for name in _SCHEMES)}")
    if kind == "plain":
        return _plain(url, scheme)
    credentials, _, place = rest.rpartition("@")
    username, _, password = credentials.partition(":")
    hosts, _, path = place.partition("/")
    service, _, db = path.partition("/")
    if kind == "sentinel" and not service:
        raise InvalidArgumentError("pool URL names no Sentinel service: redis+sentinel://host:port/SERVICE")
    if kind == "cluster" and path:
        raise InvalidArgumentError("a Redis Cluster has no database numbers: leave out what follows the hosts")
    if db and not db.isdigit():
        raise InvalidArgumentError("database number of the pool URL is not a number")
    return StoreAddress(
        url=url,
        kind=kind,
        hosts=tuple(_host(text, _DEFAULT_PORT[kind]) for text in hosts.split(",")),
        service=service,
        db=int(db or 0),
        username=unquote(username) or None,
        password=unquote(password) or None,
    )


def _plain(url: str, scheme: str) -> StoreAddress:
    try:
        parts = urlsplit(url)
        missing = not parts.path if scheme == "unix" else not parts.hostname
        _ = parts.port
    except ValueError as error:
        raise InvalidArgumentError("pool URL has a port that is not a number") from error
    if missing:
        raise InvalidArgumentError("pool URL names no socket path" if scheme == "unix" else "pool URL names no host")
    return StoreAddress(url=url, kind="plain")


def _host(text: str, default_port: int) -> tuple[str, int]:
    host, _, port = text.rpartition(":") if ":" in text else (text, "", str(default_port))
    if not host or not port.isdigit():
        raise InvalidArgumentError(f"not host:port in the pool URL: {text!r}")
    return host, int(port)


def same_place(one: str, other: str) -> bool:
    """Whether two pool URLs name the same database of the same server, whatever their credentials.

    Only what the URLs say is compared: two names of one host are not seen through.
    """
    try:
        return _place(one) == _place(other)
    except (InvalidArgumentError, ValueError):  # not a pool URL, which others say
        return False


def _place(url: str) -> tuple[Any, ...]:
    scheme = url.partition("://")[0]
    if _SCHEMES.get(scheme, "plain") != "plain":
        address = parse_url(url)
        return address.kind, frozenset(address.hosts), address.service, address.db
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    if scheme == "unix":
        return "unix", unquote(parts.path), int(query.get("db") or 0)
    db = query.get("db") or parts.path.strip("/") or "0"
    return "tcp", (parts.hostname or "").lower(), parts.port or 6379, db


def redact_url(url: str) -> str:
    """The URL with its password replaced by ***, fit for pages and logs, also where the password was not escaped."""
    scheme, separator, rest = _PASSWORD_PARAMETER.sub(r"\1=***", url).partition("://")
    credentials, at, host = rest.rpartition("@")
    if at:
        rest = f"{credentials.partition(':')[0]}:***@{host}" if ":" in credentials else f"{credentials}@{host}"
    return scheme + separator + rest


_PASSWORD_PARAMETER = re.compile(r"(?i)(password)=[^&]*")


_COMMON: dict[str, Any] = {
    "socket_connect_timeout": CONNECT_TIMEOUT_S,
    "socket_timeout": REPLY_TIMEOUT_S,
    "protocol": 2,
    "driver_info": DriverInfo(),
}
"""No retries: a script whose reply was lost may have been applied, and only the caller knows whether to repeat it.
Without `driver_info` redis-py reads its own version from a file for each connection that it makes."""


def connect(address: StoreAddress, **options: Any) -> SyncClient:
    """A synchronous client. Connects when first used."""
    common = _COMMON | options
    if address.kind == "plain":
        return redis.Redis.from_url(address.url, retry=Retry(NoBackoff(), 0), **common)
    credentials: dict[str, Any] = {"username": address.username, "password": address.password}
    if address.kind == "sentinel":
        sentinel: Any = _untyped(Sentinel)(list(address.hosts), **common)
        return sentinel.master_for(address.service, db=address.db, retry=Retry(NoBackoff(), 0), **credentials, **common)
    nodes = [_untyped(ClusterNode)(host, port) for host, port in address.hosts]
    return redis.RedisCluster(startup_nodes=nodes, retry=Retry(NoBackoff(), 0), **credentials, **common)


def connect_async(address: StoreAddress, **options: Any) -> AsyncClient:
    """An asyncio client. Connects when first used."""
    common = _COMMON | options
    if address.kind == "plain":
        return redis.asyncio.Redis.from_url(address.url, retry=AsyncRetry(NoBackoff(), 0), **common)
    credentials: dict[str, Any] = {"username": address.username, "password": address.password}
    if address.kind == "sentinel":
        sentinel: Any = _untyped(AsyncSentinel)(list(address.hosts), **common)
        return sentinel.master_for(
            address.service, db=address.db, retry=AsyncRetry(NoBackoff(), 0), **credentials, **common
        )
    nodes = [AsyncClusterNode(host, port) for host, port in address.hosts]
    return redis.asyncio.RedisCluster(startup_nodes=nodes, retry=AsyncRetry(NoBackoff(), 0), **credentials, **common)


def connect_subscriber(address: StoreAddress, client: AsyncClient) -> AsyncClient:
    """A client to subscribe with, of its own: the caller closes it.

    A cluster hands every message to all its nodes, so any one of them will do; `client` knows which there are.
    """
    if address.kind != "cluster":
        return connect_async(address)
    node = client.get_random_node()
    return redis.asyncio.Redis(
        host=node.host,
        port=node.port,
        username=address.username,
        password=address.password,
        retry=AsyncRetry(NoBackoff(), 0),
        **_COMMON,
    )
