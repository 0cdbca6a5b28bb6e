"""Who may read which reports: Alice's group sees `orders`, Bob's too, Charlie's sees `bank` alone."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from queues.models import Namespace, Pool, ReportDay, ReportState
from queues.services.errors import NamespaceNotFoundError
from queues.services.permissions import User as AnyUser
from queues.services.reporting.presenting.account import read_summary
from queues.services.reporting.presenting.queue_list import (
    HEAD,
    Only,
    QueueFilter,
    compare_queues,
    list_queues,
    queues_as_csv,
)
from queues.services.reporting.reading.day_reports import (
    latest_of_queue,
    list_namespaces,
    read_queue,
    read_series,
)
from queues.services.reporting.reading.days import (
    find_day,
    latest_day,
    latest_report,
    list_days,
    today,
    yesterday,
)
from queues.services.reporting.reading.merging import merge_day, merge_range
from queues.services.reporting.values import DayState, Metric, QueueRow

from .reporting import DAY, add_day, add_row

BEFORE: Final = DAY - timedelta(days=1)
EVERYTHING: Final = QueueFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    alice: User
    bob: User
    charlie: User
    root: User
    orders: Namespace
    bank: Namespace

    @property
    def nobodies(self) -> list[AnyUser]:
        return [AnonymousUser(), User.objects.create_user("dave")]


@pytest.fixture
def world(default_pool: Pool, orders: Namespace) -> World:
    """`orders` has the queues emails, sms and slow; `bank` has transfers; a namespace that is gone had old."""
    bank = Namespace.objects.create(pool=default_pool, name="bank")
    people = {}
    for name, namespace in (("alice", orders), ("bob", orders), ("charlie", bank)):
        group = Group.objects.create(name=f"{name}'s group")
        group.namespaces.add(namespace)
        people[name] = User.objects.create_user(name)
        people[name].groups.add(group)
    warnings = [{"kind": "corrupt", "text": "bank-p0001.parquet: not readable"}]
    day = add_day(warnings=warnings, events=99, files=3)
    add_row(day, scope=orders, published=60, acked=50, dead=1, hours=[{"hour": 9, "published": 60, "backlog": 4}])
    add_row(day, "emails", scope=orders, published=30, dead=1, wait_p95=100, objective_s=1, objective_met=True)
    add_row(day, "sms", scope=orders, published=20, wait_p95=5_000, objective_s=1, objective_met=False, flagged=2)
    add_row(day, "slow", scope=orders, published=10)
    add_row(day, scope=bank, published=7)
    add_row(day, "transfers", scope=bank, published=7, flagged=1, failed=3, objective_s=1, objective_met=False)
    add_row(day, scope=None, namespace="gone", published=1)
    add_row(day, "old", scope=None, namespace="gone", published=1)
    return World(**people, root=User.objects.create_superuser("root"), orders=orders, bank=bank)


def names(rows: tuple[QueueRow, ...]) -> list[str]:
    return [row.queue or row.namespace for row in rows]


def test_a_person_sees_the_namespaces_of_their_groups_and_a_superuser_what_is_gone_too(world: World) -> None:
    for user in (world.alice, world.bob):
        assert names(list_namespaces(user=user, day=DAY)) == ["orders"]
        assert names(list_queues(user=user, day=DAY, chosen=EVERYTHING).rows) == ["emails", "sms", "slow"]
    assert names(list_namespaces(user=world.charlie, day=DAY)) == ["bank"]
    assert names(list_namespaces(user=world.root, day=DAY)) == ["bank", "gone", "orders"]
    for nobody in world.nobodies:
        assert list_namespaces(user=nobody, day=DAY) == ()
        assert list_queues(user=nobody, day=DAY, chosen=EVERYTHING).found == 0
        assert merge_day(user=nobody, day=DAY).figures.published == 0
        assert list(queues_as_csv(user=nobody, day=DAY, chosen=EVERYTHING)) == [",".join(HEAD) + "\r\n"]


def test_anothers_namespace_is_as_good_as_none(world: World) -> None:
    place: dict[str, Any] = {"pool": "default", "namespace": "orders", "queue": "emails"}
    assert read_queue(user=world.alice, day=DAY, **place) is not None
    for user in (world.charlie, *world.nobodies):
        with pytest.raises(NamespaceNotFoundError):
            read_queue(user=user, day=DAY, **place)
        with pytest.raises(NamespaceNotFoundError):
            latest_of_queue(user=user, **place)
        with pytest.raises(NamespaceNotFoundError):
            read_series(user=user, until=DAY, days=7, **place)
        with pytest.raises(NamespaceNotFoundError):
            merge_range(user=user, until=DAY, days=7, **place)


def test_a_filter_leads_nowhere_else(world: World) -> None:
    for chosen in (
        QueueFilter(namespace="bank"),
        QueueFilter(text="transfers"),
        QueueFilter(only=Only.FAILING, namespace="bank"),
        QueueFilter(pool="default", namespace="bank", sort="failed"),
    ):
        assert list_queues(user=world.alice, day=DAY, chosen=chosen).found == 0
        assert compare_queues(user=world.alice, day=DAY, other=BEFORE, chosen=chosen) == ((), 0)


def test_whoever_gets_a_name_that_others_had_reads_nothing_of_theirs(world: World) -> None:
    pool = world.orders.pool
    world.orders.delete()
    again = Namespace.objects.create(pool=pool, name="orders")
    again.groups.add(Group.objects.get(name="charlie's group"))

    assert names(list_namespaces(user=world.charlie, day=DAY)) == ["bank"]
    assert read_queue(user=world.charlie, day=DAY, pool="default", namespace="orders", queue="emails") is None
    assert read_queue(user=world.root, day=DAY, pool="default", namespace="orders", queue="emails") is not None


def test_what_is_about_the_installation_is_for_superusers(world: World) -> None:
    ReportDay.objects.update(error="java at bank-p0001", master="spark://secret:7077")
    everything = find_day(user=world.root, day=DAY)
    assert (everything.events, everything.files, everything.error) == (99, 3, "java at bank-p0001")
    assert everything.warnings[0].text == "bank-p0001.parquet: not readable"

    for entry in (
        find_day(user=world.alice, day=DAY),
        list_days(user=world.alice)[-1],
        latest_day(user=world.alice),
        latest_report(user=world.alice).entry,
        read_summary(user=world.alice, day=DAY).entry,
    ):
        assert entry is not None
        assert (entry.events, entry.files, entry.error, entry.master) == (None, None, "", "")
        assert [(warning.kind, warning.text) for warning in entry.warnings] == [("corrupt", "")]


def test_a_table_is_sorted_filtered_and_paged(world: World) -> None:
    def shown(page: int = 1, most: int = 50, **chosen: object) -> list[str]:
        return names(
            list_queues(user=world.alice, day=DAY, chosen=QueueFilter(**chosen), page=page, most=most).rows  # type: ignore[arg-type]
        )

    assert shown(sort="wait_p95") == ["sms", "emails", "slow"]
    assert shown(sort="wait_p95", is_descending=False) == ["emails", "sms", "slow"]
    assert shown(sort="queue", is_descending=False) == ["emails", "slow", "sms"]
    assert shown(sort="scope__groups__name") == ["emails", "sms", "slow"]
    assert shown(text="S") == ["emails", "sms", "slow"]
    assert shown(text="ms") == ["sms"]
    assert shown(only=Only.MISSED) == ["sms"]
    assert shown(only=Only.FLAGGED) == ["sms"]
    assert shown(only=Only.FAILING) == ["emails"]
    assert shown(page=2, most=2) == ["slow"]
    table = list_queues(user=world.alice, day=DAY, chosen=EVERYTHING, page=99, most=2)
    assert (table.found, table.page, table.pages, names(table.rows)) == (3, 2, 2, ["slow"])


def test_a_queue_has_all_that_the_report_says(world: World) -> None:
    report = read_queue(user=world.bob, day=DAY, pool="default", namespace="orders")
    assert report is not None
    assert report.row.figures.published == 60
    assert [(hour.hour, hour.published, hour.backlog, hour.acked) for hour in report.hours] == [(9, 60, 4, 0)]
    assert report.histograms == {metric: {} for metric in Metric}
    objective = list_queues(user=world.bob, day=DAY, chosen=QueueFilter(text="sms")).rows[0].objective
    assert objective is not None
    assert (objective.seconds, objective.is_met) == (1, False)
    assert read_queue(user=world.bob, day=DAY, pool="default", namespace="orders", queue="nothing") is None


def test_a_series_leaves_no_day_out(world: World) -> None:
    add_day(DAY - timedelta(days=2))
    series = read_series(user=world.alice, pool="default", namespace="orders", until=DAY, days=4, with_hours=True)

    assert [(one.day, one.has_report, one.row is not None) for one in series] == [
        (DAY - timedelta(days=3), False, False),
        (DAY - timedelta(days=2), True, False),
        (DAY - timedelta(days=1), False, False),
        (DAY, True, True),
    ]
    assert [hour.hour for hour in series[-1].hours] == [9]


def test_two_days_are_compared_by_name(world: World) -> None:
    other = add_day(BEFORE)
    add_row(other, scope=world.orders, published=6)
    add_row(other, "emails", scope=world.orders, published=3)
    add_row(other, "silent", scope=world.orders, published=3)
    add_row(other, "transfers", scope=world.bank, published=3)

    pairs, found = compare_queues(user=world.alice, day=DAY, other=BEFORE, chosen=EVERYTHING)
    both = [
        (one.queue, one.day and one.day.figures.published, one.other and one.other.figures.published) for one in pairs
    ]
    assert found == 4
    assert both == [("emails", 30, 3), ("sms", 20, None), ("slow", 10, None), ("silent", None, 3)]


def test_the_list_of_days_tells_missing_ones_apart(world: World) -> None:
    add_day(yesterday(), state=ReportState.FAILED, reported_at=None)
    add_day(yesterday() - timedelta(days=2), state=ReportState.RUNNING, stage="counting", share=0.5)
    days = list_days(user=world.alice, most=3)

    assert [(one.day, one.state, one.has_report) for one in days] == [
        (yesterday(), DayState.FAILED, False),
        (yesterday() - timedelta(days=1), DayState.MISSING, False),
        (yesterday() - timedelta(days=2), DayState.RUNNING, True),
    ]
    assert find_day(user=world.alice, day=date(2020, 1, 1)).state == DayState.MISSING


def test_without_any_report_there_is_no_list(db: None) -> None:
    root = User.objects.create_superuser("root")

    assert list_days(user=root) == ()
    latest = latest_report(user=root)
    assert (latest.entry, latest.age_s, latest.trouble, latest.running) == (None, None, None, None)


def test_the_latest_report_and_what_is_amiss_since(world: World) -> None:
    ReportDay.objects.filter(pk=DAY).update(reported_at=timezone.now() - timedelta(hours=2))
    add_day(yesterday(), state=ReportState.FAILED, reported_at=None, error="no Java")
    running = add_day(today(), state=ReportState.RUNNING, reported_at=None, stage="counting", share=0.5)

    latest = latest_report(user=world.root)
    assert latest.entry is not None
    assert latest.entry.day == DAY
    assert 7_100 < (latest.age_s or 0) < 7_300
    assert latest.trouble is not None
    assert (latest.trouble.day, latest.trouble.error) == (yesterday(), "no Java")
    assert latest.running is not None
    assert (latest.running.day, latest.running.stage, latest.running.share) == (today(), "counting", 0.5)

    running.beat_at -= timedelta(minutes=3)
    running.save()
    latest = latest_report(user=world.root)
    assert latest.running is None
    assert latest.trouble is not None
    assert (latest.trouble.day, latest.trouble.is_stalled) == (today(), True)


def test_csv_has_the_rows_of_the_table(world: World) -> None:
    text = "".join(queues_as_csv(user=world.alice, day=DAY, chosen=QueueFilter(only=Only.MISSED)))
    rows = list(csv.DictReader(text.splitlines()))

    assert [(row["day"], row["queue"], row["wait_p95"], row["objective_met"]) for row in rows] == [
        (DAY.isoformat(), "sms", "5000", "false")
    ]
    assert rows[0]["run_p95"] == ""


def test_what_a_page_reads_does_not_grow_with_its_queues(world: World) -> None:
    day = ReportDay.objects.get(pk=DAY)
    for number in range(30):
        add_row(day, f"more-{number}", scope=world.orders)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        list_queues(user=world.alice, day=DAY, chosen=EVERYTHING)
        list_namespaces(user=world.alice, day=DAY)
        list_days(user=world.alice)
    assert len(queries) == 4
    assert not any("histograms" in query["sql"] for query in queries.captured_queries)
