"""Days go from the lake by age and by size; none that a report still needs, and no report goes with them."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from queues.lake.deletion import delete_day, find_deletion
from queues.lake.files import list_days
from queues.lake.measuring import AGAIN_AFTER, LakeMeter, LakeSize, Size, measure_lake
from queues.lake.storage import Storage
from queues.models import Activity, LakeMeasurement, QueueDay, ReportDay, ReportState
from queues.pump.lake_upkeep import LakeUpkeep
from queues.services.reporting.failures import EventsGoneError
from queues.services.reporting.making import lake_retention
from queues.services.reporting.making.due_days import due_days
from queues.services.reporting.making.lake_retention import (
    DAYS_AT_ONCE,
    LakeRules,
    PrunedLake,
    needed_days,
    plan_deletions,
    prune_lake,
)
from queues.services.reporting.making.running import Order, make_report
from queues.services.reporting.making.upkeep import reopen_late_days
from queues.services.reporting.values import BACK_DAYS
from tests.support.reports import at, event, write_events, write_report
from tests.support.rows import in_one_test

from .reporting import Place, add_day, add_row

TODAY: Final = date(2026, 4, 1)


def back(days: int) -> date:
    return TODAY - timedelta(days=days)


def lake_of(sizes: dict[int, int], *, beside: int = 0) -> LakeSize:
    """Bytes by how many days ago."""
    days = {back(days): Size(1, held) for days, held in sizes.items()}
    return LakeSize(days=days, total=Size(len(days), sum(sizes.values()) + beside))


@in_one_test(
    ("rules", "doomed", "kept"),
    [
        (LakeRules(), [], []),
        (LakeRules(keep_days=5), [9, 8], [7, 6]),
        (LakeRules(keep_days=1), [9, 8, 4], [7, 6]),
        (LakeRules(max_bytes=501), [9], []),
        (LakeRules(max_bytes=401), [9, 8], []),
        (LakeRules(max_bytes=399), [9, 8, 4], [7, 6]),
        (LakeRules(max_bytes=1), [9, 8, 4], [7, 6]),
        (LakeRules(keep_days=8, max_bytes=480), [9, 8], []),
        (LakeRules(before=back(8)), [9], []),
        (LakeRules(before=TODAY + timedelta(days=9)), [9, 8, 4], [7, 6]),
    ],
)
def test_the_oldest_go_first_and_what_reports_need_stays(rules: LakeRules, doomed: list[int], kept: list[int]) -> None:
    lake = lake_of({9: 100, 8: 100, 7: 100, 6: 100, 4: 100, 1: 90, 0: 5, -2: 5}, beside=1)
    plan = plan_deletions(lake=lake, rules=rules, needed=frozenset({back(7), back(6)}), today=TODAY)

    assert ([one.day for one in plan.doomed], list(plan.kept)) == ([back(n) for n in doomed], [back(n) for n in kept])
    assert plan.bytes == 601 - 100 * len(doomed)


pytestmark = pytest.mark.django_db


def test_a_day_is_needed_until_its_report_and_the_next_days_are_made() -> None:
    for days in (3, 4, 5, 6, 7, 8, 10, BACK_DAYS + 1, BACK_DAYS + 4):
        add_day(back(days))
    ReportDay.objects.filter(pk=back(5)).update(state=ReportState.FAILED)
    ReportDay.objects.filter(pk=back(8)).update(complete=False)
    ReportDay.objects.filter(pk=back(BACK_DAYS + 4)).update(state=ReportState.RUNNING)
    old = [BACK_DAYS, BACK_DAYS + 1, BACK_DAYS + 2, BACK_DAYS + 3, BACK_DAYS + 4, BACK_DAYS + 5]

    needed = needed_days([back(days) for days in (*range(3, 12), *old)], today=TODAY)

    # 2 has none, 9 and 11 neither; what ended longer ago gets none by itself, but one may be made just now.
    assert needed == {back(days) for days in (3, 5, 6, 8, 9, 10, 11, *old[:2], *old[4:])}


def test_days_do_not_wait_for_reports_where_nobody_makes_any(monkeypatch: pytest.MonkeyPatch) -> None:
    days = [back(number) for number in range(3, 9)]
    monkeypatch.setattr(lake_retention, "can_compute", lambda: False)

    assert needed_days(days, today=TODAY) == frozenset()
    ReportDay.objects.filter(pk=add_day(back(BACK_DAYS + 2)).pk).update(state=ReportState.RUNNING)
    assert needed_days([*days, back(BACK_DAYS + 2)], today=TODAY) == {back(BACK_DAYS + 2)}
    add_day(back(5))  # by another host
    assert needed_days(days, today=TODAY) == {back(number) for number in (3, 4, 5, 6, 7, 8)}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A lake of ten days, all but today's reported, and hour cells of each."""
    place = Place(root=tmp_path)
    for days in range(10):
        write_events(tmp_path / "lake", [event("published", at(back(days), 9), job="01J")])
        (place.out / "cells" / f"date={back(days)}").mkdir(parents=True)
        (place.out / "cells" / f"date={back(days)}" / "hour=09.parquet").touch()
        if days:
            write_report(place.out, back(days), "earlier", {}, lake_rows=1)
            add_row(add_day(back(days), events=1), scope=None, namespace="orders")
    with override_settings(TASKQ_LAKE_URL=str(tmp_path / "lake"), TASKQ_REPORTS_URL=str(place.out)):
        yield place


