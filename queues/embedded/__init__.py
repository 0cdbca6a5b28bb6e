"""A private, real Redis (Valkey, unless another server is chosen), for trying taskq and for its tests.

Standard library only; knows nothing of Django.

The server is reachable through a unix socket that only its owner may open, and it never outlives the process that
started it, however that process ends (`queues.supervision`). With `persistent=True` it keeps an append-only file in its
data directory: Redis writes each change to the file before it answers, so a killed server loses nothing that it
answered; a machine that loses power may lose the last second (`appendfsync everysec`).
"""

from .binary import DataIgnoredError, EmbeddedRedisError, ServerDiedError, ServerNotFoundError, find_server
from .server import Answer, EmbeddedRedis, ask

__all__ = [
    "Answer",
    "DataIgnoredError",
    "EmbeddedRedis",
    "EmbeddedRedisError",
    "ServerDiedError",
    "ServerNotFoundError",
    "ask",
    "find_server",
]
