"""An operation as a value: script, keys, arguments, and how to read the reply. Nothing in here talks to Redis.

`Engine` and `AsyncEngine` run operations; several steps that depend on each other form a *plan*: a generator that
yields batches of operations, gets their results sent in, and returns the outcome. Both engines run the same plans.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, overload

from . import constants, record
from .errors import ScriptError
from .keys import QueueKeys
from .names import clean_line
from .scripts import Script
from .values import Delivery, value

T = TypeVar("T")

Argument: TypeAlias = bytes | str | int | float
Reply: TypeAlias = Any
"""What redis-py returns without decoding: bytes, int, None, or a list of these."""

Combine: TypeAlias = "Callable[[Sequence[Operation[Any]]], Operation[list[Reply]]]"
"""Makes one operation of several of a group; it decodes its reply to theirs, in order."""

MergeKey: TypeAlias = tuple[Combine, Any]
"""How to combine, and what has to be equal for it."""


class Relay(NamedTuple):
    """When an operation leaves messages to other partitions, which its caller is to carry at once."""

    partition: int
    now_ms: int | None
    is_needed: Callable[[Reply], bool]
    """Whether the reply says that there are some."""


@value
class Operation(Generic[T]):
    """One script call. `decode` turns the raw reply into the result, or raises an error of `queues.engine.errors`."""

    script: Script
    keys: tuple[bytes, ...]
    args: tuple[Argument, ...]
    decode: Callable[[Reply], T]
    merge_key: MergeKey | None = None
    """Operations with equal keys may share one script call: the first of them says how (see `merging`)."""
    undo: Callable[[T], Sequence[Operation[Any]]] | None = None
    """Operations that undo this one, run if its caller is cancelled before it has the result."""
    alone: bool = False
    """Whether it does so much that it travels alone: its reply is worked on while Redis does the next, and no small
    call has to wait for it."""
    replicated: bool = False
    """Whether success is reported only once the write is on `min_replicas` replicas, in pools that have this option."""
    relay: Relay | None = None
    """Of operations that may leave messages to other partitions."""


class Apart(list[Operation[Any]]):
    """A batch of a plan that goes on when some of it fails: an operation's TaskqError is sent in as its result."""


class Paced(list[Operation[Any]]):
    """A batch of a plan that has a lot to do: after it, other callers get most of the server's time (`batch_queue`)."""


class PacedApart(Paced, Apart):
    """Both."""


def paced(operation: Operation[Any], *, jobs: int) -> Sequence[Operation[Any]]:
    """A batch of one operation that works through up to `jobs` jobs: paced, and travelling alone, if they are many."""
    if jobs < constants.ALONE_MIN_JOBS:
        return [operation]
    return Paced([replace(operation, alone=True)])


def in_pages(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items in parts of at most `size`: what one call of a plan may have."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


Plan: TypeAlias = Generator[Sequence[Operation[Any]], list[Any], T]
"""Yields batches (run in one round trip, in any order), receives the list of their results, returns T."""


class AsyncRunner(Protocol):
    """What long polls need of `queues.engine.async_engine.AsyncEngine`, which has them."""

    @property
    def client(self) -> Any: ...

    def queue(self, namespace: str, queue: str) -> QueueKeys: ...

    @overload
    async def run(self, work: Operation[T]) -> T: ...
    @overload
    async def run(self, work: Plan[T]) -> T: ...

    def undo(self, operations: Sequence[Operation[Any]]) -> None: ...


def clock_argument(now_ms: int | None) -> Argument:
    """The `now_ms` argument of every script: "" means the Redis server's clock."""
    return "" if now_ms is None else now_ms


def tag_of(reply: Reply) -> str:
    """The word that a reply begins with."""
    return str(reply[0], "ascii")


def unexpected(script: Script, reply: Reply) -> ScriptError:
    """The error for a reply that the script's header does not list."""
    return ScriptError(f"{script.name}: unexpected reply {reply!r:.200}")


def expect_ok(script: Script, reply: Reply) -> list[Any]:
    """The rest of an `ok` reply."""
    if reply[0] != b"ok":
        raise unexpected(script, reply)
    return reply[1:]  # type: ignore[no-any-return]


def is_ok(reply: Reply) -> bool:
    """Whether a reply is `ok`, for a `Relay`."""
    return bool(reply[0] == b"ok")


def is_ok_above_zero(reply: Reply) -> bool:
    """Whether a reply is `ok` with a number above 0, for a `Relay`."""
    return is_ok(reply) and reply[1] > 0


def delivery_of(queue: QueueKeys, now_ms: int, fields: list[Any]) -> Delivery:
    """A job as consume and peek reply it: id attempt used tries expires options body."""
    job_id, attempt, used, tries, expires_ms, options, body = fields
    if options and record.is_batch(options):
        body = record.batch_body(record.unpack_options(options).group, body)
    return Delivery(
        queue.namespace,
        queue.queue,
        str(job_id, "ascii"),
        body,
        attempt,
        used,
        tries,
        expires_ms,
        now_ms,
        record.unpack_attributes(options) if options else None,
    )


def attempt_argument(attempt: int | None) -> Argument:
    """The `attempt` argument of the verbs that end an attempt: "" means whichever holds the job."""
    return "" if attempt is None else attempt


def consumer_argument(consumer: str) -> bytes:
    """A consumer's name, fit for an event line."""
    return clean_line(consumer)
