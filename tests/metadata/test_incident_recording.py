"""Incidents open, grow, are resolved and reopened; two watches make one of what both find."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from queues.models import Incident, IncidentChange, IncidentKind, IncidentLook, Namespace, Pool
from queues.services.incident_watch import watch
from queues.services.incidents import reading, recording
from queues.services.incidents.findings import Finding, Look
from queues.services.incidents.recording import (
    POINTS_MAX,
    REOPEN_WITHIN,
    RESOLVE_AFTER_LOOKS,
    Recorded,
    record_look,
    resolve_gone_pools,
)

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 25, 10, 21, tzinfo=UTC)
KINDS = frozenset({IncidentKind.JOBS_DYING, IncidentKind.NO_CONSUMER})


@pytest.fixture
def shop(db: None) -> Namespace:
    return Namespace.objects.create(pool=Pool.objects.get(name="default"), name="shop")


def dead(size: int = 120, *, share: float = 1.0, queue: str = "webhooks", since: datetime = NOW) -> Finding:
    return Finding(
        kind=IncidentKind.JOBS_DYING,
        pool="default",
        namespace="shop",
        queue=queue,
        size=size,
        share=share,
        since=since,
        facts={"dead": size},
    )


def look(*findings: Finding, at: float = 0, pool: str = "default") -> Recorded:
    """`at`: seconds after NOW."""
    return record_look(Look(pool=pool, kinds=KINDS, findings=findings), now=NOW + timedelta(seconds=at))


def changes(row: Incident) -> list[str]:
    return list(row.changes.order_by("pk").values_list("change", flat=True))


def test_an_incident_opens_with_a_start_a_size_and_a_severity(shop: Namespace) -> None:
    assert look(dead()).opened == 1

    row = Incident.objects.get()
    assert (row.kind, row.pool, row.namespace, row.queue) == ("jobs_dying", "default", "shop", "webhooks")
    assert (row.size, row.peak_size, row.severity, row.since, row.opened_at) == (120, 120, "critical", NOW, NOW)
    assert (row.scope, row.facts, row.sizes) == (shop, {"dead": 120}, [[int(NOW.timestamp()), 120]])
    assert changes(row) == ["opened"]


def test_it_stays_open_while_its_cause_is_there_though_nothing_happens_any_more(shop: Namespace) -> None:
    """120 dead at 10:21; at 10:28 they still are, and none has died for five minutes."""
    look(dead())
    for minute in range(1, 8):
        assert look(dead(share=0.02), at=60 * minute).resolved == 0

    row = Incident.objects.get()
    assert (row.resolved_at, row.severity, row.worst) == (None, "warning", "critical")
    assert changes(row) == ["opened", "severity"]


def test_it_is_resolved_after_several_looks_without_its_cause(shop: Namespace) -> None:
    look(dead())
    for number in range(1, RESOLVE_AFTER_LOOKS):
        assert look(at=5 * number).resolved == 0
    assert look(at=60).resolved == 1

    row = Incident.objects.get()
    assert row.resolved_at == NOW + timedelta(seconds=60)
    assert row.sizes[-1] == [int(row.resolved_at.timestamp()), 0]
    assert changes(row) == ["opened", "resolved"]


def test_one_look_with_the_cause_begins_the_count_anew(shop: Namespace) -> None:
    look(dead())
    look(at=5)
    look(at=10)
    look(dead(), at=15)
    look(at=20)
    look(at=25)

    assert Incident.objects.get().resolved_at is None


def resolve(at: float = 0) -> None:
    for number in range(RESOLVE_AFTER_LOOKS):
        look(at=at + number)


def test_what_comes_back_soon_is_reopened(shop: Namespace) -> None:
    look(dead())
    Incident.objects.update(acknowledged_at=NOW, acknowledged_by="olga")
    resolve(at=5)

    assert look(dead(300), at=300) == Recorded(reopened=1)

    row = Incident.objects.get()
    assert (row.resolved_at, row.reopened, row.peak_size, row.since) == (None, 1, 300, NOW)
    assert (row.acknowledged_at, row.acknowledged_by) == (None, ""), "who saw to it thought it was over"
    assert changes(row) == ["opened", "resolved", "reopened"]


def test_what_comes_back_is_as_severe_as_it_is_now(shop: Namespace) -> None:
    """The minutes before it was resolved, and those in between, do not count."""

    def idle(since: datetime) -> Finding:
        return replace(dead(20, since=since), kind=IncidentKind.NO_CONSUMER)

    look(idle(NOW - timedelta(hours=1)))
    resolve(at=5)
    again = NOW + timedelta(seconds=280)
    look(idle(again), at=300)
    look(idle(again), at=305)

    row = Incident.objects.get()
    assert (row.since, row.severity, row.worst) == (again, "info", "critical")
    assert changes(row) == ["opened", "resolved", "reopened"]


def test_what_comes_back_late_is_a_new_one(shop: Namespace) -> None:
    look(dead())
    resolve(at=5)

    assert look(dead(), at=10 + REOPEN_WITHIN.total_seconds()) == Recorded(opened=1)
    assert Incident.objects.count() == 2


def test_a_look_says_nothing_of_other_pools_and_kinds(shop: Namespace) -> None:
    look(dead())
    other = frozenset({IncidentKind.REDIS_AWAY})
    for number in range(5):
        record_look(Look(pool="default", kinds=other, findings=()), now=NOW + timedelta(seconds=number))
        look(at=number, pool="elsewhere")

    row = Incident.objects.get()
    assert (row.resolved_at, row.missed) == (None, 0)


def test_peak_and_size_follow_what_is_found(shop: Namespace) -> None:
    look(dead(10))
    look(dead(500), at=5)  # has grown: at once
    look(dead(499), at=6)  # hardly anything, and a moment ago
    assert Incident.objects.get().size == 500
    look(dead(40), at=60)

    row = Incident.objects.get()
    assert (row.size, row.peak_size, row.peak_at) == (40, 500, NOW + timedelta(seconds=5))


def test_the_chart_of_sizes_is_bounded(shop: Namespace) -> None:
    look(dead(10))
    Incident.objects.update(sizes=[[number, 1] for number in range(POINTS_MAX)])
    look(dead(20), at=60)

    points = Incident.objects.get().sizes
    assert (len(points), points[0], points[-1]) == (POINTS_MAX // 2 + 1, [0, 1], [int(NOW.timestamp()) + 60, 20])


def test_the_database_refuses_a_second_open_incident_of_a_subject(shop: Namespace) -> None:
    look(dead())
    row = Incident.objects.get()
    row.pk = None

    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


def test_of_two_pumps_that_look_at_the_same_moment_one_opens(shop: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one has read before the first has written: its look is undone as a whole."""
    look(dead())
    monkeypatch.setattr(Incident.objects, "select_for_update", Incident.objects.none)

    assert look(dead(), dead(queue="other")) == Recorded()

    monkeypatch.undo()
    assert list(Incident.objects.values_list("queue", flat=True)) == ["webhooks"]
    assert IncidentChange.objects.count() == 1
    assert look(dead(), dead(queue="other"), at=5) == Recorded(opened=1)


