"""What redis-py raises, in the engine's own errors; and the log of outages.

`translate` is the one place that knows Redis's error codes. redis-py makes an exception class of some codes and then
takes the code off the text; of others it leaves code and text as they are. Servers before Redis 7 wrap the error of a
command inside a script in one of their own. `code_of` reads all three, and one table says what a code means.

`OutageLog` says once that something fails, counts the rest, and says at the end how often and for how long it failed.
It is for failures that many calls meet at the same time for the same reason, such as a Redis that is away: a line for
each would fill the disk with what the first line says.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import redis.exceptions as redis_errors

from ..errors import ScriptError, StoreFullError, StoreUnavailableError, TaskqError
from ..operation import Operation

_CODE_OF_CLASS: Final[Mapping[type[BaseException], str]] = {
    redis_errors.ReadOnlyError: "READONLY",
    redis_errors.MasterDownError: "MASTERDOWN",
    redis_errors.MovedError: "MOVED",
    redis_errors.AskError: "ASK",
    redis_errors.ClusterDownError: "CLUSTERDOWN",
    redis_errors.BusyLoadingError: "LOADING",
    redis_errors.TryAgainError: "TRYAGAIN",
    redis_errors.AuthenticationError: "NOAUTH",
    redis_errors.NoPermissionError: "NOPERM",
    redis_errors.OutOfMemoryError: "OOM",
}
"""The classes that redis-py makes of codes; their text has no code."""

_CODE_IN_TEXT: Final = re.compile(r"(?:\A|: ?-)([A-Z]+)(?= |\Z)")
"""At the beginning, or inside what a server before Redis 7 makes of it: `Error running script (...): -OOM command`."""

_LOST: Final = (
    redis_errors.ConnectionError,
    redis_errors.TimeoutError,
    redis_errors.InvalidResponse,
    redis_errors.ClusterError,
    redis_errors.RedisClusterException,
    EOFError,
    OSError,
)
"""Raised by the connection, and by redis-py's cluster client when it knows no node to ask."""

OUTAGE_QUIET_S: Final = 5.0
"""An outage is over when nothing failed for so long."""

OUTAGE_REPEAT_S: Final = 60.0
"""One that goes on is mentioned again so often."""

OUTAGES_MAX: Final = 100
"""Outages that are logged separately at one time. Further ones are not logged before one of these is over."""

_OUTAGE_LOOK_EVERY_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What an error code means to the caller (`raises`), to a cluster's map and to the connection it came on.

    `wrong_node`: in a cluster, another node may serve the slot by now. `stale_master`: the server became a replica, so
    no connection to it is of use any more.
    """

    raises: type[StoreUnavailableError | StoreFullError] = StoreUnavailableError
    wrong_node: bool = False
    stale_master: bool = False


MEANINGS: Final[Mapping[str, Meaning]] = {
    "READONLY": Meaning(wrong_node=True, stale_master=True),
    "MASTERDOWN": Meaning(wrong_node=True, stale_master=True),
    "MOVED": Meaning(wrong_node=True),
    "ASK": Meaning(wrong_node=True),
    "CLUSTERDOWN": Meaning(wrong_node=True),
    "LOADING": Meaning(wrong_node=True),
    "TRYAGAIN": Meaning(),  # a slot is being moved, and half of the keys are here
    "MISCONF": Meaning(),  # the disk is full or failing
    "NOREPLICAS": Meaning(),  # fewer replicas than min-replicas-to-write
    "BUSY": Meaning(),  # a script does not end
    "UNKILLABLE": Meaning(),
    "UNBLOCKED": Meaning(),
    "NOAUTH": Meaning(),
    "WRONGPASS": Meaning(),
    "NOPERM": Meaning(),
    "OOM": Meaning(raises=StoreFullError),
}
"""Error code → what it means. A code that is not here comes from a defective script."""


_UNREACHABLE: Final = Meaning(wrong_node=True)


def code_of(error: object) -> str:
    """The code of an error of Redis; "" for any other."""
    code = _CODE_OF_CLASS.get(type(error))  # type: ignore[arg-type]
    if code is not None:
        return code
    if not isinstance(error, redis_errors.ResponseError):
        return ""
    return next((found for found in _CODE_IN_TEXT.findall(str(error)) if found in MEANINGS), "")


def _meaning_of(error: object) -> Meaning | None:
    meaning = MEANINGS.get(code_of(error))
    return _UNREACHABLE if meaning is None and _is_lost(error) else meaning


def _is_lost(error: object) -> bool:
    """Whether the connection is of no use any more. Redis ends one with a protocol error, also for a lack of AUTH."""
    if isinstance(error, _LOST):
        return True
    return isinstance(error, redis_errors.ResponseError) and str(error).startswith("Protocol error")


def raise_if_cancelled() -> None:
    """Raise CancelledError if the task that runs was told to end and goes on all the same.

    redis-py may take a cancellation for a timeout while it connects, and try once more.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def is_missing_script(error: object) -> bool:
    """Whether Redis does not know the script (it restarted, or its script cache was flushed)."""
    return isinstance(error, redis_errors.NoScriptError)


