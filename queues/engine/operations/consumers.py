"""Consumers: those that wait, as web processes report them, and the working jobs of each.

Each operation is bounded; how many of them are run is up to the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..keys import Layout, QueueKeys, partition_keys, tellers_key, told_key
from ..operation import Operation, Reply, clock_argument, expect_ok
from ..record import unpack_run
from ..scripts import load
from ..stats.consumers import WaitingBeat, pack_waiting, unpack_waiting

FORGET_PROCESS_MS: Final = 15_000
PROCESSES_MAX: Final = 64
"""How long a report of a process counts. Of more processes than this only the latest are kept."""

_TELL = load("tell_waiting")
_WAITING = load("list_waiting")
_HELD = load("held_queues")
_WORKING = load("list_working")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingJob:
    """A job that a consumer has held since `taken_ms`, until `lease_end_ms` at the latest; `attempt` counts from 1."""

    namespace: str
    queue: str
    job_id: str
    consumer: str
    attempt: int
    taken_ms: int
    lease_end_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingJobs:
    """Of one queue: the jobs whose leases end first, and how many there are in all."""

    jobs: tuple[WorkingJob, ...]
    total: int
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingReport:
    """The latest reports of processes, the oldest first, as of `now_ms`."""

    beats: tuple[WaitingBeat, ...]
    now_ms: int


def tell_waiting(beat: WaitingBeat, *, now_ms: int | None = None) -> Operation[int]:
    """Record which consumers wait at a process. Returns the number of processes that are known."""
    args = (clock_argument(now_ms), beat.process, pack_waiting(beat), FORGET_PROCESS_MS, PROCESSES_MAX)
    return Operation(_TELL, (tellers_key(), told_key()), args, lambda reply: int(expect_ok(_TELL, reply)[0]))


def list_waiting(*, now_ms: int | None = None) -> Operation[WaitingReport]:
    """The consumers that wait, by the latest reports of web processes."""

    def decode(reply: Reply) -> WaitingReport:
        now, *fields = expect_ok(_WAITING, reply)
        beats = [
            unpack_waiting(process, record, max(0, now - at))
            for process, at, record in zip(fields[::3], fields[1::3], fields[2::3], strict=True)
        ]
        return WaitingReport(beats=tuple([beat for beat in beats if beat is not None]), now_ms=now)

    args = (clock_argument(now_ms), FORGET_PROCESS_MS)
    return Operation(_WAITING, (tellers_key(), told_key()), args, decode)


def held_queues(layout: Layout, partition: int, *, limit: int) -> Operation[list[QueueKeys]]:
    """A partition's queues that hold a job with a lease or a retention, by which of these ends first."""

    def decode(reply: Reply) -> list[QueueKeys]:
        return [layout.named(name) for name in expect_ok(_HELD, reply)]

    return Operation(_HELD, (partition_keys(partition)["ends"],), (limit,), decode)


def list_working(queue: QueueKeys, *, limit: int, now_ms: int | None = None) -> Operation[WorkingJobs]:
    """The jobs that are worked on, without their bodies."""

    def decode(reply: Reply) -> WorkingJobs:
        now, total, *fields = expect_ok(_WORKING, reply)
        jobs = []
        for job_id, lease_end_ms, raw in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
            run = unpack_run(raw)
            jobs.append(
                WorkingJob(
                    namespace=queue.namespace,
                    queue=queue.queue,
                    job_id=str(job_id, "ascii"),
                    consumer=run.consumer,
                    attempt=run.attempt,
                    taken_ms=run.taken_ms,
                    lease_end_ms=lease_end_ms,
                )
            )
        return WorkingJobs(jobs=tuple(jobs), total=total, now_ms=now)

    return Operation(_WORKING, queue.select(_WORKING.keys), (clock_argument(now_ms), limit), decode)
