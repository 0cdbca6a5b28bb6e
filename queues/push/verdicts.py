"""What becomes of a job by what its receiver answered."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final

from queues.http_client import HttpClientError, HttpFailure, Response

GONE: Final = 410
RETRY_AFTER_MAX_S: Final = 86_400
"""What a receiver may ask for at the most. More counts as this."""

HOLD_OFF_MAX_S: Final = 60.0
"""For how long a Retry-After of 429 or 503 keeps an endpoint from getting further jobs, at the most."""

BACKOFF_BASE_MS: Final = 5_000
BACKOFF_MAX_MS: Final = 3_600_000
ERROR_BODY_CHARS: Final = 300


class Verdict(StrEnum):
    """`delivered`: ack. `failed`: fail. `gone`: give the job back, pause the endpoint."""

    DELIVERED = "delivered"
    FAILED = "failed"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """`delay_ms` None: by the job's backoff. `hold_off_s`: for so long the endpoint gets nothing."""

    verdict: Verdict
    error: str = ""
    delay_ms: int | None = None
    hold_off_s: float = 0.0


DELIVERED: Final = Judgement(verdict=Verdict.DELIVERED)


def judge(response: Response, *, now: datetime | None = None) -> Judgement:
    """By status: 2xx is success, 410 says that the receiver is gone, all else is a failure, redirects included."""
    status = response.status
    if 200 <= status < 300:
        return DELIVERED
    if status == GONE:
        return Judgement(verdict=Verdict.GONE, error=_words(response))
    asked_s = read_retry_after(response.header("retry-after"), now=now)
    return Judgement(
        verdict=Verdict.FAILED,
        error=_words(response),
        delay_ms=None if asked_s is None else round(asked_s * 1000),
        hold_off_s=min(asked_s or 0.0, HOLD_OFF_MAX_S) if status in (429, 503) else 0.0,
    )


def judge_failure(error: HttpClientError, *, timeout_s: float) -> Judgement:
    """Without an answer: a failure."""
    words = f"{error} ({timeout_s:g} s)" if error.failure is HttpFailure.TIMEOUT else str(error)
    return Judgement(verdict=Verdict.FAILED, error=words)


def fallback_delay_ms(used: int) -> int:
    """How long a job without a backoff waits after its n-th try: 5 s, doubled each time, at most an hour; half of it
    is random."""
    full = min(BACKOFF_MAX_MS, BACKOFF_BASE_MS << min(max(used, 1) - 1, 30))
    return round(full / 2 + random.random() * full / 2)  # noqa: S311  jitter, not a secret


def read_retry_after(text: str, *, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After asks for, by a number or an HTTP date, at most RETRY_AFTER_MAX_S; None: nothing."""
    text = text.strip()
    if not text or len(text) > 64:
        return None
    if text.isascii() and text.isdigit():
        return float(min(int(text), RETRY_AFTER_MAX_S))
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    try:
        wanted = (date - (now or datetime.now(UTC))).total_seconds()
    except OverflowError:
        return None
    return min(max(wanted, 0.0), float(RETRY_AFTER_MAX_S))


def _words(response: Response) -> str:
    """Status, and the beginning of what the receiver said: `503 Service Unavailable: try later`."""
    status = f"{response.status} {response.reason}".strip()
    if 300 <= response.status < 400:
        location = response.header("location")
        return f"{status}: redirects are not followed" + (f" ({location[:200]})" if location else "")
    body = " ".join(response.body[: 4 * ERROR_BODY_CHARS].decode("utf-8", "replace").split())[:ERROR_BODY_CHARS]
    return f"{status}: {body}" if body else status
