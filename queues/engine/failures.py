"""What redis-py raises, in the engine's own words. The one place that knows Redis's error texts."""

from __future__ import annotations

import redis.exceptions as redis_errors

from .errors import ScriptError, StoreFullError, StoreUnavailableError, TaskqError

_UNAVAILABLE = (
    redis_errors.ConnectionError,
    redis_errors.TimeoutError,
    redis_errors.ReadOnlyError,
    redis_errors.ClusterDownError,
    redis_errors.MasterDownError,
    redis_errors.RedisClusterException,
    OSError,
)
_UNAVAILABLE_WORDS = ("MISCONF", "READONLY", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "BUSY ", "NOREPLICAS", "TRYAGAIN")


def is_missing_script(error: object) -> bool:
    """Whether Redis does not know the script (it restarted, or its script cache was flushed)."""
    return isinstance(error, redis_errors.NoScriptError)


def translate(error: BaseException, action: str) -> TaskqError:
    """The engine's error for what redis-py raised during `action`."""
    text = str(error)
    if isinstance(error, redis_errors.OutOfMemoryError) or "OOM " in text:
        return StoreFullError(f"{action}: Redis is out of memory")
    if isinstance(error, _UNAVAILABLE) or any(word in text for word in _UNAVAILABLE_WORDS):
        return StoreUnavailableError(f"{action}: Redis cannot be reached ({type(error).__name__})")
    return ScriptError(f"{action}: {text}")


def is_translatable(error: BaseException) -> bool:
    """Whether the error comes from Redis or the way to it, and not from our own code."""
    return isinstance(error, (redis_errors.RedisError, OSError))
