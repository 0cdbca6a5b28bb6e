"""Converts the JSON of the HTTP API to values of the engine, and values to JSON."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from queues.engine import (
    NO_BACKOFF,
    AttemptRecord,
    Backoff,
    Delivery,
    Dependency,
    InvalidArgumentError,
    JobDetail,
    JobResult,
    JobState,
    KeyMode,
    OpenJob,
    Published,
    PublishOptions,
    QueueStats,
    WorkerCommand,
    WorkerCommandKind,
    parse_backoff,
)
from queues.engine.constants import SECONDS_MAX
from queues.engine.names import published_ms
from queues.engine.stats.heartbeats import ParkedTask, RunningJob, WorkerBeat

BEAT_RUNNING_MAX: Final = 1_000
BEAT_PARKED_MAX: Final = 100
BEAT_ROWS_BYTES: Final = 200_000
"""What the API takes in a beat, with room for the rest of it."""
_TEXT_MAX_CHARS: Final = 250


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful reply, or a 404, which is a result for some verbs."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def to_json_bytes(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def check_json(body: bytes) -> None:
    """Raise InvalidArgumentError for what would not stay one element of an array."""
    try:
        json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(
            "several jobs in one publish have to be JSON over HTTP: publish others one by one"
        ) from error


def whole_s(ms: int) -> int:
    """Whole seconds, rounded up."""
    return min(SECONDS_MAX, -(-ms // 1000))


def decimal_s(ms: int) -> str:
    return f"{ms / 1000:.3f}"


def page_params(after: str | None, limit: int) -> dict[str, str]:
    return {"limit": str(limit)} | ({} if after is None else {"after": after})


def dependency_list(depends_on: Sequence[Dependency]) -> str:
    """Separated by commas."""
    return ",".join([str(one).replace("%", "%25").replace(",", "%2C") for one in depends_on])


def publish_params(options: PublishOptions) -> dict[str, str]:
    params = {"ttl": str(whole_s(options.ttl_ms)), "tries": str(options.tries)}
    if options.at_ms is not None:
        params["at"] = decimal_s(options.at_ms)
    elif options.delay_ms:
        params["delay"] = decimal_s(options.delay_ms)
    if options.priority:
        params["priority"] = str(options.priority)
    params["backoff"] = str(options.backoff)
    if options.retention_ms:
        params["retention"] = str(whole_s(options.retention_ms))
    if options.limit_key is not None:
        params["limit_key"] = options.limit_key
    if options.group is not None:
        params["group"] = options.group
    if options.depends_on:
        params["depends_on"] = dependency_list(options.depends_on)
    if options.dependencies_open:
        params["dependencies"] = "open"
    if options.depends_on or options.dependencies_open:
        params["on_dependency_failure"] = options.on_dependency_failure.value
    if options.key is not None:
        params["key"] = options.key
        if options.key_ttl_ms:
            params["key_ttl"] = str(whole_s(options.key_ttl_ms))
        mode = KeyMode(options.key_mode)
        if mode is not KeyMode.WINDOW:
            params["key_mode"] = mode.value
        if options.key_max_wait_ms:
            params["key_max_wait"] = decimal_s(options.key_max_wait_ms)
    return params


def attribute_headers(attributes: Mapping[str, str] | None) -> dict[str, str | bytes] | None:
    """As headers. Raises InvalidArgumentError for names and values that no header can carry."""
    if not attributes:
        return None
    headers: dict[str, str | bytes] = {"Enable-Job-Version": "YES"}
    for name, text in attributes.items():
        if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum() or name != name.lower():
            raise InvalidArgumentError(
                f"over HTTP an attribute's name has lower-case letters, digits, - and _: {name!r}"
            )
        if any(ord(character) < 32 or ord(character) == 127 for character in text) or text != text.strip():
            raise InvalidArgumentError(f"the attribute {name} has characters that HTTP cannot carry")
        headers[f"Job-Attr-{name}"] = text.encode()
    return headers


def open_job(reply: Reply) -> OpenJob:
    content = reply.json
    return OpenJob(JobState(content["state"]), content["waits_for_total"])


def published_of(reply: Reply) -> Published:
    content = reply.json
    if "job_ids" in content:
        return Published(tuple(content["job_ids"]))
    return Published((content["job_id"],), duplicate=content["msg"] == "duplicate")


def waited_of(reply: Reply) -> tuple[Published, JobResult]:
    """Of a publish that waits for its job's result."""
    content = reply.json
    published = Published((content["job_id"],), duplicate=content["duplicate"])
    ended = {"done": JobState.COMPLETED, "dead": JobState.DEAD, "gone": None}
    if content["msg"] in ended:
        result = content.get("result")
        return published, JobResult(state=ended[content["msg"]], body=b64decode(result) if result else None)
    return published, JobResult(state=JobState(content["state"] or JobState.READY), body=None)


def nothing(_reply: Reply) -> None:
    return None


def has_changed(reply: Reply) -> bool:
    return bool(reply.json["changed"])


def job_result(reply: Reply) -> JobResult:
    if reply.status == 200:
        return JobResult(state=JobState.COMPLETED, body=reply.body or None)
    if reply.status == 404:
        return JobResult(state=None, body=None)
    return JobResult(state=JobState(reply.json["state"]), body=None)


