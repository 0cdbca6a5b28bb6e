"""What a route says of itself, for the OpenAPI document and the docs page; and examples that several routes share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

ParameterKind = Literal["integer", "number", "string", "boolean"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter."""

    name: str
    kind: ParameterKind
    text: str
    default: str | int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply: its status, what it means, and an example of its JSON body (None: no body; a text: not JSON)."""

    status: int
    text: str
    example: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Documentation:
    """`body`: what the request body is, "" for none; `body_type`: its content type, */* for any bytes."""

    group: str
    summary: str
    replies: tuple[Reply, ...]
    parameters: tuple[Parameter, ...] = ()
    body: str = ""
    body_type: str = "*/*"


JOB_ID: Final = "01JD5T9ZQ3W8K4N7B2M6XCVHRE"

NAMES: Final = {"namespace": "shop", "queue": "orders"}
PEEKED: Final[dict[str, Any]] = {
    **NAMES,
    "job_id": JOB_ID,
    "data": "aGVsbG8=",
    "ttl": 86400,
    "elapsed_ms": 12,
    "remain_tries": 0,
    "attributes": None,
}
CONSUMED: Final = {"msg": "new job", **PEEKED, "attempt": 1, "tries": 1}
COUNTS: Final = {
    "ready": 3,
    "delayed": 0,
    "retry": 0,
    "working": 1,
    "dead": 0,
    "completed": 0,
    "blocked": 0,
    "grouped": 0,
}
WAITS_FOR_NOTHING: Final[dict[str, Any]] = {"waits_for": [], "waits_for_total": 0, "dependencies_open": False}
JOB_DETAIL: Final[dict[str, Any]] = {
    **NAMES,
    "job_id": JOB_ID,
    "state": "working",
    "attempt": 1,
    "tries": 3,
    "remain_tries": 2,
    "priority": 0,
    "now_ms": 1767225601000,
    "published_ms": 1767225600000,
    "due_ms": 1767225600000,
    "expires_ms": 1767312000000,
    "taken_ms": 1767225600500,
    "lease_end_ms": 1767225720500,
    "died_ms": None,
    "kept_until_ms": None,
    "consumer": "worker-7",
    "backoff": "none",
    "retention_s": 0,
    "key": "",
    "attributes": None,
    "limit_key": "",
    "group": "",
    "members": 0,
    "batch_id": None,
    "body_bytes": 5,
    "result_bytes": None,
    "errors": [],
}
WORKER: Final[dict[str, Any]] = {
    "worker": "web-1:4711:5f0c2a9b",
    "host": "web-1",
    "pid": 4711,
    "version": "0.1.0",
    "namespace": "shop",
    "state": "running",
    "queues": {"orders": 1},
    "concurrency": 50,
    "up_ms": 61000,
    "done": 120,
    "failed": 2,
    "cpu_percent": 12.5,
    "memory_bytes": 52428800,
    "running": [
        {
            "queue": "orders",
            "job_id": JOB_ID,
            "attempt": 1,
            "task": "shop.close_order",
            "run_ms": 1500,
            "percent": 40.0,
            "note": "2 of 5",
        }
    ],
    "running_untold": 0,
    "parked": [],
    "parked_untold": 0,
    "age_ms": 300,
}
LIMIT: Final = {"read": 100, "write": 100, "interval": 1}

LOST: Final = Reply(409, "attempt N no longer holds the job", {"error": "lease lost"})
NO_JOB: Final = Reply(404, "there is no such job in this queue", {"error": "job not found"})

ATTEMPT: Final = Parameter("attempt", "integer", "only if this attempt (1, 2, …) still holds the job")
TTL: Final = Parameter("ttl", "integer", "seconds until the job expires; 0 = never", 86400)
AFTER: Final = Parameter("after", "string", "`after` of the page before")
