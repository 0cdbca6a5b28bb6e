"""What a pusher asks of the database: which endpoints there are, and what it notes there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from django.utils import timezone

from queues.http_client import Target, UrlError, parse_target
from queues.models import PushEndpoint
from queues.pools.database import read_metadata

from .endpoints import signing_keys
from .secrets import UnreadableSecretError

UNREADABLE: Final = "its secret cannot be read: SECRET_KEY has changed. Rotate the secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushJob:
    """An endpoint as a pusher needs it. Two that are equal deliver alike.

    `keys`: what signs, the newest first; none: `problem` says why nothing can be delivered.
    """

    pk: int
    pool: str
    namespace: str
    queue: str
    url: str
    target: Target | None
    keys: tuple[bytes, ...] = field(repr=False)
    timeout_s: int
    concurrency: int
    rate_per_s: float | None
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    is_active: bool
    problem: str = ""

    @property
    def name(self) -> str:
        """`namespace/queue`."""
        return f"{self.namespace}/{self.queue}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushPlan:
    """All endpoints that are enabled and not paused, and those for which somebody asked for a test request."""

    endpoints: tuple[PushJob, ...]
    tests: tuple[PushJob, ...]


def read_plan() -> PushPlan:
    """One query. Raises MetadataUnavailableError."""
    rows = PushEndpoint.objects.select_related("namespace__pool").order_by("pk")
    found = read_metadata(lambda: list(rows))
    jobs = [(row, _job_of(row)) for row in found if row.test_wanted_at is not None or _is_active(row)]
    return PushPlan(
        endpoints=tuple(job for _, job in jobs if job.is_active),
        tests=tuple(job for row, job in jobs if row.test_wanted_at is not None),
    )


def claim_test(*, pk: int) -> bool:
    """Whether the caller is the one that is to send the test request: of several pushers the first."""
    return bool(PushEndpoint.objects.filter(pk=pk).exclude(test_wanted_at=None).update(test_wanted_at=None))


def pause_gone(*, pk: int, url: str, reason: str) -> bool:
    """Pause an endpoint whose receiver said that it is gone; not one that has got another URL meanwhile."""
    rows = PushEndpoint.objects.filter(pk=pk, url=url, paused_at=None)
    return bool(rows.update(paused_at=timezone.now(), paused_reason=reason[:500]))


def _is_active(row: PushEndpoint) -> bool:
    return row.enabled and row.paused_at is None


def _job_of(row: PushEndpoint) -> PushJob:
    problem, keys, target = "", tuple[bytes, ...](), None
    try:
        keys = signing_keys(row.secrets)
        target = parse_target(row.url)
    except UnreadableSecretError:
        problem = UNREADABLE
    except UrlError as error:
        problem = f"its URL cannot be used: {error}"
    if not problem and not keys:
        problem = UNREADABLE
    return PushJob(
        pk=row.pk,
        pool=row.namespace.pool.name,
        namespace=row.namespace.name,
        queue=row.queue,
        url=row.url,
        target=target,
        keys=keys,
        timeout_s=row.timeout_s,
        concurrency=row.concurrency,
        rate_per_s=row.rate_per_s,
        headers=tuple(row.headers.items()),
        is_active=_is_active(row),
        problem=problem,
    )
