"""How an attempt ends or goes on: ack (G), fail (H), release (K), extend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

from .. import constants
from ..error_texts import cut_error
from ..errors import InvalidArgumentError, JobNotFoundError, LeaseLostError, ResultTooLargeError
from ..keys import QueueKeys
from ..operation import (
    MergeKey,
    Operation,
    Relay,
    Reply,
    attempt_argument,
    clock_argument,
    expect_ok,
    tag_of,
    unexpected,
)
from ..scripts import load
from ..values import AckOutcome, AckResult, FailResult, JobState

T = TypeVar("T")

_ACK = load("ack")
_FAIL = load("fail")
_RELEASE = load("release")
_EXTEND = load("extend")
_MAX_MS = constants.SECONDS_MAX * 1000
_ACKED: Final = AckOutcome.ACKED
_LOST: Final = AckOutcome.LOST


def ack(
    queue: QueueKeys, job_ids: Sequence[str], *, attempt: int | None = None, now_ms: int | None = None
) -> Operation[tuple[AckOutcome, ...]]:
    """End jobs, whichever attempt holds them. A job that is not working is deleted, unless it is completed.

    Outcomes come in the order of `job_ids`; unknown ids are `missing`, which is no error. With `attempt`, each job only
    if that attempt of it still holds it; of others the outcome is `lost`, and nothing changes.
    """

    def decode(reply: Reply) -> tuple[AckOutcome, ...]:
        return tuple([_ended(end).outcome for end in expect_ok(_ACK, reply)])

    return _ack_many(queue, job_ids, attempt, now_ms, decode)


def ack_timed(
    queue: QueueKeys, job_ids: Sequence[str], *, attempt: int | None = None, now_ms: int | None = None
) -> Operation[tuple[AckResult, ...]]:
    """As `ack`; with each outcome, how long the job was worked on."""

    def decode(reply: Reply) -> tuple[AckResult, ...]:
        return tuple([_ended(end) for end in expect_ok(_ACK, reply)])

    return _ack_many(queue, job_ids, attempt, now_ms, decode)


def _ack_many(
    queue: QueueKeys, job_ids: Sequence[str], attempt: int | None, now_ms: int | None, decode: Callable[[Reply], T]
) -> Operation[T]:
    if not 1 <= len(job_ids) <= constants.BULK_MAX_JOBS:
        raise InvalidArgumentError("invalid job ids")
    return Operation(
        _ACK,
        queue.select(_ACK.keys),
        (
            clock_argument(now_ms),
            queue.name,
            queue.channel,
            queue.events_cap,
            attempt_argument(attempt),
            0,
            "",
            *job_ids,
        ),
        decode,
        relay=_relay_of_acks(queue.partition, now_ms),
    )


_JOB_IDS: Final = len(_ACK.args)


def _ack_together(parts: Sequence[Operation[Any]]) -> Operation[list[Reply]]:
    """Plain acks of several callers in one call."""
    first = parts[0]

    def decode(reply: Reply) -> list[Reply]:
        return [(b"ok", word) for word in expect_ok(_ACK, reply)]

    args = (*first.args[:_JOB_IDS], *[part.args[_JOB_IDS] for part in parts])
    return Operation(_ACK, first.keys, args, decode)


def ack_attempt(
    queue: QueueKeys,
    job_id: str,
    *,
    attempt: int | None = None,
    result: bytes | None = None,
    result_too_large: bool = False,
    now_ms: int | None = None,
) -> Operation[AckResult]:
    """End one job, keeping `result` if it has a retention. With `attempt`, only if that attempt still holds the job.

    `result_too_large`: there was a result longer than BODY_MAX_BYTES, which a job without a retention does not need.
    Raises LeaseLostError, or ResultTooLargeError if the job has one; then nothing has changed.
    """
    if result is not None and len(result) > constants.BODY_MAX_BYTES:
        raise InvalidArgumentError("result too large")

    def decode(reply: Reply) -> AckResult:
        ended = _ended(expect_ok(_ACK, reply)[0])
        if ended.outcome is _ACKED:
            return ended
        if ended.outcome is _LOST:
            raise LeaseLostError(job_id)
        if ended.outcome is AckOutcome.TOO_LARGE:
            raise ResultTooLargeError(job_id)
        return ended

    args = (
        clock_argument(now_ms),
        queue.name,
        queue.channel,
        queue.events_cap,
        attempt_argument(attempt),
        2 if result_too_large else 0 if result is None else 1,
        result or b"",
        job_id.encode("utf-8", "replace"),  # what cannot be sent is no job's id, and must not spoil others' acks
    )
    merge_key: MergeKey | None = None
    if attempt is None and result is None and not result_too_large and now_ms is None:
        merge_key = (_ack_together, queue.name)
    relay = _relay_of_acks(queue.partition, now_ms)
    return Operation(_ACK, queue.select(_ACK.keys), args, decode, merge_key, None, False, False, relay)


def fail(
    queue: QueueKeys,
    job_id: str,
    *,
    attempt: int | None = None,
    error: str = "",
    delay_ms: int | None = None,
    dead: bool = False,
    fallback_delay_ms: int | None = None,
    now_ms: int | None = None,
) -> Operation[FailResult]:
    """End an attempt without success, now rather than when its lease runs out.

    The job goes to retry after `delay_ms` (None: its own backoff), to ready if that is 0, or dead if its tries are
    used up or `dead` says so. `fallback_delay_ms`: in place of a backoff that is none. `error` is cut to a kilobyte
    (cut_error).
    Raises LeaseLostError, JobNotFoundError; then nothing has changed.
    """
    if not all(0 <= delay <= _MAX_MS for delay in (delay_ms, fallback_delay_ms) if delay is not None):
        raise InvalidArgumentError("invalid delay")

    def decode(reply: Reply) -> FailResult:
        tag = tag_of(reply)
        _raise_if_not_held(tag, job_id)
        if tag not in ("retry", "ready", "dead"):
            raise unexpected(_FAIL, reply)
        return FailResult(state=JobState(tag), due_ms=reply[1])

    args = (
        clock_argument(now_ms),
        queue.name,
        queue.channel,
        queue.events_cap,
        job_id,
        attempt_argument(attempt),
        cut_error(error),
        "" if delay_ms is None else delay_ms,
        1 if dead else 0,
        "" if fallback_delay_ms is None else fallback_delay_ms,
    )
    relay = Relay(queue.partition, now_ms, lambda reply: reply[0] == b"dead" and reply[2] == 1)
    return Operation(_FAIL, queue.select(_FAIL.keys), args, decode, relay=relay)


def release(
    queue: QueueKeys, job_id: str, *, attempt: int | None = None, delay_ms: int = 0, now_ms: int | None = None
) -> Operation[None]:
    """Give a job back without burning the try: to the head of ready, or delayed.

    Raises LeaseLostError, JobNotFoundError; then nothing has changed.
    """
    if not 0 <= delay_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid delay")

    def decode(reply: Reply) -> None:
        tag = tag_of(reply)
        _raise_if_not_held(tag, job_id)
        if tag != "ok":
            raise unexpected(_RELEASE, reply)

    args = (
        clock_argument(now_ms),
        queue.name,
        queue.channel,
        queue.events_cap,
        job_id,
        attempt_argument(attempt),
        delay_ms,
    )
    return Operation(_RELEASE, queue.select(_RELEASE.keys), args, decode)


def extend(
    queue: QueueKeys, job_id: str, *, ttr_ms: int, attempt: int | None = None, now_ms: int | None = None
) -> Operation[int]:
    """A new lease that ends `ttr_ms` from now; returns its end, ms. Raises LeaseLostError."""
    if not 0 < ttr_ms <= _MAX_MS:
        raise InvalidArgumentError("invalid ttr")

    def decode(reply: Reply) -> int:
        tag = tag_of(reply)
        _raise_if_not_held(tag, job_id)
        return int(expect_ok(_EXTEND, reply)[0])

    args = (clock_argument(now_ms), queue.name, job_id, attempt_argument(attempt), ttr_ms)
    return Operation(_EXTEND, queue.select(_EXTEND.keys), args, decode)


def _ended(end: bytes | int) -> AckResult:
    """What lua/ack.lua replies for one job."""
    if isinstance(end, int):
        return AckResult(_ACKED, end if end >= 0 else -1 - end)
    return AckResult(AckOutcome(str(end, "ascii")))


def _has_dependants(reply: Reply) -> bool:
    """Whether others depend on one of the acked jobs."""
    for end in reply[1:]:  # noqa: SIM110 -- on the path of every ack, where a generator costs three times as much
        if end.__class__ is int and end < 0:
            return True
    return False


@lru_cache(maxsize=4096)
def _relay_of_acks(partition: int, now_ms: int | None) -> Relay:
    return Relay(partition, now_ms, _has_dependants)


def _raise_if_not_held(tag: str, job_id: str) -> None:
    if tag == "lost":
        raise LeaseLostError(job_id)
    if tag == "missing":
        raise JobNotFoundError(job_id)
