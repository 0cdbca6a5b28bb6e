"""Who looks when: pumps, the pages process where no pump does, and what becomes of faults and old rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from django.utils.translation import override

from queues.models import (
    AlertChannel,
    AlertDelivery,
    Incident,
    IncidentKind,
    IncidentLook,
    Namespace,
    ObjectiveWindow,
    Pool,
    QueuePolicy,
)
from queues.pump.incidents import IncidentChores
from queues.services.incident_watch import running, watch
from queues.services.incident_watch.detectors import look_at_objectives
from queues.services.incident_watch.running import EVERY, IDLE_EVERY
from queues.services.incidents.alerts.sending import KEPT as ALERTS_KEPT
from queues.services.incidents.alerts.sending import prune_alerts
from queues.services.incidents.findings import Finding, Look
from queues.services.incidents.lines import line_of_row
from queues.services.incidents.recording import KEPT, prune_incidents, record_look
from queues.services.incidents.wording import say

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shop(transactional_db: None) -> Namespace:
    pool, _ = Pool.objects.get_or_create(name="default")
    return Namespace.objects.create(pool=pool, name="shop")


def kinds() -> list[str]:
    return sorted(Incident.objects.values_list("kind", flat=True))


def test_the_pages_process_leaves_the_looks_to_pumps_while_there_are_any(shop: Namespace) -> None:
    IncidentLook.objects.create(subject="default", looked_at=timezone.now() - EVERY)

    running._look_if_idle()

    assert kinds() == []


def test_without_a_pump_it_looks_itself_and_finds_that_there_is_none(shop: Namespace) -> None:
    IncidentLook.objects.create(subject="default", looked_at=timezone.now() - IDLE_EVERY)

    running._look_if_idle()

    assert kinds() == ["pump_away"]
    assert Incident.objects.get().scope is None, "it concerns the whole pool"


def test_each_look_of_a_pump_is_taken_once(shop: Namespace) -> None:
    running.watch_pools()
    looked_at = IncidentLook.objects.get(subject="default").looked_at
    running.watch_pools()

    assert kinds() == ["pump_away"], "this test has none"
    assert IncidentLook.objects.get(subject="default").looked_at == looked_at


def test_what_goes_wrong_is_logged_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []

    def fail() -> None:
        calls.append("look")
        raise RuntimeError("the database is away")

    chores = IncidentChores(watch=fail, send=lambda: calls.append("send"))
    with caplog.at_level("WARNING", logger="queues.pump"):
        for _ in range(3):
            chores.look()
            chores.send()

    assert calls.count("send") == 3, "alerts do not wait for looks"
    assert calls.count("look") >= 1
    assert len([record for record in caplog.records if "fails" in record.message]) == 1


def burning(shop: Namespace, now: datetime, *, late: int = 60, total: int = 100) -> None:
    """Deliveries of the last hour, of which so many came late."""
    QueuePolicy.objects.create(namespace=shop, queue="orders", objective_s=30)
    end_s = int(now.timestamp()) // 300 * 300
    counts = {"cells": {str(end_s - 300): [late, total]}, "hours": {}}
    ObjectiveWindow.objects.create(
        namespace=shop, queue="orders", counts=counts, recorded_until=datetime.fromtimestamp(end_s, UTC)
    )


def test_an_error_budget_that_burns_too_fast_is_an_incident(shop: Namespace) -> None:
    now = timezone.now()
    burning(shop, now)

    look = look_at_objectives("default", now)

    assert look is not None
    record_look(look, now=now)
    row = Incident.objects.get()
    assert (row.kind, row.queue, row.size, row.share) == ("objective_burn", "orders", 60, 0.6)
    line = line_of_row(row)
    assert "60 of 100 deliveries came later than after 30 s" in line.sentence
    with override("zh-hans"):
        assert "60" in line.sentence
        assert "deliveries" not in line.sentence


def test_an_error_budget_burns_since_the_first_late_deliveries_not_since_before_there_were_any(shop: Namespace) -> None:
    now = timezone.now()
    burning(shop, now)

    look = look_at_objectives("default", now)

    assert look is not None
    (finding,) = look.findings
    counted = ObjectiveWindow.objects.get()
    assert finding.since == counted.recorded_until, "when the only five minutes with deliveries were over"


def test_who_may_not_know_how_many_events_were_dropped_is_not_told_that_there_were_none() -> None:
    assert say("events_dropped", size=0, facts={}) == "Events were dropped."
    assert say("events_dropped", size=7, facts={}) == "7 events were dropped."


def test_a_budget_that_burns_slowly_is_no_critical_incident_however_many_jobs_are_late(shop: Namespace) -> None:
    """The SRE workbook has a ticket for it. The rate is 1.2 over six hours and three days."""
    now = timezone.now()
    burning(shop, now, late=120_000, total=2_000_000)
    hour = int(now.timestamp()) // 3_600 * 3_600 - 3_600
    ObjectiveWindow.objects.update(
        counts=ObjectiveWindow.objects.get().counts | {"hours": {str(hour): [120_000, 2_000_000]}}
    )

    look = look_at_objectives("default", now)

    assert look is not None
    record_look(look, now=now)
    row = Incident.objects.get()
    assert (row.facts["severity"], row.severity) == ("ticket", "warning")


def test_while_nobody_counts_deliveries_its_incident_stays_as_it_is(shop: Namespace) -> None:
    now = timezone.now()
    burning(shop, now)

    assert look_at_objectives("default", now + timedelta(hours=1)) is None


def test_the_watch_asks_the_further_detectors(shop: Namespace) -> None:
    burning(shop, timezone.now())

    watch.look_around(now=timezone.now(), every=EVERY)

    assert kinds() == ["objective_burn", "pump_away"]


def finding(now: datetime, **changes: Any) -> Look:
    chosen: dict[str, Any] = {
        "kind": IncidentKind.NO_CONSUMER,
        "pool": "default",
        "namespace": "shop",
        "queue": "q",
        "size": 9,
    }
    return Look(pool="default", kinds=frozenset(IncidentKind), findings=(Finding(**chosen | changes, since=now),))


def test_old_incidents_and_alerts_are_forgotten(shop: Namespace) -> None:
    now = timezone.now()
    channel = AlertChannel.objects.create(name="x", transport="slack", url="https://example.org/", min_severity="info")
    record_look(finding(now), now=now)
    Incident.objects.update(resolved_at=now)
    record_look(finding(now, queue="open"), now=now)
    assert AlertDelivery.objects.filter(channel=channel).count() == 2

    assert (prune_incidents(now=now + KEPT), prune_alerts(now=now + ALERTS_KEPT)) == (0, 0)
    later = timedelta(seconds=1)
    assert prune_alerts(now=now + ALERTS_KEPT + later) == 2
    assert prune_incidents(now=now + KEPT + later) == 1
    assert list(Incident.objects.values_list("queue", flat=True)) == ["open"], "an open one is never forgotten"
