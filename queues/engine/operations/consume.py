"""Consume: deliver ready jobs of one queue, or of several in priority order (edge F)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from time import monotonic
from typing import Any, Final

from .. import constants
from ..errors import InvalidArgumentError, TaskqError
from ..keys import QueueKeys
from ..operation import (
    Argument,
    MergeKey,
    Operation,
    Plan,
    Reply,
    clock_argument,
    consumer_argument,
    delivery_of,
    tag_of,
    unexpected,
)
from ..queue_limits import NO_LIMITS, ConsumeLimits, limits_argument
from ..scripts import load
from ..values import Consumed, LimitTaken, RequestLimit
from .finish import release
from .token_rate_limit import give_back_token_limit, limited

_CONSUME = load("consume")
_CONSUME_FAIR = load("consume_with_limits")
_AGAIN = Consumed(jobs=(), next_due_ms=0)
"""A marker: the script stepped over as many dead entries as it may, and wants to be called again."""


def consume_step(
    queue: QueueKeys,
    *,
    ttr_ms: int,
    count: int = 1,
    consumer: str = "",
    max_in_flight: int = 0,
    freeze_tries: bool = False,
    mark_ms: int = 0,
    limit: RequestLimit | None = None,
    queue_limits: ConsumeLimits | None = None,
    now_ms: int | None = None,
) -> Operation[Consumed]:
    """One script call. May answer `is_again`: only dead entries so far, or there are jobs with limit keys, which the
    next step delivers. Use `consume`, which goes on by itself.

    With `limit` (not in a cluster) it counts if it gets jobs, and raises LimitReachedError.
    """
    make = _step if len(consumer) <= constants.CONSUMER_MAX_BYTES else _step.__wrapped__
    if queue_limits is None and queue.keyed_until and queue.keyed_until > monotonic():
        queue_limits = NO_LIMITS
    step = make(queue, ttr_ms, count, consumer, max_in_flight, freeze_tries, mark_ms, queue_limits, now_ms)
    return step if limit is None else limited(step, limit, _note_taken)


@lru_cache(maxsize=1024, typed=True)
def _step(
    queue: QueueKeys,
    ttr_ms: int,
    count: int,
    consumer: str,
    max_in_flight: int,
    freeze_tries: bool,
    mark_ms: int,
    queue_limits: ConsumeLimits | None,
    now_ms: int | None,
) -> Operation[Consumed]:
    """A consumer asks for the same over and over. `queue_limits` None: a queue without limits and limit keys."""
    _check(ttr_ms, count)
    script = _CONSUME if queue_limits is None else _CONSUME_FAIR

    def decode(reply: Reply) -> Consumed:
        tag = tag_of(reply)
        now = reply[1]
        if tag == "jobs":
            return Consumed(tuple([delivery_of(queue, now, fields) for fields in reply[_JOBS_AT:]]), None, now)
        if tag == "none":
            return Consumed((), int(reply[2]) or None, now)
        if tag in ("paused", "full"):
            return Consumed((), None, now)
        if tag == "more":
            return _AGAIN
        if tag == "keyed":
            queue.keyed_until = monotonic() + _KEYED_FOR_S
            return _AGAIN
        raise unexpected(script, reply)

    def undo(consumed: Consumed) -> list[Operation[Any]]:
        return give_back(consumed, lambda _namespace, _queue: queue)

    merge_key: MergeKey | None = None
    if count == 1 and now_ms is None:
        merge_key = (_consume_together, (queue.name, ttr_ms, max_in_flight, freeze_tries, mark_ms, queue_limits))
    args: tuple[Argument, ...] = (
        clock_argument(now_ms),
        queue.name,
        queue.channel,
        queue.events_cap,
        ttr_ms,
        count,
        max_in_flight,
        1 if freeze_tries else 0,
        mark_ms,
        constants.PROMOTE_BATCH,
        constants.SKIP_BATCH,
        constants.CONSUME_BUDGET_BYTES,
        *(() if queue_limits is None else (limits_argument(queue_limits),)),
        consumer_argument(consumer),
    )
    return Operation(
        script, queue.select(script.keys), args, decode, merge_key, undo, count >= constants.ALONE_MIN_JOBS
    )


def _note_taken(consumed: Consumed, taken: LimitTaken) -> Consumed:
    return replace(consumed, limit_taken=taken)


_COUNT: Final = _CONSUME.args.index("count")
_KEYED_FOR_S: Final = 10.0
"""For so long a queue that had jobs with limit keys is asked by the script for those first."""
_JOBS_AT: Final = 4
"""Where the jobs begin in a reply."""


def _consume_together(parts: Sequence[Operation[Any]]) -> Operation[list[Reply]]:
    """One job for each of several callers, in their order, in one call."""
    first = parts[0]
    consumers = len(first.script.args)

    def decode(reply: Reply) -> list[Reply]:
        if tag_of(reply) != "jobs":
            return [reply] * len(parts)
        _, now, next_due, early, *jobs = reply
        replies: list[Reply] = [(b"jobs", now, next_due, early, job) for job in jobs]
        # A caller that got nothing looks again if the call ended early; otherwise there is nothing.
        rest = (b"more", now) if early else (b"none", now, next_due)
        return replies + [rest] * (len(parts) - len(jobs))

    args = (
        *first.args[:_COUNT],
        len(parts),
        *first.args[_COUNT + 1 : consumers],
        *[part.args[consumers] for part in parts],
    )
    return Operation(first.script, first.keys, args, decode)


def give_back(consumed: Consumed, queue_of: Callable[[str, str], QueueKeys]) -> list[Operation[Any]]:
    """Operations that release jobs whose consumer is gone. `queue_of`: namespace and name → keys."""
    undoing: list[Operation[Any]] = [
        release(queue_of(job.namespace, job.queue), job.job_id, attempt=job.attempt)
        for job in reversed(consumed.jobs)  # the last one first, since each goes to the head
    ]
    if consumed.limit_taken is not None:
        undoing.append(give_back_token_limit(consumed.limit_taken))
    return undoing


def is_again(consumed: Consumed) -> bool:
    """Whether the script wants to be called again."""
    return consumed is _AGAIN


def consume(
    queue: QueueKeys,
    *,
    ttr_ms: int,
    count: int = 1,
    consumer: str = "",
    max_in_flight: int = 0,
    freeze_tries: bool = False,
    queue_limits: ConsumeLimits | None = None,
    now_ms: int | None = None,
) -> Plan[Consumed]:
    """Deliver up to `count` ready jobs of one queue, each under a lease of `ttr_ms`, burning one try (unless frozen).

    `consumer` is remembered with the job. `max_in_flight` bounds the queue's working jobs; 0 = no bound. Nothing is
    delivered by a paused queue. Raises InvalidArgumentError.
    """
    return consume_any(
        (queue,),
        ttr_ms=ttr_ms,
        count=count,
        consumer=consumer,
        max_in_flight=max_in_flight,
        freeze_tries=freeze_tries,
        queue_limits=(queue_limits,),
        now_ms=now_ms,
    )


def consume_any(
    queues: Sequence[QueueKeys],
    *,
    ttr_ms: int,
    count: int = 1,
    consumer: str = "",
    max_in_flight: int | Sequence[int] = 0,
    freeze_tries: bool = False,
    mark_ms: int = 0,
    limit: RequestLimit | None = None,
    queue_limits: Sequence[ConsumeLimits | None] | None = None,
    now_ms: int | None = None,
) -> Plan[Consumed]:
    """Consume from several queues: first all that the first can give, then the second, and so on.

    `max_in_flight`: one bound for each queue, or the same for all. `queue_limits`: one for each queue. With `mark_ms`
    every queue found empty counts as waited for, for so long. With `limit` (not in a cluster) all together count as one
    request, if there are jobs; raises LimitReachedError.
    """
    _check(ttr_ms, count)
    bounds = [max_in_flight] * len(queues) if isinstance(max_in_flight, int) else max_in_flight
    their_limits = [None] * len(queues) if queue_limits is None else queue_limits
    jobs: list[Consumed] = []
    next_due: int | None = None
    taken = size = 0
    last = Consumed(jobs=())
    for queue, bound, its_limits in zip(queues, bounds, their_limits, strict=True):
        while True:
            page = min(count - taken, constants.CONSUME_PAGE)
            step = consume_step(
                queue,
                ttr_ms=ttr_ms,
                count=page,
                consumer=consumer,
                max_in_flight=bound,
                freeze_tries=freeze_tries,
                mark_ms=0 if taken else mark_ms,
                limit=None if taken else limit,
                queue_limits=its_limits,
                now_ms=now_ms,
            )
            try:
                (last,) = yield [step]
            except TaskqError:
                if not taken:
                    raise
                return _together(jobs, last, None)  # what has been taken must reach its consumer
            if is_again(last):
                continue
            jobs.append(last)
            taken += len(last.jobs)
            size += sum([len(job.body) for job in last.jobs])
            if len(last.jobs) < page or taken >= count or size >= constants.CONSUME_BUDGET_BYTES:
                break
        if taken >= count or size >= constants.CONSUME_BUDGET_BYTES:
            break
        if last.next_due_ms is not None:
            next_due = last.next_due_ms if next_due is None else min(next_due, last.next_due_ms)
    return _together(jobs, last, next_due)


def _together(parts: Sequence[Consumed], last: Consumed, next_due_ms: int | None) -> Consumed:
    if len(parts) == 1 and parts[0].jobs:
        return parts[0]
    limit_taken = next((part.limit_taken for part in parts if part.limit_taken), None)
    jobs = tuple([job for part in parts for job in part.jobs])
    return replace(last, jobs=jobs, next_due_ms=next_due_ms, limit_taken=limit_taken)


def _check(ttr_ms: int, count: int) -> None:
    if not 0 < ttr_ms <= constants.SECONDS_MAX * 1000:
        raise InvalidArgumentError("invalid ttr")
    if not 1 <= count <= constants.CONSUME_MAX_COUNT:
        raise InvalidArgumentError("invalid count")
