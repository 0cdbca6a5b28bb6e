"""The points of a job's life, in order: what is known of its past, and what will happen next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from queues.engine import JobDetail, JobState


class MomentKind(StrEnum):
    """What happened, or will."""

    PUBLISHED = "published"
    DUE = "due"
    UNKNOWN = "unknown"
    """Attempts that left no trace: released, or too long ago."""
    FAILED = "failed"
    LEASE_LOST = "lease_lost"
    RELEASED = "released"
    WORKING = "working"
    ACKED = "acked"
    DEAD = "dead"
    WILL_BE_DUE = "will_be_due"
    WILL_LOSE_LEASE = "will_lose_lease"
    WILL_EXPIRE = "will_expire"
    WILL_BE_PURGED = "will_be_purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One entry of a time line, in ms since the epoch. For an attempt `at_ms` is its delivery, `ended_ms` its end.

    `first_attempt` differs from `attempt` for a stretch of attempts of which nothing is known.
    """

    kind: MomentKind
    at_ms: int | None = None
    ended_ms: int | None = None
    first_attempt: int = 0
    attempt: int = 0
    consumer: str = ""
    error: str = ""

    @property
    def run_ms(self) -> int | None:
        """How long the attempt took."""
        return None if self.ended_ms is None or self.at_ms is None else max(0, self.ended_ms - self.at_ms)


def past_of(job: JobDetail) -> Iterator[Moment]:
    """What happened to it."""
    yield Moment(kind=MomentKind.PUBLISHED, at_ms=job.published_ms)
    known = 0
    for ended in job.history:
        yield from _gap(known, ended.attempt)
        yield from _due_before(job, ended.attempt)
        known = ended.attempt
        yield Moment(
            kind=MomentKind(ended.outcome),
            at_ms=ended.taken_ms,
            ended_ms=ended.ended_ms,
            attempt=ended.attempt,
            consumer=ended.consumer,
            error=ended.error,
        )
    if job.attempt > known:
        yield from _gap(known, job.attempt)
        yield from _due_before(job, job.attempt)
        yield _newest_attempt(job)
    if job.died_ms is not None:
        yield Moment(kind=MomentKind.DEAD, at_ms=job.died_ms)
    if job.state is JobState.READY and job.due_ms is not None:
        yield Moment(kind=MomentKind.DUE, at_ms=job.due_ms)


def _due_before(job: JobDetail, attempt: int) -> Iterator[Moment]:
    """When the job became due for its newest attempt, if that was not at once; of older ones it is not kept."""
    was_taken = job.state in (JobState.WORKING, JobState.COMPLETED, JobState.DEAD)
    if was_taken and attempt == job.attempt and job.due_ms is not None and job.due_ms > job.published_ms:
        yield Moment(kind=MomentKind.DUE, at_ms=job.due_ms)


def _gap(known: int, attempt: int) -> Iterator[Moment]:
    if attempt > known + 1:
        yield Moment(kind=MomentKind.UNKNOWN, first_attempt=known + 1, attempt=attempt - 1)


def _newest_attempt(job: JobDetail) -> Moment:
    """The attempt that did not fail: it holds the job, it was acked, or it gave the job back."""
    kind, ended_ms = MomentKind.RELEASED, None
    if job.state is JobState.WORKING:
        kind = MomentKind.WORKING
    elif job.kept_until_ms is not None:
        kind, ended_ms = MomentKind.ACKED, job.kept_until_ms - job.retention_ms
    return Moment(kind=kind, at_ms=job.taken_ms, ended_ms=ended_ms, attempt=job.attempt, consumer=job.consumer)


def future_of(job: JobDetail) -> Iterator[Moment]:
    """What will happen if nobody does anything."""
    if job.state in (JobState.DELAYED, JobState.RETRY):
        yield Moment(kind=MomentKind.WILL_BE_DUE, at_ms=job.due_ms)
    if job.lease_end_ms is not None:
        yield Moment(kind=MomentKind.WILL_LOSE_LEASE, at_ms=job.lease_end_ms)
    if job.expires_ms:
        yield Moment(kind=MomentKind.WILL_EXPIRE, at_ms=job.expires_ms)
    if job.kept_until_ms is not None:
        yield Moment(kind=MomentKind.WILL_BE_PURGED, at_ms=job.kept_until_ms)