def is_cross_slot(error: object) -> bool:
    """Whether Redis, or a cluster's proxy, refused a script because its keys are in several slots of a cluster."""
    if isinstance(error, redis_errors.ClusterCrossSlotError):
        return True
    return isinstance(error, redis_errors.ResponseError) and "same slot" in str(error)


def is_from_replica(error: object) -> bool:
    """Whether a server refused because it is a replica (now)."""
    if not isinstance(error, redis_errors.RedisError):  # nearly always a reply
        return False
    meaning = MEANINGS.get(code_of(error))
    return meaning is not None and meaning.stale_master


def is_from_wrong_node(error: object) -> bool:
    """Whether, in a cluster, another node may serve the slot by now."""
    if not isinstance(error, BaseException):
        return False
    meaning = _meaning_of(error)
    return meaning is not None and meaning.wrong_node


def translate(error: BaseException, action: str) -> TaskqError:
    """The engine's error for what redis-py raised during `action`."""
    meaning = _meaning_of(error)
    if meaning is None:
        return ScriptError(f"{action}: {error}")
    if meaning.raises is StoreFullError:
        return StoreFullError(f"{action}: Redis is out of memory")
    code = code_of(error)
    if code:
        return StoreUnavailableError(f"{action}: Redis refuses ({code})", reason=code)
    name = type(error).__name__
    return StoreUnavailableError(f"{action}: Redis cannot be reached ({name})", reason=name)


def is_translatable(error: BaseException) -> bool:
    """Whether the error comes from Redis or the way to it, and not from our own code."""
    return isinstance(error, (redis_errors.RedisError, *_LOST))


def connection_error(error: Exception) -> Exception:
    """The error itself if it is translatable, else a ConnectionError of redis-py that it caused.

    For code that does nothing but use a connection. One that is reset while it is being made ends in all kinds of
    exceptions (`RuntimeError` of uvloop, `AttributeError` of redis-py): whatever they are, Redis was not reached.
    """
    if is_translatable(error):
        return error
    lost = redis_errors.ConnectionError(f"{type(error).__name__}: {error}")
    lost.__cause__ = error
    return lost


@contextmanager
def reaching_redis(action: str) -> Iterator[None]:
    """Translate whatever is raised in the block, which does nothing but use a client of redis-py's."""
    try:
        yield
    except Exception as error:
        raise translate(connection_error(error), action) from error


def same_for_all(error: Exception, operations: Sequence[Operation[Any]]) -> list[Any]:
    """An error of Redis as the reply to each operation; any other is raised."""
    if not is_translatable(error):
        raise error
    return [error] * len(operations)


@dataclass(slots=True)
class _Outage:
    message: str
    fields: Mapping[str, object]
    level: int
    began_at: float
    latest_at: float
    said_at: float
    failures: int = 1


class OutageLog:
    """Safe to use from threads and event loops. Between outages it does nothing; during one a thread looks on."""

    def __init__(self, logger: logging.Logger, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[Hashable, _Outage] = {}
        self._watcher: threading.Thread | None = None

    def note(
        self,
        message: str,
        fields: Mapping[str, object],
        example: Mapping[str, object] | None = None,
        *,
        level: int = logging.WARNING,
    ) -> None:
        """Something failed. Equal `message` and `fields` make one outage; `example`: about its first failure."""
        now = self._clock()
        kind = (message, *fields.values())
        with self._lock:
            outage = self._open.get(kind)
            if outage is not None:
                outage.failures += 1
                outage.latest_at = now
                return
            if len(self._open) >= OUTAGES_MAX:
                return
            self._open[kind] = _Outage(message, fields, level, now, now, now)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="taskq-outage-log", daemon=True)
                self._watcher.start()
        self._logger.log(level, message, extra={**fields, **(example or {})})

    def look(self) -> bool:
        """Log what is over, and what goes on for long. Whether any outage goes on."""
        now = self._clock()
        with self._lock:
            over = [kind for kind, outage in self._open.items() if now - outage.latest_at >= OUTAGE_QUIET_S]
            ended = [self._open.pop(kind) for kind in over]
            lasting = [outage for outage in self._open.values() if now - outage.said_at >= OUTAGE_REPEAT_S]
            for outage in lasting:
                outage.said_at = now
            goes_on = bool(self._open)
            if not goes_on:
                self._watcher = None
        for outage in ended:
            self._say("outage is over", outage)
        for outage in lasting:
            self._say("outage goes on", outage)
        return goes_on

    def flush(self) -> None:
        """Log what has been counted, because the process ends."""
        with self._lock:
            outages, self._open = list(self._open.values()), {}
        for outage in outages:
            self._say("outage goes on as the process ends", outage)

    def _watch(self) -> None:
        while True:
            time.sleep(_OUTAGE_LOOK_EVERY_S)
            if not self.look():
                return

    def _say(self, message: str, outage: _Outage) -> None:
        """Log the count. A single failure has been logged already."""
        if outage.failures > 1:
            lasted_s = round(outage.latest_at - outage.began_at, 1)
            counted = {"outage": outage.message, "failures": outage.failures, "lasted_s": lasted_s}
            self._logger.log(outage.level, message, extra={**outage.fields, **counted})
