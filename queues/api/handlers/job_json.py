"""The JSON forms of the engine's values."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from queues.engine.queue_values import QueueStats
from queues.engine.values import AttemptRecord, Delivery, JobDetail, JobState
from queues.services.jobs.finding import AwaitedJobs


def present_consumed(delivery: Delivery) -> dict[str, Any]:
    """A delivered job; `data` in base64, as Go encodes bytes. `attempt` is what a fenced ack sends back."""
    return {
        "msg": "new job",
        "namespace": delivery.namespace,
        "queue": delivery.queue,
        "job_id": delivery.job_id,
        "data": str(b2a_base64(delivery.body, newline=False), "ascii"),
        "ttl": delivery.ttl_s,
        "elapsed_ms": delivery.elapsed_ms,
        "remain_tries": delivery.remain_tries,
        "attributes": delivery.attributes,
        "attempt": delivery.attempt,
        "tries": delivery.tries,
    }


def present_delivery(delivery: Delivery) -> dict[str, Any]:
    """A job as peek answers it."""
    presented = present_consumed(delivery)
    del presented["msg"], presented["attempt"], presented["tries"]
    return presented


def present_job(job: JobDetail) -> dict[str, Any]:
    """A job in any state, in the form of a peek. A dead one has no ttl any more."""
    delivery = job.as_delivery()
    return present_delivery(replace(delivery, expires_ms=0) if job.state is JobState.DEAD else delivery)


def present_detail(job: JobDetail, *, data: bool = False) -> dict[str, Any]:
    """All that is known of a job. Times in ms since the epoch, null where they do not apply.

    `data`: also its body, in base64; in a page of a listing the first bytes of it.
    """
    presented = _present_detail(job)
    if data:
        presented["data"] = str(b2a_base64(job.body, newline=False), "ascii")
    return presented


def _present_detail(job: JobDetail) -> dict[str, Any]:
    return {
        "namespace": job.namespace,
        "queue": job.queue,
        "job_id": job.job_id,
        "state": job.state.value,
        "attempt": job.attempt,
        "tries": job.tries,
        "remain_tries": max(0, job.tries - job.used),
        "priority": job.priority,
        "now_ms": job.now_ms,
        "published_ms": job.published_ms,
        "due_ms": job.due_ms,
        "expires_ms": None if job.state is JobState.DEAD else job.expires_ms or None,
        "taken_ms": job.taken_ms,
        "lease_end_ms": job.lease_end_ms,
        "died_ms": job.died_ms,
        "kept_until_ms": job.kept_until_ms,
        "consumer": job.consumer,
        "backoff": str(job.backoff),
        "retention_s": job.retention_ms // 1000,
        "key": job.key,
        "attributes": job.attributes,
        "limit_key": job.limit_key,
        "group": job.group,
        "members": job.members,
        "batch_id": job.batch_id or None,
        "body_bytes": job.body_bytes,
        "result_bytes": job.result_bytes,
        "errors": [present_attempt(attempt) for attempt in job.history],
    }


def present_awaited(awaited: AwaitedJobs) -> dict[str, Any]:
    """What a job waits for; the first of them, and how many there are."""
    return {
        "waits_for": [{"job": one.name, "state": "gone" if one.has_gone else "waiting"} for one in awaited.jobs],
        "waits_for_total": awaited.total,
        "dependencies_open": awaited.is_open,
    }


def present_attempt(attempt: AttemptRecord) -> dict[str, Any]:
    """One attempt that did not end in an ack."""
    return {
        "attempt": attempt.attempt,
        "outcome": attempt.outcome,
        "error": attempt.error,
        "consumer": attempt.consumer,
        "taken_ms": attempt.taken_ms,
        "ended_ms": attempt.ended_ms,
    }


def present_counts(stats: QueueStats) -> dict[str, Any]:
    """Jobs per state, by the state's name."""
    return {state.value: stats.counts.get(state, 0) for state in JobState}


def present_stats(stats: QueueStats) -> dict[str, Any]:
    """Plain numbers at fixed places, for autoscalers that read one of them."""
    return {
        "namespace": stats.namespace,
        "queue": stats.queue,
        "paused": stats.paused,
        **present_counts(stats),
        "oldest_ready_ms": stats.oldest_ready_ms or 0,
        "published_per_s": stats.published_per_s,
        "consumed_per_s": stats.consumed_per_s,
        "acked_per_s": stats.acked_per_s,
        "failed_per_s": stats.failed_per_s,
        "wait_ms": _plain(stats.wait_ms),
        "run_ms": _plain(stats.run_ms),
        "late_ms": _plain(stats.late_ms),
        "died": stats.died,
        "leases_lost": stats.leases_lost,
        "dropped": dict(stats.dropped),
    }


def _plain(percentiles: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: None if value is None else round(value, 1) for name, value in percentiles.items()}
