"""Downloads of jobs, dead letters and the activity log, for those who may see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.urls import path

from dashboard.downloads import body_cells, moment, send_rows
from dashboard.forms.jobs import read_filter, read_state
from queues.engine.values import JobDetail, JobFilter, JobState
from queues.services.activity import ActivityEntry, ActivityFilter, list_activity
from queues.services.dead_letters.scanning import DeadLetter, read_all_letters
from queues.services.jobs.reading_all import read_all_jobs
from queues.services.permissions import User
from queues.services.queues.page import QueuePlace, count_jobs_in, find_place

from .activity import read_activity_filter
from .dead_letters import filter_of
from .decorators import page

Rows = Iterator[Sequence[Mapping[str, Any]]]

LETTER_COLUMNS: Final = (
    "pool", "namespace", "queue", "job_id", "died_at", "attempts", "outcome", "consumer", "error", "group",
)  # fmt: skip
JOB_COLUMNS: Final = (
    "job_id", "state", "published_at", "due_at", "lease_ends_at", "died_at", "expires_at", "kept_until", "attempts",
    "tries_used", "tries", "priority", "consumer", "error", "key", "limit_key", "group", "attributes", "body_bytes",
    "body_encoding", "body",
)  # fmt: skip
ACTIVITY_COLUMNS: Final = (
    "at", "who", "action", "pool", "namespace", "queue", "target", "count", "detail",
)  # fmt: skip
ACTIVITY_BATCH: Final = 500


@page
def dead_download(request: HttpRequest) -> HttpResponse:
    """`?as=csv|json` and the filter of the page of the dead letters."""
    chosen = filter_of(request.GET)
    dead_queues, letters = read_all_letters(user=request.user, chosen=chosen)
    name = "-".join(filter(None, ("dead-letters", chosen.namespace, chosen.queue)))
    total = 0 if chosen.reads_errors else dead_queues.count
    return send_rows(request, name=name, columns=LETTER_COLUMNS, batches=_letters(letters), total=total)


def _letters(batches: Iterator[Sequence[DeadLetter]]) -> Rows:
    for batch in batches:
        yield [
            {
                "pool": letter.address.pool,
                "namespace": letter.address.namespace,
                "queue": letter.address.queue,
                "job_id": letter.job.job_id,
                "died_at": moment(letter.job.died_ms),
                "attempts": letter.job.attempt,
                "outcome": letter.job.outcome,
                "consumer": letter.job.consumer,
                "error": letter.job.error,
                "group": letter.pattern,
            }
            for letter in batch
        ]


@page
def jobs_download(request: HttpRequest, pool: str, namespace: str, queue: str) -> HttpResponse:
    """`?as=csv|json`, `state` and the filter of the jobs on the queue's page."""
    place = find_place(user=request.user, pool=pool, namespace=namespace, queue=queue)
    state, wanted = read_state(request.GET), read_filter(request.GET)
    total = count_jobs_in(place=place, state=state) if wanted == JobFilter() else 0
    batches = _jobs(place, state, wanted)
    name = f"{namespace}-{queue}-{state.value}"
    return send_rows(request, name=name, columns=JOB_COLUMNS, batches=batches, total=total)


def _jobs(place: QueuePlace, state: JobState, wanted: JobFilter) -> Rows:
    for batch in read_all_jobs(place=place, state=state, wanted=wanted):
        yield [_job(job) for job in batch]


def _job(job: JobDetail) -> dict[str, Any]:
    return {
        "job_id": job.job_id,
        "state": job.state.value,
        "published_at": moment(job.published_ms),
        "due_at": moment(job.due_ms),
        "lease_ends_at": moment(job.lease_end_ms),
        "died_at": moment(job.died_ms),
        "expires_at": moment(job.expires_ms or None),
        "kept_until": moment(job.kept_until_ms),
        "attempts": job.attempt,
        "tries_used": job.used,
        "tries": job.tries,
        "priority": job.priority,
        "consumer": job.consumer,
        "error": job.history[-1].error if job.history else "",
        "key": job.key,
        "limit_key": job.limit_key,
        "group": job.group,
        "attributes": dict(job.attributes or {}),
        "body_bytes": job.body_bytes,
        **body_cells(job.body),
    }


@page
def activity_download(request: HttpRequest) -> HttpResponse:
    """`?as=csv|json` and the filter of the activity log."""
    chosen = read_activity_filter(request)
    batches = _activity(request.user, chosen)
    return send_rows(request, name="activity", columns=ACTIVITY_COLUMNS, batches=batches)


def _activity(user: User, chosen: ActivityFilter) -> Rows:
    before: int | None = None
    while True:
        found = list_activity(user=user, chosen=chosen, before=before, most=ACTIVITY_BATCH)
        yield [_entry(entry) for entry in found.entries]
        before = found.before
        if before is None:
            return


def _entry(entry: ActivityEntry) -> dict[str, Any]:
    values = {name: getattr(entry, name) for name in ACTIVITY_COLUMNS if name != "detail"}
    return values | {"detail": ", ".join(filter(None, (*entry.phrases, entry.detail)))}


_AT = "queues/<str:pool>/<str:namespace>/<str:queue>/"

urlpatterns = [
    path("dead/download", dead_download, name="dead_download"),
    path(f"{_AT}jobs/download", jobs_download, name="jobs_download"),
    path("activity/download", activity_download, name="activity_download"),
]
