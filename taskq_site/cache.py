"""Django's cache lives on the server of the pool `default`, beside the jobs; what that asks of django-redis is here."""

from __future__ import annotations

import logging
import threading
from typing import Any, Final

from django_redis.client import DefaultClient
from django_redis.exceptions import ConnectionInterrupted
from django_redis.pool import ConnectionFactory
from redis.exceptions import RedisError

from queues.engine.transport.failures import OutageLog

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_S: Final = 0.5
REPLY_TIMEOUT_S: Final = 0.5
"""A page asks twice when there is no answer: for the session, and to keep what the database said of it."""

_CLEAR_BATCH: Final = 500

outages = OutageLog(logger)


def note_outage(record: logging.LogRecord) -> bool:
    """A filter: what django-redis logs of an error that it ignores, a traceback for each, is said once and counted."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return True
    cause = error.__cause__ or error
    fields = {"action": "cache.ask", "error": type(cause).__name__}
    outages.note("cache does not answer", fields, {"reason": str(cause)[:200]})
    return False


logger.addFilter(note_outage)


class CacheConnections(ConnectionFactory):  # type: ignore[misc]  # django-redis has no types that mypy reads
    """Opens every form of URL that a pool may have, Sentinel and Cluster included; one client per URL and process."""

    _clients: dict[str, Any] = {}
    _opening = threading.Lock()

    def connect(self, url: str) -> Any:
        """The client for `url`."""
        from queues.engine.transport.connection import connect, parse_url

        with self._opening:
            if url not in self._clients:
                self._clients[url] = connect(
                    parse_url(url), socket_connect_timeout=CONNECT_TIMEOUT_S, socket_timeout=REPLY_TIMEOUT_S
                )
            return self._clients[url]

    def disconnect(self, connection: Any) -> None:
        """Close its connections; they open again when used."""
        connection.close()


class CacheClient(DefaultClient):  # type: ignore[misc]
    """django-redis' client, except that clearing the cache must not clear the queues."""

    def close_idle_connections(self) -> None:
        """Close what no thread is using, here or in any other cache of this process; it opens again when needed."""
        client = self.get_client(write=True)
        nodes = client.get_nodes() if hasattr(client, "get_nodes") else [client]  # of a cluster
        for node in nodes:
            connections = getattr(node, "redis_connection", node)
            if connections is not None:
                connections.connection_pool.disconnect(inuse_connections=False)

    def clear(self, client: Any = None) -> None:
        """Delete this cache's own keys in batches. The original calls FLUSHDB, which would delete every job."""
        client = client or self.get_client(write=True)
        keys: list[bytes] = []
        try:
            for key in client.scan_iter(match=f"{self._backend.key_prefix}:*", count=_CLEAR_BATCH):
                keys.append(key)
                if len(keys) == _CLEAR_BATCH:
                    client.unlink(*keys)
                    keys.clear()
            if keys:
                client.unlink(*keys)
        except RedisError as error:
            raise ConnectionInterrupted(connection=client) from error
