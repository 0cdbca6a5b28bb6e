"""What a queue should do, in plain Python: the other half of the random walk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from queues.engine import NO_LIMITS, ConsumeLimits

from .state import Content

HISTORY_MAX = 10


@dataclass(slots=True, kw_only=True)
class Need:
    """What a blocked job waits for: a job by id, by the key that it had, or (`target` "") the next that has the key."""

    queue: str
    target: str = ""
    key: str = ""
    has_failed: bool = False


@dataclass(slots=True, kw_only=True)
class Job:
    """One job as the model knows it. `score`: due time, lease end, death or end of retention, by state."""

    job_id: str
    tries: int
    expires_ms: int
    priority: int
    retention_ms: int
    backoff_ms: int
    limit_key: str = ""
    state: str = "ready"
    score: int = 0
    attempt: int = 0
    used: int = 0
    frozen: bool = False
    failures: int = 0
    has_run: bool = False
    key: str = ""
    marked: bool = False
    """Whether others depend on it, or did: then its end is told to whoever waits for its key, too."""
    group: str = ""
    has_joined: bool = False
    members: list[Job] = field(default_factory=list)
    """Of a batch."""
    policy: str = ""
    needs: list[Need] = field(default_factory=list)
    is_open: bool = False
    """Whether it stays blocked without needs, and takes more of them."""


@dataclass(slots=True, kw_only=True)
class Queue:
    """A queue: its jobs, the lines of the ready ones by limit key and priority, idempotency keys, whether it is paused.

    `used_until`: as far as the queue ("") and its limit keys have used their rates, in µs.
    """

    jobs: dict[str, Job] = field(default_factory=dict)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=lambda: defaultdict(dict))
    used_until: dict[str, int] = field(default_factory=dict)
    keys: dict[str, tuple[int, str]] = field(default_factory=dict)
    paused: bool = False
    ended: list[tuple[Job, str]] = field(default_factory=list)
    """Jobs that ended since the last look, and how: acked, gone, or dead."""

    def in_state(self, *states: str) -> list[Job]:
        """Jobs in these states, by score and id, as Redis orders them."""
        return sorted((job for job in self.jobs.values() if job.state in states), key=lambda j: (j.score, j.job_id))

    def line(self, limit_key: str = "") -> list[str]:
        """Ready jobs with this limit key, or without one, in the order in which they will be handed out."""
        lines = self.lines[limit_key]
        return [job_id for priority in sorted(lines, reverse=True) for job_id in lines[priority]]

    def keys_in_line(self) -> list[str]:
        """Limit keys with ready jobs; "" if there are jobs without one."""
        return [key for key in self.lines if self.line(key)]

    def add(self, jobs: Iterable[Job], due_ms: int, now_ms: int) -> None:
        for job in jobs:
            self.jobs[job.job_id] = job
            if due_ms > now_ms:
                job.state, job.score = "delayed", due_ms
            else:
                self.make_ready(job)

    def make_ready(self, job: Job, *, at_head: bool = False) -> None:
        job.state, job.score = "ready", 0
        line = self.lines[job.limit_key].setdefault(job.priority, [])
        line.insert(0 if at_head else len(line), job.job_id)

    def remove(self, job_id: str) -> bool:
        """Forget a job. Whether there was one."""
        job = self.jobs.pop(job_id, None)
        if job is not None and job.state != "completed":
            self.ended.append((job, "gone"))
        if job is not None and job.state == "ready":
            self.lines[job.limit_key][job.priority].remove(job_id)
        return job is not None

    def join(self, job: Job, now_ms: int) -> None:
        """A member whose delay is over, or that has none."""
        job.state, job.score, job.has_joined = "grouped", now_ms, True

    def batch_of(self, job_id: str) -> Job | None:
        """The batch that a job has become part of."""
        batches = [job for job in self.jobs.values() if any(member.job_id == job_id for member in job.members)]
        return batches[0] if batches else None

    def become_batch(self, batch: Job, ids: Sequence[str]) -> None:
        """Members that are all there go, and a ready job takes their place."""
        batch.members = [self.jobs.pop(job_id) for job_id in ids]
        assert {(job.state, job.has_joined, job.group) for job in batch.members} == {("grouped", True, batch.group)}
        batch.tries = max(job.tries for job in batch.members)
        batch.priority = max(job.priority for job in batch.members)
        batch.retention_ms = max(job.retention_ms for job in batch.members)
        batch.backoff_ms = batch.members[0].backoff_ms
        expiries = [job.expires_ms for job in batch.members]
        batch.expires_ms = max(expiries) if all(expiries) else 0
        batch.marked = any(job.marked for job in batch.members)
        self.jobs[batch.job_id] = batch
        self.make_ready(batch)

    def promote(self, now_ms: int) -> int:
        due = [job for job in self.in_state("delayed", "retry") if job.score <= now_ms]
        for job in due:
            self.make_ready(job)
        return len(due)

    def first_alive(self, now_ms: int, limit_key: str = "") -> Job | None:
        """The next job of a line to be handed out; expired ones in front of it are forgotten."""
        for job_id in self.line(limit_key):
            if self._is_alive(job_id, now_ms):
                return self.jobs[job_id]
            self.remove(job_id)
        return None

    def alive_in_line(self, now_ms: int, limit_key: str) -> list[str]:
        """As `line`, without expired jobs."""
        return [job_id for job_id in self.line(limit_key) if self._is_alive(job_id, now_ms)]

    def _is_alive(self, job_id: str, now_ms: int) -> bool:
        return not 0 < self.jobs[job_id].expires_ms <= now_ms

    def consume(
        self, now_ms: int, ttr_ms: int, count: int, in_flight: int, freeze: bool, *, kept: Collection[str]
    ) -> list[Job]:
        """`kept`: jobs that Redis still has. Where no job in line lives, it may leave expired ones to the sweeper."""
        if self.paused:
            return []
        if in_flight:
            count = min(count, in_flight - len(self.in_state("working")))
            if count <= 0:
                return []
        self.promote(now_ms)
        taken: list[Job] = []
        while len(taken) < count:
            if not any(self._is_alive(job_id, now_ms) for job_id in self.line()):
                self.remove_all([job_id for job_id in self.line() if job_id not in kept])
                break
            job = self.first_alive(now_ms)
            assert job is not None
            self._hand_out(job, now_ms + ttr_ms, freeze)
            taken.append(job)
        return taken

    def _hand_out(self, job: Job, lease_end_ms: int, freeze: bool) -> None:
        self.lines[job.limit_key][job.priority].remove(job.job_id)
        job.state, job.score, job.has_run = "working", lease_end_ms, True
        job.attempt += 1
        job.used += not freeze
        job.frozen = freeze

    def consume_with_limitsly(
        self,
        now_ms: int,
        ttr_ms: int,
        count: int,
        in_flight: int,
        freeze: bool,
        *,
        kept: Collection[str],
        got: Sequence[str],
        aside: Collection[str],
        queue_limits: ConsumeLimits = NO_LIMITS,
    ) -> list[Job]:
        """Checks what was handed out, `got`: in order, within all limits, and as many as there may be.

        Whose turn it is, is no matter of this model. `aside`: limit keys that are not looked at yet.
        """
        if in_flight:
            count = max(0, min(count, in_flight - len(self.in_state("working"))))
        if self.paused:
            count = 0
        count = min(count, self._conforming("", now_ms, queue_limits.rate, queue_limits.burst))
        if count > 0:
            self.promote(now_ms)
        taken = []
        for job_id in got:
            job = self.jobs[job_id]
            assert self.first_alive(now_ms, job.limit_key) is job, f"{job_id} is not the next of {job.limit_key!r}"
            assert self._free_slots(job.limit_key, now_ms, queue_limits) > 0, f"{job.limit_key!r} is at its limit"
            self._hand_out(job, now_ms + ttr_ms, freeze)
            if job.limit_key:
                self._use(job.limit_key, now_ms, queue_limits.key_rate)
            self._use("", now_ms, queue_limits.rate)
            taken.append(job)
        assert len(taken) <= count
        expired = [job.job_id for job in self.in_state("ready") if not self._is_alive(job.job_id, now_ms)]
        self.remove_all([job_id for job_id in expired if job_id not in kept])
        if len(taken) < count:
            left = [
                key
                for key in self.keys_in_line()
                if key not in aside
                and self._free_slots(key, now_ms, queue_limits) > 0
                and self.alive_in_line(now_ms, key)
            ]
            assert not left, f"jobs of {left} were not handed out"
        return taken

    def _free_slots(self, limit_key: str, now_ms: int, queue_limits: ConsumeLimits) -> int:
        if not limit_key:
            return 1
        slots = self._conforming(limit_key, now_ms, queue_limits.key_rate, queue_limits.key_burst)
        if queue_limits.key_in_flight:
            working = [job for job in self.in_state("working") if job.limit_key == limit_key]
            slots = min(slots, queue_limits.key_in_flight - len(working))
        return slots

    def _conforming(self, limit_key: str, now_ms: int, rate: float, burst: int) -> int:
        """How many jobs a rate lets through."""
        if not rate:
            return 1_000
        step, now_us = round(1_000_000 / rate), now_ms * 1000
        return (now_us + burst * step - max(now_us, self.used_until.get(limit_key, 0))) // step

    def _use(self, limit_key: str, now_ms: int, rate: float) -> None:
        if rate:
            used_until = max(now_ms * 1000, self.used_until.get(limit_key, 0))
            self.used_until[limit_key] = used_until + round(1_000_000 / rate)

    def holder(self, job_id: str, attempt: int | None) -> Job | None:
        """The job if it is working and held by this attempt."""
        job = self.jobs.get(job_id)
        return job if job and job.state == "working" and attempt in (None, job.attempt) else None

    def ack(self, job_id: str, now_ms: int, attempt: int | None = None) -> str:
        job = self.holder(job_id, attempt)
        if job is not None:
            self.ended.append((job, "acked"))
            if job.retention_ms:
                job.state, job.score = "completed", now_ms + job.retention_ms
            else:
                del self.jobs[job_id]
            return "acked"
        if attempt is not None:
            return "lost"
        if job_id in self.jobs and self.jobs[job_id].state != "completed":
            self.remove(job_id)
            return "deleted"
        return "missing"

    def after_failure(self, job: Job, now_ms: int, delay_ms: int | None, dead: bool) -> str:
        job.failures += 1
        if dead or job.used >= job.tries:
            job.state, job.score = "dead", now_ms
            self.ended.append((job, "dead"))
        else:
            wait = job.backoff_ms if delay_ms is None else delay_ms
            if wait:
                job.state, job.score = "retry", now_ms + wait
            else:
                self.make_ready(job)
        return job.state

    def release(self, job: Job, now_ms: int, delay_ms: int) -> None:
        job.used -= not job.frozen
        if delay_ms:
            job.state, job.score = "delayed", now_ms + delay_ms
        else:
            self.make_ready(job, at_head=True)

    def reschedule(self, chosen: Iterable[str], now_ms: int, due_ms: int) -> list[str]:
        """→ an outcome for each."""
        return [self._reschedule_one(job_id, now_ms, due_ms) for job_id in chosen]

    def _reschedule_one(self, job_id: str, now_ms: int, due_ms: int) -> str:
        job = self.jobs.get(job_id)
        if job is None:
            return "missing"
        if job.state not in ("delayed", "retry"):
            return "other"
        if 0 < job.expires_ms < due_ms:
            return "expires"
        job.has_run = True
        if due_ms > now_ms:
            job.score = due_ms
        else:
            self.make_ready(job)
        return "moved"

    def reclaim(self, now_ms: int) -> tuple[int, int]:
        """→ (jobs taken back or dropped, dead)."""
        kept = [job for job in self.in_state("completed") if job.score <= now_ms]
        for job in kept:
            self.remove(job.job_id)
        lost = [job for job in self.in_state("working") if job.score <= now_ms]
        dead = [self.after_failure(job, now_ms, None, False) for job in lost].count("dead")
        return len(kept) + len(lost), dead

    def respawn(self, chosen: Iterable[str], now_ms: int, ttl_ms: int) -> int:
        count = 0
        for job_id in chosen:
            job = self.jobs.get(job_id)
            if job is not None and job.state == "dead":
                job.tries, job.expires_ms = job.used + 1, now_ms + ttl_ms if ttl_ms else 0
                self.make_ready(job)
                count += 1
        return count

    def remove_all(self, chosen: Sequence[str], unless: Callable[[Job], bool] = lambda job: False) -> int:
        return sum(self.remove(job_id) for job_id in chosen if job_id in self.jobs and not unless(self.jobs[job_id]))

    def expirable(self, now_ms: int) -> set[str]:
        """Jobs that a sweep may delete."""
        mortal = self.in_state("ready", "delayed", "retry", "blocked", "grouped")
        return {job.job_id for job in mortal if 0 < job.expires_ms <= now_ms}


def differences(queue: Queue, name: str, content: Content) -> list[str]:
    """In what Redis differs from the model."""
    real = content.queue(name)
    shared = content.partition(real.partition)
    model = {job_id: (job.state, job.score) for job_id, job in queue.jobs.items()}
    found: dict[str, tuple[str, int]] = {}
    for job_id in real.jobs:
        (place,) = real.places_of(job_id)
        found[job_id] = (place, getattr(real, place)[job_id] if place != "ready" else 0)
    line = [*sorted(real.prio, key=lambda job_id: (real.prio[job_id], job_id))]
    higher = [job_id for job_id in line if real.priorities[job_id] > 0]
    lower = [job_id for job_id in line if real.priorities[job_id] < 0]
    pairs: list[tuple[str, object, object]] = [
        *[(f"line of {key}", queue.line(key), real.line_of(key)) for key in queue.lines if key],
        ("jobs", model, found),
        ("line", queue.line(), [*higher, *(job_id for job_id in real.line if job_id in real.jobs), *lower]),
        ("keys", queue.keys, real.keys),
        ("paused", queue.paused, f"p:{name}" in shared.flags),
        ("has a run", {job.job_id for job in queue.jobs.values() if job.has_run}, set(real.runs)),
    ]
    for job_id in real.runs.keys() & queue.jobs.keys():
        job, run = queue.jobs[job_id], real.runs[job_id]
        wanted = (job.attempt, job.used, job.tries, job.expires_ms, min(job.failures, HISTORY_MAX))
        pairs.append((f"run of {job_id}", wanted, (run.attempt, run.used, run.tries, run.expires_ms, len(run.history))))
    return [f"{name}: {what}: model {want}, Redis {got}" for what, want, got in pairs if want != got]
