"""Policies by which a failed job waits for its next try. `lua/lib/backoff.lua` computes the delay of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from .constants import SECONDS_MAX
from .errors import InvalidArgumentError

DEFAULT_CAP_S = 3_600.0
FAILURES_ONLY = "@failures"
FAILURES_ONLY_BIT = 128
"""Of the kind in a job's record (lua/lib/failure.lua)."""


class BackoffKind(IntEnum):
    """Numbers as stored in the job record."""

    NONE = 0
    FIXED = 1
    LINEAR = 2
    EXPONENTIAL = 3
    SIDEKIQ = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """A backoff policy. `base_ms` and `cap_ms` in milliseconds; n is the attempt that failed, counted from 1.

    none: 0 · fixed: base · linear: base·n · exponential: min(cap, base·2^(n-1)) with "equal jitter" (half fixed, half
    random; AWS Architecture Blog, "Exponential Backoff And Jitter") · sidekiq: n^4 + 15 + rand(30)·(n+1) seconds, n the
    retries so far counted from 0 (Sidekiq wiki, "Error Handling").
    With `failures_only` a job whose lease ran out is ready again at once: its consumer died, it did not fail.
    """

    kind: BackoffKind = BackoffKind.NONE
    base_ms: int = 0
    cap_ms: int = 0
    failures_only: bool = False

    def __str__(self) -> str:
        """The form that `parse` reads."""
        name = self.kind.name.lower()
        suffix = FAILURES_ONLY if self.failures_only else ""
        if self.kind in (BackoffKind.NONE, BackoffKind.SIDEKIQ):
            return name + suffix
        cap = f":{self.cap_ms / 1000:g}" if self.kind is BackoffKind.EXPONENTIAL else ""
        return f"{name}:{self.base_ms / 1000:g}{cap}{suffix}"


NO_BACKOFF = Backoff()


def parse_backoff(text: str) -> Backoff:
    """Read `none`, `fixed:S`, `linear:S`, `exponential:S[:MAX]` or `sidekiq`; S and MAX in seconds, decimals allowed.

    With `@failures` at its end it is not for leases that ran out. Raises InvalidArgumentError("invalid backoff").
    """
    text = text.strip().lower()
    name, *numbers = text.removesuffix(FAILURES_ONLY).split(":")
    failures_only = text.endswith(FAILURES_ONLY)
    allowed = {"none": (0,), "sidekiq": (0,), "fixed": (1,), "linear": (1,), "exponential": (1, 2)}.get(name)
    if allowed is None or len(numbers) not in allowed:
        raise InvalidArgumentError("invalid backoff")
    seconds = [_seconds(number) for number in numbers]
    kind = BackoffKind[name.upper()]
    if not seconds:
        return Backoff(kind=kind, failures_only=failures_only)
    cap_s = seconds[1] if len(seconds) == 2 else max(DEFAULT_CAP_S, seconds[0])
    return Backoff(
        kind=kind,
        base_ms=round(seconds[0] * 1000),
        cap_ms=round(cap_s * 1000) if kind is BackoffKind.EXPONENTIAL else 0,
        failures_only=failures_only,
    )


def _seconds(text: str) -> float:
    if not text.replace(".", "", 1).isdigit() or not text.isascii():
        raise InvalidArgumentError("invalid backoff")
    seconds = float(text)
    if not 0 < seconds <= SECONDS_MAX:
        raise InvalidArgumentError("invalid backoff")
    return seconds
