"""A private, real Redis (Valkey, unless another server is chosen), for trying taskq and for its tests.

Standard library only; knows nothing of Django.

The server is reachable through a unix socket that only its owner may open, and it never outlives the process that
started it, however that process ends (`queues.supervision`). With `persistent=True` it keeps an append-only file in its
data directory: Redis writes each change to the file before it answers, so a killed server loses nothing that it
answered, unless the disk is so slow that Redis holds the write back (`appendfsync everysec`, two seconds at most); a
machine that loses power may lose as much. With TASKQ_REDIS_APPENDFSYNC=always neither loses anything.
"""

from .binary import DataIgnoredError, EmbeddedRedisError, ServerDiedError, ServerNotFoundError, find_server
from .server import APPENDFSYNC_VARIABLE, Answer, EmbeddedRedis, ask

__all__ = [
    "APPENDFSYNC_VARIABLE",
    "Answer",
    "DataIgnoredError",
    "EmbeddedRedis",
    "EmbeddedRedisError",
    "ServerDiedError",
    "ServerNotFoundError",
    "ask",
    "find_server",
]
