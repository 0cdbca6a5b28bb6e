"""Look without touching: peek, detail, result, listings, size, stats, distributions of waits and runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .. import constants
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..names import published_ms
from ..operation import Operation, Plan, Reply, clock_argument, delivery_of, expect_ok, tag_of, unexpected
from ..queue_values import Distributions, QueueStats, Spread
from ..record import unpack_record, unpack_run
from ..scripts import load
from ..stats.minutes import BUCKETS_PER_OCTAVE, Minutes, Waits, lately, minutes_of, percentiles, rates, waits_of
from ..values import Delivery, JobDetail, JobResult, JobState, Page

_CURSOR = re.compile(
    r"(?:(?:high|list|low|delayed|retry|working|dead|completed|blocked|grouped):[0-9]{1,16}:[0-9A-Z]{26}|keyed:0:(?:[0-9a-f]{2}){35,98})\Z"
)
"""`segment:place:id` (lua/lib/jobs_in_order.lua). Places beyond a double's 2^53 would not be whole numbers to Redis."""
_PEEK = load("peek")
_DETAIL = load("detail")
_RESULT = load("result")
_LIST = load("list_jobs")
_SIZE = load("size")
_STATS = load("stats")


def peek(queue: QueueKeys, *, now_ms: int | None = None) -> Plan[Delivery | None]:
    """The job that would be delivered next, or None."""

    def decode(reply: Reply) -> tuple[str, Delivery | None]:
        tag = tag_of(reply)
        if tag not in ("job", "none", "more"):
            raise unexpected(_PEEK, reply)
        return tag, delivery_of(queue, reply[1], reply[2:]) if tag == "job" else None

    args = (clock_argument(now_ms), queue.name, queue.events_cap, constants.SKIP_BATCH)
    while True:
        ((tag, found),) = yield [Operation(_PEEK, queue.select(_PEEK.keys), args, decode)]
        if tag != "more":
            return found  # type: ignore[no-any-return]


def detail(
    queue: QueueKeys, job_id: str, *, preview: int | None = None, now_ms: int | None = None
) -> Operation[JobDetail | None]:
    """All that is known of one job, or None. Of its body only the first `preview` bytes, if that is given."""

    def decode(reply: Reply) -> JobDetail | None:
        tag = tag_of(reply)
        if tag == "missing":
            return None
        if tag != "job":
            raise unexpected(_DETAIL, reply)
        return detail_of(queue, reply[1], reply[2])

    args = (clock_argument(now_ms), job_id, "" if preview is None else preview)
    return Operation(_DETAIL, queue.select(_DETAIL.keys), args, decode)


def result(queue: QueueKeys, job_id: str, *, now_ms: int | None = None) -> Operation[JobResult]:
    """The result of a completed job."""

    def decode(reply: Reply) -> JobResult:
        tag = tag_of(reply)
        if tag == "completed":
            return JobResult(state=JobState.COMPLETED, body=reply[1] if len(reply) > 1 else None)
        if tag == "pending":
            return JobResult(state=JobState(str(reply[1], "ascii")), body=None)
        if tag == "missing":
            return JobResult(state=None, body=None)
        raise unexpected(_RESULT, reply)

    return Operation(_RESULT, queue.select(_RESULT.keys), (clock_argument(now_ms), job_id), decode)


def list_jobs(
    queue: QueueKeys,
    state: JobState,
    *,
    after: str | None = None,
    limit: int = 50,
    latest_first: bool = False,
    now_ms: int | None = None,
) -> Operation[Page]:
    """A page of the jobs in `state`, in order, or in the opposite one; bodies are cut to `limits.PREVIEW_BYTES`.

    `after` is the cursor of the page before. A page may be shorter than `limit`, even empty, though more follow
    (huge jobs, long stretches of deleted ones): only `after` None means the end.
    """
    if not 1 <= limit <= constants.PAGE_MAX:
        raise InvalidArgumentError("invalid limit")
    cursor = cursor_argument(after)

    def decode(reply: Reply) -> Page:
        if reply[0] != b"page":
            raise unexpected(_LIST, reply)
        jobs = tuple([detail_of(queue, reply[1], fields) for fields in reply[3:]])
        return Page(jobs=jobs, after=str(reply[2], "ascii") or None)

    args = (
        clock_argument(now_ms),
        state.value,
        cursor,
        limit,
        constants.PREVIEW_BYTES,
        constants.PAGE_BUDGET_BYTES,
        "1" if latest_first else "",
    )
    return Operation(_LIST, queue.select(_LIST.keys), args, decode)


def size(queue: QueueKeys) -> Operation[int]:
    """Number of ready jobs."""
    return Operation(_SIZE, queue.select(_SIZE.keys), (queue.name,), lambda reply: int(expect_ok(_SIZE, reply)[0]))


_COUNTED = (
    JobState.READY,
    JobState.DELAYED,
    JobState.RETRY,
    JobState.WORKING,
    JobState.DEAD,
    JobState.COMPLETED,
    JobState.BLOCKED,
    JobState.GROUPED,
)


