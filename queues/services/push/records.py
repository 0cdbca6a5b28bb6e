"""A delivery as it is kept for a while: written by pushers, read by pages and the API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from queues.engine import JobState

REQUEST_BODY_BYTES: Final = 1_024
RESPONSE_BODY_BYTES: Final = 2_048
HEADER_CHARS: Final = 256
"""How much of bodies, and of each header, is kept."""

HEADERS_KEPT: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryRecord:
    """`outcome`: delivered, failed, gone, late (delivered, but the lease was over), test_delivered, test_failed.

    `status` 0: there was no answer, `error` says why. `next`: what became of the job.
    """

    at_ms: int
    job_id: str
    attempt: int
    outcome: str
    status: int
    reason: str
    error: str
    duration_ms: float
    pusher: str
    next: str
    request_headers: tuple[tuple[str, str], ...]
    request_body: str
    request_bytes: int
    response_headers: tuple[tuple[str, str], ...]
    response_body: str

    @property
    def has_failed(self) -> bool:
        """Whether the receiver did not take it."""
        return self.outcome not in ("delivered", "late", "test_delivered")

    @property
    def next_state(self) -> JobState | None:
        """The state that the job went to, if it still exists."""
        return next((state for state in JobState if state == self.next), None)

    @property
    def is_test(self) -> bool:
        """Whether it was no job but a test."""
        return self.outcome.startswith("test_")


def text_of(body: bytes, limit: int) -> str:
    """The beginning of a body as text; bytes that are no UTF-8 as U+FFFD."""
    return body[:limit].decode("utf-8", "replace")


def short_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The headers, cut to what is kept."""
    return tuple((name[:HEADER_CHARS], value[:HEADER_CHARS]) for name, value in list(headers)[:HEADERS_KEPT])


def pack_record(record: DeliveryRecord) -> bytes:
    """As Redis keeps it."""
    return orjson.dumps(
        {name: getattr(record, name) for name in DeliveryRecord.__dataclass_fields__},
    )


def unpack_record(packed: bytes) -> DeliveryRecord | None:
    """None if this version cannot read it."""
    try:
        content: Mapping[str, Any] = orjson.loads(packed)
        return DeliveryRecord(
            at_ms=int(content["at_ms"]),
            job_id=str(content["job_id"]),
            attempt=int(content["attempt"]),
            outcome=str(content["outcome"]),
            status=int(content["status"]),
            reason=str(content["reason"]),
            error=str(content["error"]),
            duration_ms=float(content["duration_ms"]),
            pusher=str(content["pusher"]),
            next=str(content["next"]),
            request_headers=_pairs(content["request_headers"]),
            request_body=str(content["request_body"]),
            request_bytes=int(content["request_bytes"]),
            response_headers=_pairs(content["response_headers"]),
            response_body=str(content["response_body"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _pairs(content: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in content)
