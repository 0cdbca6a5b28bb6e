"""What all runners of endpoints in a process share: engines, policies, HTTP clients and memory for bodies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from queues.engine import AsyncEngine, RequestLimit
from queues.http_client import HttpClient
from queues.services.policies import EffectivePolicy
from queues.services.push.endpoint_plans import PushJob


class Bodies:
    """Bytes of bodies that all endpoints of this process hold. A full budget leaves each endpoint one job at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerContext:
    """What runners need of their process."""

    consumer: str
    bodies: Bodies
    engine: Callable[[str], Awaitable[AsyncEngine]]
    policy: Callable[[PushJob], Awaitable[EffectivePolicy]]
    client: Callable[[PushJob], HttpClient]
    on_gone: Callable[[PushJob, str], None]
    """Called once when the receiver has answered 410, after the runner has stopped consuming."""


def rate_limit_of(endpoint: PushJob) -> RequestLimit | None:
    """The rate as a limit that Redis counts for all pushers, in windows of one to two seconds, or of one request."""
    rate = endpoint.rate_per_s
    if rate is None:
        return None
    allowance = max(1, int(rate))
    return RequestLimit(
        token_id=f"push-{endpoint.pk}", kind="read", allowance=allowance, interval_ms=round(1000 * allowance / rate)
    )
