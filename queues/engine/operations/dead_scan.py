"""Dead letters in stretches, newest first, with what they died of: for finding some among very many."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .. import limits
from ..errors import InvalidArgumentError
from ..keys import QueueKeys
from ..operation import Operation, Reply
from ..reply import clock_argument, expect_ok
from ..scripts import load

DEAD_SCAN_BATCH: Final = 500
"""Dead letters that one call looks at."""

_SCAN = load("dead_scan")
_CURSOR = re.compile(r"(?P<score>[0-9]{1,16}):(?P<id>[0-9A-Z]{26})\Z")
_OUTCOMES: Final = {0: "", 1: "failed", 2: "lease_lost"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadJob:
    """A dead letter and its last attempt. `outcome`: failed, lease_lost, or "" when nothing is known of it."""

    job_id: str
    died_ms: int
    attempt: int
    outcome: str
    consumer: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadPage:
    """Some dead letters, newest first. `left`: how many follow in the span; `after`: the cursor, None at the end."""

    jobs: tuple[DeadJob, ...]
    after: str | None
    left: int
    now_ms: int


def scan_dead(
    queue: QueueKeys,
    *,
    since_ms: int = 0,
    before_ms: int | None = None,
    after: str | None = None,
    limit: int = DEAD_SCAN_BATCH,
    now_ms: int | None = None,
) -> Operation[DeadPage]:
    """The next `limit` of those that died from `since_ms` on and before `before_ms`; with 0 only their number, `left`.

    Fewer where much is remembered of their attempts: only `after` None in the answer means the end.
    The argument `after` is the cursor of the page before. Raises InvalidArgumentError.
    """
    if not 0 <= limit <= DEAD_SCAN_BATCH:
        raise InvalidArgumentError("invalid limit")
    score, job_id = parse_dead_cursor(after)

    def decode(reply: Reply) -> DeadPage:
        now, left, *found = expect_ok(_SCAN, reply)
        jobs = tuple([_dead_job(fields) for fields in found])
        last = f"{jobs[-1].died_ms}:{jobs[-1].job_id}" if jobs else after
        return DeadPage(jobs=jobs, after=last if left else None, left=left, now_ms=now)

    before = "" if before_ms is None else before_ms
    args = (clock_argument(now_ms), since_ms, before, score, job_id, limit, limits.DEAD_SCAN_BUDGET_BYTES)
    return Operation(_SCAN, queue.select(_SCAN.keys), args, decode)


def parse_dead_cursor(after: str | None) -> tuple[str, str]:
    """Time of death and id of the last job that was seen; two empty texts for None. Raises InvalidArgumentError."""
    if not after:
        return "", ""
    found = _CURSOR.match(after)
    if found is None:
        raise InvalidArgumentError("invalid after")
    return found["score"], found["id"]


def _dead_job(fields: list[bytes | int]) -> DeadJob:
    raw_id, died, attempt, outcome, consumer, error = fields
    return DeadJob(
        job_id=_text(raw_id),
        died_ms=int(died),
        attempt=int(attempt),
        outcome=_OUTCOMES.get(int(outcome), ""),
        consumer=_text(consumer),
        error=_text(error),
    )


def _text(raw: bytes | int) -> str:
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