def deliveries_of(reply: Reply) -> tuple[Delivery, ...]:
    if reply.status == 404:
        return ()
    content = reply.json
    return tuple([_delivery(one) for one in (content if isinstance(content, list) else [content])])


def _delivery(job: dict[str, Any]) -> Delivery:
    """A peek's answer names neither the attempt nor all tries."""
    now_ms = published_ms(job["job_id"]) + job["elapsed_ms"]
    tries = job.get("tries", job["remain_tries"])
    return Delivery(
        namespace=job["namespace"],
        queue=job["queue"],
        job_id=job["job_id"],
        body=b64decode(job["data"]),
        attempt=job.get("attempt", 0),
        used=tries - job["remain_tries"],
        tries=tries,
        expires_ms=now_ms + 1000 * job["ttl"] if job["ttl"] else 0,
        now_ms=now_ms,
        attributes=job["attributes"],
    )


def job_detail(job: dict[str, Any]) -> JobDetail:
    return JobDetail(
        namespace=job["namespace"],
        queue=job["queue"],
        job_id=job["job_id"],
        state=JobState(job["state"]),
        body=b64decode(job.get("data", "")),
        body_bytes=job["body_bytes"],
        attempt=job["attempt"],
        used=job["tries"] - job["remain_tries"],
        tries=job["tries"],
        priority=job["priority"],
        published_ms=job["published_ms"],
        now_ms=job["now_ms"],
        expires_ms=job["expires_ms"] or 0,
        due_ms=job["due_ms"],
        lease_end_ms=job["lease_end_ms"],
        died_ms=job["died_ms"],
        kept_until_ms=job["kept_until_ms"],
        taken_ms=job["taken_ms"],
        consumer=job["consumer"],
        backoff=_backoff(job["backoff"]),
        retention_ms=1000 * job["retention_s"],
        key=job["key"],
        attributes=job["attributes"],
        limit_key=job["limit_key"],
        group=job["group"],
        members=job["members"],
        batch_id=job["batch_id"] or "",
        result_bytes=job["result_bytes"],
        history=tuple([AttemptRecord(**one) for one in job["errors"]]),
    )


def _backoff(text: str) -> Backoff:
    try:
        return parse_backoff(text)
    except InvalidArgumentError:  # a very long one, which is written with an exponent
        return NO_BACKOFF


def queue_stats(content: dict[str, Any]) -> QueueStats:
    counts = {state: content[state.value] for state in JobState}
    return QueueStats(
        namespace=content["namespace"],
        queue=content["queue"],
        counts=counts,
        paused=content["paused"],
        now_ms=round(time.time() * 1000),  # the API does not say; nearly that of the server
        oldest_ready_ms=content["oldest_ready_ms"] if counts[JobState.READY] else None,
        published_per_s=content["published_per_s"],
        consumed_per_s=content["consumed_per_s"],
        acked_per_s=content["acked_per_s"],
        failed_per_s=content["failed_per_s"],
        wait_ms=content["wait_ms"],
        run_ms=content["run_ms"],
        late_ms=content["late_ms"],
        died=content["died"],
        leases_lost=content["leases_lost"],
        dropped=content["dropped"],
    )


def fit_beat(beat: WorkerBeat) -> WorkerBeat:
    """The beat with as many rows as fit in one request; the rest are only counted."""
    running, left = _fit([replace(job, note=job.note[:_TEXT_MAX_CHARS]) for job in beat.running], BEAT_RUNNING_MAX)
    parked, _ = _fit(
        [replace(task, reason=task.reason[:_TEXT_MAX_CHARS]) for task in beat.parked], BEAT_PARKED_MAX, left
    )
    return replace(
        beat,
        running=tuple(running),
        running_untold=beat.running_untold + len(beat.running) - len(running),
        parked=tuple(parked),
        parked_untold=beat.parked_untold + len(beat.parked) - len(parked),
    )


def _fit(rows: Sequence[Any], most: int, left: int = BEAT_ROWS_BYTES) -> tuple[list[Any], int]:
    kept: list[Any] = []
    for row in rows[:most]:
        left -= len(to_json_bytes(asdict(row))) + 1
        if left < 0:
            break
        kept.append(row)
    return kept, max(0, left)


def worker_of(content: dict[str, Any]) -> WorkerBeat:
    """A worker of the list. Members that this version does not know are left out."""
    known = {name: content[name] for name in WorkerBeat.__dataclass_fields__ if name in content}
    known["running"] = tuple([RunningJob(**_known(RunningJob, row)) for row in content["running"]])
    known["parked"] = tuple([ParkedTask(**_known(ParkedTask, row)) for row in content["parked"]])
    return WorkerBeat(**known)


def _known(kind: type[RunningJob] | type[ParkedTask], row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in kind.__dataclass_fields__ if name in row}


def command_of(content: dict[str, Any], namespace: str) -> WorkerCommand | None:
    """None if this version does not know it."""
    try:
        kind, attempt = WorkerCommandKind(content["kind"]), content.get("attempt", 0)
        return WorkerCommand(kind, content["target"], content["given"], namespace, attempt)
    except ValueError:
        return None
