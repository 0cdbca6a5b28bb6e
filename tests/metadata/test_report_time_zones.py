"""Time zones of namespaces: which of their days are reported when, and what of them gets into the database."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.test import override_settings
from django.utils import timezone

from queues.lake.local_days import LocalDay
from queues.models import Namespace, Pool, QueueDay, ReportDay
from queues.services.reporting.making import due_days as due_days_module
from queues.services.reporting.making.due_days import today_is_due
from queues.services.reporting.making.local_days import local_days_of
from queues.services.reporting.making.running import Order, make_report
from tests.support.reports import figures, write_report

from .reporting import DAY, TABLES, Place, add_day

pytestmark = pytest.mark.django_db(transaction=True)

BERLIN = "Europe/Berlin"


def add_namespace(name: str, time_zone: str = "") -> Namespace:
    pool = Pool.objects.get_or_create(name="default", defaults={"url": settings.REDIS_URL})[0]
    namespace = Namespace.objects.create(pool=pool, name=name, time_zone=time_zone)
    Namespace.objects.update(created=at("2026-01-01"))  # earlier than the days of reports
    return namespace


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def days(day: date, now: str) -> list[tuple[str, bool, list[str]]]:
    """(local day, whether it is complete, names of namespaces)."""
    found = local_days_of(day, now=at(now))
    return [(f"{one.day}", one.is_complete, sorted(name for _, name in one.zones)) for one in found]


def test_a_change_of_the_zone_holds_from_the_next_day_on(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = add_namespace("orders")
    monkeypatch.setattr(timezone, "now", lambda: at("2026-03-10T23:30"))  # it is the 11th in Berlin

    orders.time_zone = BERLIN
    orders.save(update_fields=["time_zone"])
    orders.refresh_from_db()

    assert [orders.time_zone_on(date(2026, 3, day)) for day in (10, 11, 12)] == ["", "", BERLIN]
    orders.time_zone = "Asia/Tokyo"
    orders.save()
    assert orders.time_zone_changes == [["2026-03-12", "Asia/Tokyo"]]
    monkeypatch.setattr(timezone, "now", lambda: at("2026-03-20T12:00"))
    orders.time_zone = ""
    orders.save()
    assert [orders.time_zone_on(date(2026, 3, day)) for day in (11, 12, 20, 21)] == ["", "Asia/Tokyo", "Asia/Tokyo", ""]


def test_a_new_namespace_has_its_zone_always_and_a_wrong_one_is_refused() -> None:
    assert add_namespace("orders", BERLIN).time_zone_on(date(1970, 1, 1)) == BERLIN
    with pytest.raises(ValidationError, match="Unknown time zone"):
        Namespace(name="x", pool=Pool.objects.get(), time_zone="Mars/Olympus").full_clean()


@override_settings(TASKQ_LAKE_EVERY_S=10)
def test_a_local_day_is_reported_with_the_day_of_utc_in_which_it_ends() -> None:
    add_namespace("none")
    for name, zone in (("berlin", BERLIN), ("york", "America/New_York"), ("shanghai", "Asia/Shanghai")):
        add_namespace(name, zone)

    ended = [("2026-03-28", True, ["york"]), ("2026-03-29", True, ["berlin", "shanghai"])]
    assert days(DAY, "2026-03-30T00:00:30") == ended
    assert days(DAY, "2026-03-29T15:00") == [
        ("2026-03-28", True, ["york"]),
        ("2026-03-29", False, ["berlin", "shanghai", "york"]),
    ]
    # At 16:00 it is midnight in Shanghai, and the last events are in the lake a while later.
    assert ("2026-03-29", True, ["shanghai"]) not in days(DAY, "2026-03-29T16:00:39")
    assert days(DAY, "2026-03-29T16:00:40")[1:] == [
        ("2026-03-29", False, ["berlin", "york"]),
        ("2026-03-29", True, ["shanghai"]),
        ("2026-03-30", False, ["shanghai"]),
    ]


@override_settings(TASKQ_LAKE_EVERY_S=10)
def test_what_is_reported_as_a_whole_is_computed_again_in_the_night_only() -> None:
    shanghai = add_namespace("shanghai", "Asia/Shanghai")
    QueueDay.objects.create(
        day=add_day(), scope=shanghai, pool="default", namespace="shanghai", local_date=DAY, complete=True
    )

    assert days(DAY, "2026-03-29T17:00") == [("2026-03-30", False, ["shanghai"])]
    assert days(DAY, "2026-03-30T00:15") == [("2026-03-29", True, ["shanghai"])]


@override_settings(TASKQ_REPORT_TODAY_EVERY_S=0, TASKQ_LAKE_EVERY_S=10)
def test_without_reports_of_today_a_day_that_has_ended_is_reported_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_days_module, "can_compute", lambda: True)
    (tmp_path / "date=2026-03-29" / "hour=00").mkdir(parents=True)
    with override_settings(TASKQ_LAKE_URL=str(tmp_path)):
        assert not today_is_due(at("2026-03-29T22:01"))
        add_namespace("berlin", BERLIN)

        assert not today_is_due(at("2026-03-29T22:00:30"))
        assert today_is_due(at("2026-03-29T22:00:40"))
        day = add_day()
        ReportDay.objects.filter(pk=day.pk).update(claimed_at=at("2026-03-29T22:00:50"))
        assert not today_is_due(at("2026-03-29T23:00"))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(root=tmp_path)
    with override_settings(TASKQ_LAKE_URL=str(tmp_path / "lake"), TASKQ_REPORTS_URL=str(place.out)):
        yield place


def plan(place: Place, local: LocalDay, published: int) -> None:
    """Have the stand-in write a day of UTC with 3 jobs, and a local day with so many."""
    tables: dict[str, list[dict[str, Any]]] = {"figures": [figures(queue, published=published) for queue in ("", "q")]}
    folder = write_report(place.root / f"utc-{published}", DAY, "prepared", TABLES, local=[local.as_dict()])
    of_zone = write_report(place.root / f"local-{published}", DAY, "prepared", tables)
    shutil.copytree(of_zone, folder / local.folder)
    place.plan(report=str(folder))


def make(place: Place) -> None:
    make_report(day=DAY, order=Order(stop=threading.Event(), command=place.command))


def test_a_namespace_with_a_zone_gets_rows_of_its_day_beside_those_of_utc(place: Place) -> None:
    orders = add_namespace("orders", BERLIN)
    zones = {("default", "orders"): BERLIN}
    so_far = LocalDay(day=DAY, is_complete=False, zones=zones)
    plan(place, so_far, 5)
    make(place)

    columns = ("queue", "local_date", "time_zone", "is_own", "complete", "published", "scope")
    own = QueueDay.objects.filter(is_own=True).order_by("queue")
    assert [*own.values_list(*columns)] == [(queue, DAY, BERLIN, True, False, 5, orders.pk) for queue in ("", "q")]
    assert {*QueueDay.objects.filter(is_own=False).values_list("local_date", "published")} == {(None, 3)}
    (folder,) = place.out.glob("date=*/run=*")
    asked = json.loads((folder / "summary.json").read_text())["asked"]
    assert not Path(asked["--local"]).exists()

    plan(place, LocalDay(day=DAY, is_complete=True, zones=zones), 7)
    make(place)

    assert [*own.values_list("complete", "published")] == [(True, 7)] * 2


def test_rows_of_a_local_day_that_the_run_does_not_tell_of_stay(place: Place) -> None:
    orders = add_namespace("orders", BERLIN)
    tomorrow = DAY + timedelta(days=1)
    QueueDay.objects.create(
        day=add_day(events=0), scope=orders, pool="default", namespace="orders", local_date=tomorrow, time_zone=BERLIN
    )
    plan(place, LocalDay(day=DAY, is_complete=True, zones={("default", "orders"): BERLIN}), 5)

    make(place)

    assert {*QueueDay.objects.values_list("local_date", flat=True)} == {None, DAY, tomorrow}
