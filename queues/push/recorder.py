"""Keeps what has happened at one endpoint until it is written to Redis, a few times a second: counts, and the latest
deliveries. Two thousand deliveries a second cost two thousand small objects, of which a few dozen are ever written.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from queues.engine import DELIVERIES_KEPT, DeliveryNotes, PushCounts
from queues.http_client import Response
from queues.services.push.endpoints import masked
from queues.services.push.records import (
    REQUEST_BODY_BYTES,
    RESPONSE_BODY_BYTES,
    DeliveryRecord,
    pack_record,
    short_headers,
    text_of,
)

from .request_headers import Headers

DELIVERED: Final = "delivered"
LATE: Final = "late"
FAILED: Final = "failed"
GONE: Final = "gone"
TEST_DELIVERED: Final = "test_delivered"
TEST_FAILED: Final = "test_failed"
SUCCESSES: Final = (DELIVERED, LATE)


@dataclass(slots=True, kw_only=True)
class Happened:
    """A delivery that is over. `body`: the beginning of the request's; `next`: what became of the job."""

    number: int = 0
    at_ms: int
    job_id: str
    attempt: int
    outcome: str
    error: str
    duration_ms: float
    next: str
    headers: Headers
    body: bytes
    body_bytes: int
    response: Response | None

    def packed(self, pusher: str) -> bytes:
        """As Redis keeps it."""
        response = self.response
        return pack_record(
            DeliveryRecord(
                at_ms=self.at_ms,
                job_id=self.job_id,
                attempt=self.attempt,
                outcome=self.outcome,
                status=response.status if response else 0,
                reason=response.reason if response else "",
                error=self.error[:500],
                duration_ms=round(self.duration_ms, 1),
                pusher=pusher,
                next=self.next,
                request_headers=short_headers(masked_pairs(self.headers)),
                request_body=text_of(self.body, REQUEST_BODY_BYTES),
                request_bytes=self.body_bytes,
                response_headers=short_headers(response.headers) if response else (),
                response_body=text_of(response.body, RESPONSE_BODY_BYTES) if response else "",
            )
        )


def masked_pairs(headers: Headers) -> Headers:
    """The headers; values that may be secrets are masked. The signature is not: receivers are checked by it."""
    return tuple(
        (name, value if name.startswith("webhook-") else masked({name: value})[name]) for name, value in headers
    )


@dataclass(slots=True)
class Recorder:
    """Of one endpoint."""

    pusher: str
    counts: PushCounts = field(default_factory=PushCounts)
    """Since this process began."""
    _recent: deque[Happened] = field(default_factory=lambda: deque(maxlen=DELIVERIES_KEPT))
    _failures: deque[Happened] = field(default_factory=lambda: deque(maxlen=DELIVERIES_KEPT))
    _number: int = 0
    _delivered: int = 0
    _failed: int = 0
    _returned: int = 0
    _streak: int = 0

    def note(self, happened: Happened) -> None:
        """A delivery is over, or a test."""
        self._number += 1
        happened.number = self._number
        self._recent.append(happened)
        outcome = happened.outcome
        if outcome not in (*SUCCESSES, TEST_DELIVERED):
            self._failures.append(happened)
        if outcome in SUCCESSES:
            self._delivered += 1
            self._streak = 0
            self._add(1, 0, 0, happened.duration_ms)
        elif outcome == FAILED:
            self._failed += 1
            self._streak += 1
            self._add(0, 1, 0, happened.duration_ms)
        elif outcome == GONE:
            self.note_returned()

    def note_returned(self) -> None:
        """A job was given back without an outcome."""
        self._returned += 1
        self._add(0, 0, 1, 0.0)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take."""
        return not (self._recent or self._returned)

    def take(self) -> DeliveryNotes | None:
        """What has happened since the call before; None: nothing."""
        if self.is_empty:
            return None
        happened = {one.number: one for one in (*self._failures, *self._recent)}
        notes = DeliveryNotes(
            delivered=self._delivered,
            failed=self._failed,
            returned=self._returned,
            streak=self._streak,
            records=[
                (one.outcome not in (*SUCCESSES, TEST_DELIVERED), one.packed(self.pusher))
                for _, one in sorted(happened.items())
            ],
        )
        self._recent.clear()
        self._failures.clear()
        self._delivered = self._failed = self._returned = self._streak = 0
        return notes

    def put_back(self, notes: DeliveryNotes) -> None:
        """The counts of notes that could not be written. What was to be seen of single deliveries is lost."""
        if not self._delivered:
            self._streak += notes.streak
        self._delivered += notes.delivered
        self._failed += notes.failed
        self._returned += notes.returned

    def _add(self, delivered: int, failed: int, returned: int, duration_ms: float) -> None:
        known = self.counts
        self.counts = PushCounts(
            0,
            known.delivered + delivered,
            known.failed + failed,
            known.returned + returned,
            known.run_ms + round(duration_ms),
        )
