"""What charts show beside the numbers: incidents, pauses and deploys, to those who may see them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from queues.models import Activity, Deploy, Incident, Namespace
from queues.services.chart_events import EVENTS_MAX, INCIDENTS_MAX
from queues.services.deploys import DEPLOYS_KEPT, note_deploy

from .people import BANK, SHOP, People

pytestmark = pytest.mark.django_db


def events(browser: Client, query: str = "range=1h") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = browser.get(f"/overview/charts?{query}").json()["events"]
    return found


def minutes_ago(minutes: float) -> Any:
    return timezone.now() - timedelta(minutes=minutes)


def open_incident(namespace: str, queue: str, *, since_min: float, **fields: Any) -> Incident:
    scope = Namespace.objects.get(name=namespace)
    given = {"kind": "jobs_dying", "severity": "critical", "worst": "critical"} | fields
    return Incident.objects.create(
        pool="default", namespace=namespace, queue=queue, scope=scope, since=minutes_ago(since_min), **given
    )


def act(action: str, queue: str, minutes: float, *, namespace: str = SHOP) -> None:
    scope = Namespace.objects.get(name=namespace)
    Activity.objects.create(
        action=action, who="bob", pool="default", namespace=namespace, queue=queue, scope=scope, at=minutes_ago(minutes)
    )


def test_incidents_that_touch_the_time_are_shown_with_their_ends(people: People) -> None:
    lasting = open_incident(SHOP, "orders", since_min=100, severity="warning", worst="warning")
    over = open_incident(SHOP, "mails", since_min=40, resolved_at=minutes_ago(20))
    open_incident(SHOP, "before", since_min=400, resolved_at=minutes_ago(90))
    open_incident(SHOP, "small", since_min=10, severity="info", worst="info")
    open_incident(BANK, "loans", since_min=10)

    found = events(people.alice.browser)

    assert [(one["title"], one["severity"], one["until"] is None, one["url"]) for one in found] == [
        ("orders: Dead letters", "warning", True, f"/incidents/{lasting.pk}/"),
        ("mails: Dead letters", "critical", False, f"/incidents/{over.pk}/"),
    ]
    assert found[1]["until"] - found[1]["at"] == pytest.approx(20 * 60_000, abs=1_000)
    assert [one["title"] for one in events(people.charlie.browser)] == ["loans: Dead letters"]


def test_a_pause_lasts_until_it_is_resumed(people: People) -> None:
    act("resumed", "others", 50)
    act("paused", "orders", 45)
    act("paused", "mails", 40)
    act("resumed", "orders", 30)
    act("paused", "orders", 5)
    act("paused", "loans", 5, namespace=BANK)

    found = [(one["kind"], one["title"], one["until"] is None) for one in events(people.alice.browser)]

    assert found == [
        ("pause", "orders paused by bob", False),
        ("pause", "mails paused by bob", True),
        ("pause", "orders paused by bob", True),
    ]


def test_a_deploy_is_noted_once_a_minute_and_shown_where_its_namespace_is(people: People) -> None:
    first, is_new = note_deploy(pool="default", namespace=SHOP, version="v1.2")
    again, is_new_again = note_deploy(pool="default", namespace=SHOP, version="v1.2")
    note_deploy(pool="default", namespace=BANK, version="b7")

    assert (first, is_new, is_new_again) == (again, True, False)
    assert [(one["kind"], one["at"], one["title"]) for one in events(people.alice.browser)] == [
        ("deploy", first.at_ms, f"{SHOP}: v1.2 deployed")
    ]
    Deploy.objects.update(at=minutes_ago(2))
    assert note_deploy(pool="default", namespace=SHOP, version="v1.2")[1], "a rollback, or another deploy of it"


def test_a_namespace_keeps_its_newest_deploys(people: People) -> None:
    place = Namespace.objects.get(name=SHOP)
    Deploy.objects.bulk_create([Deploy(namespace=place, version=f"v{number}") for number in range(DEPLOYS_KEPT + 3)])

    note_deploy(pool="default", namespace=SHOP, version="latest")

    kept = [deploy.version for deploy in Deploy.objects.order_by("-pk")]
    assert (len(kept), kept[0], kept[1]) == (DEPLOYS_KEPT, "latest", f"v{DEPLOYS_KEPT + 2}")


def test_an_answer_has_a_bounded_number_of_events(people: People) -> None:
    for number in range(INCIDENTS_MAX + 5):
        open_incident(SHOP, f"q{number}", since_min=30)
        act("paused", f"q{number}", number + 1)

    told = people.alice.browser.get("/overview/charts?range=1h").json()

    assert len(told["events"]) == EVENTS_MAX
    assert told["events_left_out"]