def lake_days(place: Place) -> list[int]:
    return sorted((TODAY - day).days for day in list_days(str(place.root / "lake")))


def cells(place: Place) -> list[int]:
    return sorted((TODAY - date.fromisoformat(path.name[5:])).days for path in (place.out / "cells").iterdir())


def test_by_default_everything_is_kept_and_the_size_is_noted(place: Place) -> None:
    assert prune_lake(today=TODAY) == PrunedLake(deleted=[], kept=())

    size = measure_lake(str(place.root / "lake"))
    row = LakeMeasurement.objects.get()
    assert (row.days, row.first_day, row.files, row.bytes) == (10, back(9), 10, size.total.bytes)


def test_a_pump_lists_days_that_have_settled_once_a_day_only(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    walk = Storage.walk

    def note(self: Storage, folder: str = "") -> Iterator[tuple[str, int]]:
        listed.append(folder)
        return walk(self, folder)

    monkeypatch.setattr(Storage, "walk", note)
    meter, lake = LakeMeter(str(place.root / "lake")), place.root / "lake"
    assert meter.measure(today=TODAY) == measure_lake(str(lake))
    (lake / f"date={back(9)}" / "hour=09" / "late.parquet").write_bytes(b"12345")
    (lake / f"date={back(1)}" / "hour=09" / "late.parquet").write_bytes(b"12345")
    listed.clear()

    size = meter.measure(today=TODAY)

    assert listed == [f"date={back(number)}" for number in (3, 2, 1, 0)]
    assert [size.days[back(number)].files for number in (9, 1)] == [1, 2]
    Storage(str(lake)).delete_tree(f"date={back(8)}")
    assert back(8) not in meter.measure(today=TODAY).days
    listed.clear()
    for _ in range(AGAIN_AFTER):
        size = meter.measure(today=TODAY)
    assert listed.count(f"date={back(9)}") == listed.count(f"date={back(7)}") == 1
    assert size == measure_lake(str(lake))


def test_old_days_go_with_their_cells_and_reports_stay(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(TASKQ_LAKE_KEEP_DAYS=5), caplog.at_level(logging.INFO):
        deleted = prune_lake(today=TODAY).deleted

    assert [one.day for one in deleted] == [back(9), back(8), back(7), back(6)]
    assert lake_days(place) == cells(place) == [0, 1, 2, 3, 4, 5]
    assert ReportDay.objects.filter(state=ReportState.DONE).count() == QueueDay.objects.count() == 9
    assert (place.out / f"date={back(9)}" / "run=earlier" / "summary.json").exists()
    told = [record.__dict__ for record in caplog.records if record.__dict__.get("action") == "lake.delete"]
    assert [(one["day"], one["reason"], one["files"]) for one in told] == [
        (str(back(days)), "older than 5 days", 1) for days in (9, 8, 7, 6)
    ]
    noted = Activity.objects.filter(action="lake_day_deleted").order_by("pk")
    assert [(row.who, row.target, row.count) for row in noted] == [
        ("manage.py", str(back(days)), 1) for days in (9, 8, 7, 6)
    ]
    assert noted[0].detail == f"older than 5 days, {deleted[0].bytes} bytes"
    row = LakeMeasurement.objects.get()
    assert (row.days, row.first_day) == (6, back(5))
    assert row.bytes == sum(size.bytes for size in measure_lake(str(place.root / "lake")).days.values())


def test_a_host_whose_clock_is_ahead_does_not_take_young_days_for_old(tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    add_day(today - timedelta(days=3))
    add_day(today - timedelta(days=2))
    write_events(tmp_path / "lake", [event("published", at(today - timedelta(days=3), 9), job="01J")])
    urls = {"TASKQ_LAKE_URL": str(tmp_path / "lake"), "TASKQ_REPORTS_URL": str(tmp_path / "reports")}
    with override_settings(**urls, TASKQ_LAKE_KEEP_DAYS=30):
        assert prune_lake(today=today + timedelta(days=365)).deleted == []


def test_a_lake_that_is_too_large_loses_its_oldest_days(place: Place) -> None:
    size = measure_lake(str(place.root / "lake")).total.bytes
    with override_settings(TASKQ_LAKE_MAX_BYTES=size // 2 + 10):
        prune_lake(today=TODAY)
    assert lake_days(place) == [0, 1, 2, 3, 4]


@pytest.mark.django_db(transaction=True)
def test_what_reports_need_stays_and_the_log_says_so_once(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    ReportDay.objects.filter(pk=back(7)).update(state=ReportState.FAILED)
    upkeep = LakeUpkeep(clock=lambda: datetime.combine(TODAY, time(9), UTC))
    with override_settings(TASKQ_LAKE_KEEP_DAYS=5), caplog.at_level(logging.WARNING):
        for _ in range(3):
            upkeep.tick()

    assert lake_days(place) == [0, 1, 2, 3, 4, 5, 7, 8]
    (record,) = caplog.records
    assert (record.__dict__["action"], record.__dict__["days"], record.__dict__["first"]) == (
        "lake.keep", 2, str(back(8)),
    )  # fmt: skip


def test_one_turn_deletes_a_bounded_number_of_days_and_stops_when_it_is_told_to(tmp_path: Path) -> None:
    for days in range(100, 100 + DAYS_AT_ONCE + 3):
        write_events(tmp_path / "lake", [event("published", at(back(days), 9), job="01J")])
    urls = {"TASKQ_LAKE_URL": str(tmp_path / "lake"), "TASKQ_REPORTS_URL": str(tmp_path / "reports")}
    with override_settings(**urls, TASKQ_LAKE_KEEP_DAYS=50):
        assert prune_lake(today=TODAY, should_stop=lambda: True).deleted == []
        assert [len(prune_lake(today=TODAY).deleted) for _ in range(3)] == [DAYS_AT_ONCE, 3, 0]


def gone(place: Place, *days: int) -> None:
    for each in days:
        delete_day(str(place.root / "lake"), back(each), reason="asked for", files=1, size=1)


def test_no_report_of_a_deleted_day_is_due_or_reopened(place: Place) -> None:
    """Neither when events came late for it or for a day before it, nor when its report has no events."""
    write_events(place.root / "lake", [event("acked", at(back(6), 10), job="01J")])
    gone(place, 5, 4)
    write_events(place.root / "lake", [event("acked", at(back(5), hour), job="01J") for hour in (1, 2, 3)])
    ReportDay.objects.filter(pk=back(4)).update(events=0)

    assert reopen_late_days(today=TODAY) == [back(6), back(3), back(2), back(1)]
    ReportDay.objects.filter(pk__in=[back(5), back(4)]).delete()
    assert due_days(today=TODAY) == [back(6), back(3), back(2), back(1)]


def order(place: Place) -> Order:
    return Order(stop=threading.Event(), command=place.command)


def test_a_report_of_a_deleted_day_is_refused_and_the_earlier_one_stays(place: Place) -> None:
    gone(place, 5)
    place.plan_report()

    with pytest.raises(EventsGoneError) as refused:
        make_report(day=back(5), order=order(place))

    assert str(refused.value).startswith(f"the lake no longer has {back(5)}: it was deleted on ")
    day = ReportDay.objects.get(pk=back(5))
    assert (day.state, day.run, day.error) == (ReportState.DONE, "earlier", "")


def test_the_command_says_so(place: Place) -> None:
    gone(place, 5)
    with pytest.raises(CommandError, match=f"the lake no longer has {back(5)}: it was deleted on .* \\(asked for\\)"):
        call_command("runreport", "--date", str(back(5)), stdout=io.StringIO())


def lake(*arguments: str) -> str:
    out = io.StringIO()
    call_command("lake", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("queues.management.commands.lake.today", lambda: TODAY)


@pytest.mark.usefixtures("now")
def test_a_dry_run_tells_what_would_go_and_deletes_nothing(place: Place) -> None:
    ReportDay.objects.filter(pk=back(9)).update(state=ReportState.RUNNING)

    said = lake("prune", "--before", str(back(6)), "--dry-run").splitlines()

    held = measure_lake(str(place.root / "lake")).days
    reason = f"asked for: all days before {back(6)}"
    assert said[:-1] == [
        *(f"would delete {back(n)}: 1 files, {held[back(n)].bytes:,} bytes ({reason})" for n in (8, 7)),
        f"keeps {back(9)}: a report still needs its events",
    ]
    assert said[-1].startswith("2 days would be deleted; ")
    assert len(lake_days(place)) == 10

    assert lake("prune", "--before", str(back(6))).splitlines()[-1].startswith("2 days deleted; ")
    assert lake_days(place) == [0, 1, 2, 3, 4, 5, 6, 9]


@pytest.mark.usefixtures("now")
def test_the_list_tells_each_day_and_what_becomes_of_it(place: Place) -> None:
    with override_settings(TASKQ_LAKE_KEEP_DAYS=8):
        rows: list[dict[str, Any]] = json.loads(lake("list", "--json"))
        table = lake("list")

    assert [row["day"] for row in rows] == [str(back(days)) for days in reversed(range(10))]
    assert [row["to_be_deleted"] for row in rows] == ["older than 8 days", *[""] * 9]
    assert len(table.splitlines()) == 12
    assert find_deletion(Storage(str(place.root / "lake")), back(9)) is None


@pytest.mark.parametrize(
    ("arguments", "words"), [(("prune", "--before", "yesterday"), "yesterday is no date"), ((), "required: VERB")]
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        lake(*arguments)


@pytest.mark.django_db(transaction=True)
def test_the_pump_does_it_and_logs_once_what_hinders_it(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    upkeep = LakeUpkeep(clock=lambda: datetime.combine(TODAY, time(9), UTC))
    with override_settings(TASKQ_LAKE_KEEP_DAYS=5):
        with override_settings(TASKQ_LAKE_URL="no-such-scheme://lake"):
            for _ in range(3):
                upkeep.tick()
        assert [record.__dict__["action"] for record in caplog.records] == ["trouble"]
        upkeep.tick()
        assert lake_days(place) == [0, 1, 2, 3, 4, 5]
        upkeep.stop()
        write_events(place.root / "lake", [event("published", at(back(40), 9), job="01J")])
        upkeep.tick()
    assert 40 in lake_days(place)
