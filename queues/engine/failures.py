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
    redis_errors.AskError,
    OSError,
)
_WRONG_NODE = (
    redis_errors.ConnectionError,
    redis_errors.TimeoutError,
    redis_errors.AskError,  # and MOVED
    redis_errors.ClusterDownError,
    OSError,
)
_UNAVAILABLE_WORDS = ("MISCONF", "READONLY", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "BUSY ", "NOREPLICAS", "TRYAGAIN")


def is_missing_script(error: object) -> bool:
    """Whether Redis does not know the script (it restarted, or its script cache was flushed)."""
    return isinstance(error, redis_errors.NoScriptError)


def is_cross_slot(error: object) -> bool:
    """Whether Redis refused a script because its keys are in several slots of a cluster."""
    return isinstance(error, redis_errors.RedisError) and "same slot" in str(error)


def is_from_replica(error: object) -> bool:
    """Whether a server refused to write because it is a replica (now). Older ones wrap that in a script's error."""
    return isinstance(error, redis_errors.RedisError) and "READONLY" in str(error)


def is_from_wrong_node(error: object) -> bool:
    """Whether, in a cluster, another node may serve the slot by now."""
    return isinstance(error, _WRONG_NODE) or is_from_replica(error)


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
    return isinstance(error, (redis_errors.RedisError, redis_errors.RedisClusterException, OSError))