def test_too_many_open_the_worst(shop: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "OPEN_MAX", 2)
    monkeypatch.setattr(recording, "ALWAYS_OPEN", 0)

    look(dead(1, queue="a"), dead(9, queue="b"), dead(5, queue="c"))

    assert set(Incident.objects.values_list("queue", flat=True)) == {"b", "c"}


def test_a_namespace_with_too_many_hides_nothing_of_others(shop: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "OPEN_MAX", 2)
    monkeypatch.setattr(recording, "ALWAYS_OPEN", 1)
    many = [dead(1, queue=queue) for queue in "abcd"]
    look(*many)
    of_bank = replace(dead(5), namespace="bank", queue="ledger")
    of_pool = Finding(kind=IncidentKind.NO_CONSUMER, pool="default", size=9, since=NOW)

    assert look(*many, of_bank, replace(of_bank, queue="other"), of_pool, at=5).opened == 2

    places = set(Incident.objects.values_list("namespace", "queue"))
    assert places == {("shop", "a"), ("shop", "b"), ("bank", "ledger"), ("", "")}


def test_of_more_than_a_page_reads_the_worst_are_read(shop: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "OPEN_READ_MAX", 2)
    look(dead(1, share=0.01, queue="info"), dead(120, share=0.02, queue="warning"), dead(queue="critical"))

    rows, left_out = reading.open_rows(user=User.objects.create_superuser("root"))

    assert ([row.queue for row in rows], left_out) == (["critical", "warning"], 1)


def test_incidents_of_pools_that_were_deleted_are_resolved(shop: Namespace) -> None:
    look(dead())

    assert resolve_gone_pools(pools=["default"], now=NOW) == 0
    assert resolve_gone_pools(pools=[], now=NOW) == 1
    assert Incident.objects.get().resolved_at == NOW


def test_an_incident_outlives_its_namespace_and_is_not_inherited(shop: Namespace) -> None:
    look(dead())
    shop.delete()

    assert Incident.objects.get().scope is None


def test_a_clock_that_was_wrong_stops_no_looks(db: None) -> None:
    every = timedelta(seconds=5)
    assert watch._take_look("default", now=NOW + timedelta(days=1), every=every)

    assert watch._take_look("default", now=NOW, every=every)
    assert not watch._take_look("default", now=NOW, every=every)


def test_each_pool_is_looked_at_by_one_of_several_processes(db: None) -> None:
    every = timedelta(seconds=5)

    taken = [watch._take_look("default", now=NOW, every=every) for _ in range(3)]

    assert taken == [True, False, False]
    assert not watch._take_look("default", now=NOW + timedelta(seconds=4), every=every)
    assert watch._take_look("default", now=NOW + timedelta(seconds=5), every=every)
    assert IncidentLook.objects.count() == 1
