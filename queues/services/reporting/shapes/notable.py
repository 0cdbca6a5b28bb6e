"""What a report tells beside its figures: tries, errors, slow jobs, changes. Times in ms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from .figures import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class TryCount:
    """How many jobs were acked, or died, at their attempt number `attempt`. `outcome`: "acked" or "dead"."""

    attempt: int
    outcome: str
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorGroup:
    """Failed attempts and deaths whose errors differ only in numbers and ids. `job`: the id of one of them."""

    queue: str
    pattern: str
    failed: int
    dead: int
    first_at: datetime | None
    last_at: datetime | None
    job: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowJob:
    """One of the slowest. `metric`: wait or run. `worker` "": unknown."""

    queue: str
    metric: Metric
    rank: int
    job: str
    attempt: int | None
    ms: int
    at: datetime | None
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A figure against the same weekday's past weeks: `usual` is their median over `weeks` weeks. `is_flagged`: it is
    out of line with them."""

    queue: str
    figure: str
    value: float | None
    usual: float | None
    spread: float | None
    weeks: int
    is_flagged: bool
