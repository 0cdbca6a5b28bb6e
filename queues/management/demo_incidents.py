"""Incidents on demand, for a local installation: each scenario puts real jobs into queues, by the HTTP API.

A scenario that needs somebody to hold it (a consumer that is too slow, a pump that is stopped) goes on until it is told
to stop. `clear` deletes the queues again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from queues.models import DEFAULT_POOL, Namespace, QueuePolicy

from .demo_load import Client, ServiceAwayError
from .demo_outages import (
    FLOODED,
    CannotSeedError,
    Installation,
    drop_events,
    fail_report,
    forget_failed_reports,
    stop_pumps,
    stop_redis,
)

TENANTS: Final = 40
SLOW_OBJECTIVE_S: Final = 5
BATCH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """`seed` makes it; `hold`, where there is one, keeps it up until the event is set. `within_s`: until it is seen.
    `undo`: takes back what is not in queues."""

    title: str
    queues: tuple[str, ...]
    seed: Callable[[Installation], None]
    hold: Callable[[Installation, threading.Event], None] | None = None
    undo: Callable[[], None] | None = None
    within_s: int = 10


def clear(installation: Installation, scenario: Scenario) -> int:
    """Delete the scenario's queues with all that is in them. How many."""
    client = installation.client()
    for queue in scenario.queues:
        client.destroy(queue)
    if scenario.undo is not None:
        scenario.undo()
    return len(scenario.queues)


def _publish(client: Client, queue: str, jobs: int, **options: str | float) -> None:
    for first in range(0, jobs, BATCH):
        bodies = [{"number": number} for number in range(first, min(first + BATCH, jobs))]
        client.publish_all(queue, bodies, **options)


def _bury(client: Client, queue: str, errors: Mapping[str, int]) -> None:
    """So many jobs that die of each error."""
    for error, jobs in errors.items():
        _publish(client, queue, jobs, tries=1)
        for _ in range(jobs):
            job = client.consume(queue, ttr=60)
            if job is None:
                raise CannotSeedError(f"{queue}: somebody else consumes it")
            client.fail(job, error)


def _no_consumer(installation: Installation) -> None:
    _publish(installation.client(), "invoices-eu", 300, tries=3)


def _dying(installation: Installation) -> None:
    _bury(installation.client("mailer-1"), "mails", {"550 no such host": 25, "ValueError: no recipient": 15})


def _webhooks_dead(installation: Installation) -> None:
    errors = {"502 Bad Gateway": 70, "no answer in time (15 s)": 35, "410 Gone": 15}
    _bury(installation.client("pusher-1"), "webhooks", errors)


def _expiring_leases(installation: Installation) -> None:
    client = installation.client("crasher-1")
    _publish(client, "thumbnails", 30, tries=5)
    for _ in range(30):
        client.consume("thumbnails", ttr=1)  # and is never heard of again


def _slow(installation: Installation) -> None:
    client = installation.client("slow-1")
    _publish(client, "exports", 200, tries=3)
    _set_objective(installation, "exports", SLOW_OBJECTIVE_S)
    client.consume("exports", ttr=600)  # and takes ten minutes for it


def _work_slowly(installation: Installation, stopping: threading.Event) -> None:
    client = installation.client("slow-2")
    while not stopping.wait(5.0):
        with suppress(ServiceAwayError):
            job = client.consume("exports", ttr=60)
            if job is not None:
                client.delete("exports", job.job_id)


def _paused(installation: Installation) -> None:
    client = installation.client()
    _publish(client, "newsletter-drafts", 50, tries=3)
    client.pause("newsletter-drafts")


TENANT_QUEUES: Final = tuple(f"tenant-{number:02}" for number in range(1, TENANTS + 1))


def _tenants(installation: Installation) -> None:
    client = installation.client()
    for number, queue in enumerate(TENANT_QUEUES):
        _publish(client, queue, 1 + number % 2, tries=3)


def _set_objective(installation: Installation, queue: str, seconds: int) -> None:
    owner = Namespace.objects.filter(pool__name=DEFAULT_POOL, name=installation.namespace).first()
    if owner is None:
        raise CannotSeedError(f"the database has no namespace {installation.namespace}: is it this installation's?")
    QueuePolicy.objects.update_or_create(namespace=owner, queue=queue, defaults={"objective_s": seconds})


def _nothing(_installation: Installation) -> None:
    """There is nothing to put in: what makes the incident is held."""


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "no_consumer": Scenario(
        title="300 ready jobs that nobody consumes", queues=("invoices-eu",), seed=_no_consumer, within_s=30
    ),
    "dying": Scenario(title="a queue whose every job dies", queues=("mails",), seed=_dying),
    "webhooks_dead": Scenario(title="120 dead webhooks", queues=("webhooks",), seed=_webhooks_dead),
    "expiring_leases": Scenario(title="consumers that crash", queues=("thumbnails",), seed=_expiring_leases),
    "slow": Scenario(
        title="a queue that misses its objective", queues=("exports",), seed=_slow, hold=_work_slowly, within_s=20
    ),
    "tenants": Scenario(
        title=f"{TENANTS} small tenants without consumers", queues=TENANT_QUEUES, seed=_tenants, within_s=30
    ),
    "paused": Scenario(title="a paused queue with a backlog", queues=("newsletter-drafts",), seed=_paused),
    "pump_away": Scenario(
        title="no pump: stops that of this machine until Ctrl-C",
        queues=(),
        seed=_nothing,
        hold=stop_pumps,
        within_s=30,
    ),
    "redis_away": Scenario(
        title="Redis does not answer: stops that of this machine until Ctrl-C",
        queues=(),
        seed=_nothing,
        hold=stop_redis,
        within_s=15,
    ),
    "events_dropped": Scenario(
        title="events that no pump wrote to the lake in time; the incident is over a day later",
        queues=(FLOODED,),
        seed=drop_events,
        within_s=20,
    ),
    "report_failed": Scenario(
        title="a report whose Spark master does not answer",
        queues=(),
        seed=fail_report,
        undo=forget_failed_reports,
        within_s=90,
    ),
}


def describe() -> str:
    """All scenarios, one a line."""
    width = max(map(len, SCENARIOS))
    return "\n".join(f"{name.ljust(width)}  {scenario.title}" for name, scenario in SCENARIOS.items())
