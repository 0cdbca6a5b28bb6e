"""Looking for jobs: a bounded stretch of one state at a time."""

from __future__ import annotations

from dataclasses import replace

from .. import limits
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..operation import Operation, Reply
from ..reply import clock_argument, unexpected
from ..scripts import load
from ..values import JobDetail, JobFilter, JobState, Scan
from .inspect import cursor_argument, detail_of

_SCAN = load("scan_jobs")


def scan_jobs(
    queue: QueueKeys,
    state: JobState,
    wanted: JobFilter,
    *,
    after: str | None = None,
    limit: int = 50,
    looks: int = limits.SCAN_LOOKS,
    now_ms: int | None = None,
) -> Operation[Scan]:
    """Up to `limit` jobs in `state` that match, in order, of the next `looks`; bodies are cut as in a listing.

    `after` is the cursor of the stretch before. A stretch may be shorter, even without a match, though more follow:
    only `after` None means the end. Raises InvalidArgumentError.
    """
    if not 1 <= limit <= limits.PAGE_MAX:
        raise InvalidArgumentError("invalid limit")
    if not 1 <= looks <= limits.SCAN_LOOKS:
        raise InvalidArgumentError("invalid looks")
    name, is_named, value = wanted.attribute.partition("=")
    texts = (wanted.job_id, wanted.key, *((name, value) if is_named else ("", name)), wanted.error, wanted.body)
    parts = [text.encode("utf-8", "replace") for text in texts]
    if any(len(part) > limits.SCAN_TEXT_MAX_BYTES for part in parts):
        raise InvalidArgumentError("filter text too long")
    body = parts[-1].lower()

    def decode(reply: Reply) -> Scan:
        if reply[0] != b"page":
            raise unexpected(_SCAN, reply)
        _, now, cursor, looked_at, size, *found = reply
        jobs: list[JobDetail] = []
        for *fields, is_match, before, looked_before in found:
            job = detail_of(queue, now, fields)
            if not is_match:
                if body not in job.body.lower():
                    continue
                job = replace(job, body=job.body[: limits.PREVIEW_BYTES])
            if len(jobs) == limit:
                cursor, looked_at = before, looked_before
                break
            jobs.append(job)
        return Scan(jobs=tuple(jobs), after=str(cursor, "ascii") or None, looked_at=looked_at, size=size)

    args = (
        clock_argument(now_ms),
        queue.name,
        state.value,
        cursor_argument(after),
        limit,
        looks,
        limits.PREVIEW_BYTES,
        limits.SCAN_BUDGET_BYTES,
        *parts,
        limits.SCAN_MATCH_MAX_BYTES,
    )
    return Operation(_SCAN, queue.select(_SCAN.keys), args, decode)