def stats(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[QueueStats]:
    """Counts, rates and percentiles of one queue; of a queue that does not exist, zeros."""

    def decode(reply: Reply) -> QueueStats:
        return queue_stats(queue, expect_ok(_STATS, reply))

    return Operation(_STATS, queue.select(_STATS.keys), (clock_argument(now_ms), queue.name), decode)


def queue_stats(queue: QueueKeys, reply: Sequence[Any]) -> QueueStats:
    """What stats.lua and survey.lua reply."""
    now, paused, *rest = reply
    counts = dict(zip(_COUNTED, rest[:8], strict=True))
    oldest_due, by_age, by_count, fields = rest[8:]
    minutes = minutes_of(fields)
    per_second = rates(minutes, now)
    return QueueStats(
        namespace=queue.namespace,
        queue=queue.queue,
        counts=counts,
        paused=bool(paused),
        now_ms=now,
        oldest_ready_ms=None if oldest_due < 0 else max(0, now - oldest_due),
        published_per_s=per_second["p"],
        consumed_per_s=per_second["w"],
        acked_per_s=per_second["r"],
        failed_per_s=per_second["f"],
        wait_ms=percentiles(minutes, now, "w"),
        run_ms=percentiles(minutes, now, "r"),
        late_ms=percentiles(minutes, now, "l"),
        dropped={"age": by_age, "count": by_count},
        died=lately(minutes, now, "d"),
        leases_lost=lately(minutes, now, "e"),
        acked=lately(minutes, now, "r"),
    )


_WITH_DUE_TIME = (JobState.DELAYED, JobState.RETRY, JobState.BLOCKED, JobState.GROUPED)
_WITHOUT_TTL = (JobState.DEAD, JobState.COMPLETED)


def cursor_argument(after: str | None) -> str:
    """The `after` argument of listings: "" to begin. Raises InvalidArgumentError for what no listing gave out."""
    if after and not _CURSOR.match(after):
        raise InvalidArgumentError("invalid after")
    return after or ""


def detail_of(queue: QueueKeys, now_ms: int, fields: list[Any]) -> JobDetail:
    """A job as detail and listings reply it (lua/lib/job_details.lua)."""
    raw_id, raw_state, raw_score, raw_record, raw_run, priority, result_bytes, body_bytes = fields
    job_id = str(raw_id, "ascii")
    state = JobState(str(raw_state, "ascii"))
    score = int(float(raw_score)) if raw_score else None
    record = unpack_record(raw_record)
    is_whole = len(record.stored_body) == body_bytes
    run = unpack_run(raw_run) if raw_run else None
    times: Mapping[JobState, str] = {
        JobState.WORKING: "lease_end_ms",
        JobState.DEAD: "died_ms",
        JobState.COMPLETED: "kept_until_ms",
    }
    by_state: dict[str, Any] = dict.fromkeys(("lease_end_ms", "died_ms", "kept_until_ms"), None) | (
        {times[state]: score} if state in times else {}
    )
    due_ms = run.due_ms if run else record.due_ms or published_ms(job_id)
    return JobDetail(
        namespace=queue.namespace,
        queue=queue.queue,
        job_id=job_id,
        state=state,
        body=record.body,
        body_bytes=len(record.body) if record.options.members and is_whole else body_bytes,
        attempt=run.attempt if run else 0,
        used=run.used if run else 0,
        tries=run.tries if run else record.tries,
        priority=priority,
        published_ms=published_ms(job_id),
        now_ms=now_ms,
        expires_ms=0 if state in _WITHOUT_TTL else run.expires_ms if run else record.expires_ms,
        due_ms=score if state in _WITH_DUE_TIME else due_ms,
        taken_ms=run.taken_ms if run and run.attempt else None,
        consumer=run.consumer if run else "",
        backoff=record.options.backoff,
        retention_ms=record.options.retention_ms,
        key=record.options.key,
        attributes=record.options.attributes,
        limit_key=record.options.limit_key,
        result_bytes=None if result_bytes < 0 else result_bytes,
        history=run.history if run else (),
        group=record.options.group,
        members=record.options.members,
        **by_state,
    )


def distributions(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[Distributions]:
    """Of a queue that does not exist, nothing."""

    def decode(reply: Reply) -> Distributions:
        minutes = minutes_of(expect_ok(_STATS, reply)[-1])
        return Distributions(wait=_spread(minutes, "w"), run=_spread(minutes, "r"))

    return Operation(_STATS, queue.select(_STATS.keys), (clock_argument(now_ms), queue.name), decode)


def waits_by_minute(queue: QueueKeys, *, now_ms: int | None = None) -> Operation[Waits]:
    """Deliveries of the last ten minutes by minute and bucket of their wait; of a queue that does not exist, none."""

    def decode(reply: Reply) -> Waits:
        return waits_of(minutes_of(expect_ok(_STATS, reply)[-1]))

    return Operation(_STATS, queue.select(_STATS.keys), (clock_argument(now_ms), queue.name), decode)


def _spread(minutes: Minutes, wanted: str) -> Spread:
    """Four buckets make one span: bucket b ends at 2^(b/4) ms, so span s, of buckets 4s-3 to 4s, ends at 2^s ms."""
    spans: dict[int, int] = {}
    for counts in minutes.values():
        for (metric, bucket), count in counts.items():
            if metric == wanted:
                span = -(-bucket // BUCKETS_PER_OCTAVE)
                spans[span] = spans.get(span, 0) + count
    if not spans:
        return Spread()
    every = range(min(spans), max(spans) + 1)
    return Spread(bounds_ms=tuple(2.0**span for span in every), counts=tuple(spans.get(span, 0) for span in every))
