"""What is due at night: days of the lake that have ended and have no good report; never while one is being made."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from django.db import OperationalError
from django.test import override_settings
from django.utils import timezone

from queues.models import ReportState
from queues.pump import nightly as pump_nightly
from queues.pump.nightly import NICE, NightlyReports, is_time
from queues.services.reporting.making import due_days as due_days_module
from queues.services.reporting.making.due_days import due_days, report_due_days, today_is_due
from queues.services.reporting.reading.days import today as utc_today
from queues.services.reporting.values import DRAINED_S
from tests.support.waiting import wait_until

from .reporting import add_day


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Path]:
    with override_settings(TASKQ_LAKE_URL=str(tmp_path / "lake")):
        yield tmp_path / "lake"


@pytest.fixture
def today() -> date:
    return utc_today()


def fill(lake: Path, *days: date) -> None:
    for day in days:
        (lake / f"date={day}" / "hour=00").mkdir(parents=True)


def back(today: date, days: int) -> date:
    return today - timedelta(days=days)


def test_days_that_have_ended_are_due_the_oldest_first(db: None, lake: Path, today: date) -> None:
    fill(lake, today, back(today, 1), back(today, 30), back(today, 32))
    (lake / "_gaps").mkdir()
    (lake / "date=nonsense").mkdir()

    assert due_days(today=today) == [back(today, days) for days in range(31, 0, -1)]


def test_days_on_which_nothing_happened_are_due_when_others_have_followed(db: None, lake: Path, today: date) -> None:
    fill(lake, back(today, 5))
    assert due_days(today=today) == [back(today, 5)]

    fill(lake, back(today, 3))
    assert due_days(today=today) == [back(today, 5), back(today, 4), back(today, 3)]

    fill(lake, today)
    assert due_days(today=today) == [back(today, days) for days in (5, 4, 3, 2, 1)]


def test_without_a_lake_nothing_is_due(db: None, lake: Path, today: date) -> None:
    assert due_days(today=today) == []


def test_a_good_report_is_not_made_again_but_one_of_half_a_day_is(db: None, lake: Path, today: date) -> None:
    fill(lake, back(today, 1), back(today, 2))
    add_day(back(today, 1))
    add_day(back(today, 2), complete=False)

    assert due_days(today=today) == [back(today, 2)]


def test_a_failed_day_rests_and_has_three_chances_a_day(db: None, lake: Path, today: date) -> None:
    fill(lake, back(today, 1))
    day = add_day(back(today, 1), state=ReportState.FAILED, failures=1)
    assert due_days(today=today) == []

    def after(failures: int, finished_at: datetime) -> list[date]:
        day.failures, day.finished_at = failures, finished_at
        day.save()
        return due_days(today=today)

    midnight = datetime.combine(today, time(), UTC)
    long_ago = midnight - timedelta(hours=1)
    rested = timezone.now() - timedelta(minutes=11)
    assert after(2, rested) == [back(today, 1)]
    assert after(3, long_ago) == [back(today, 1)]
    assert after(3, timezone.now()) == []
    if rested > midnight:
        assert after(3, rested) == []


def test_what_was_stopped_is_due_at_once(db: None, lake: Path, today: date) -> None:
    fill(lake, back(today, 1))
    add_day(back(today, 1), state=ReportState.FAILED, failures=0)

    assert due_days(today=today) == [back(today, 1)]


def test_nothing_is_due_while_a_report_is_made_unless_that_hangs(db: None, lake: Path, today: date) -> None:
    fill(lake, back(today, 1), back(today, 2))
    day = add_day(back(today, 2), state=ReportState.RUNNING)
    assert due_days(today=today) == []

    day.beat_at = timezone.now() - timedelta(minutes=3)
    day.save()
    assert due_days(today=today) == [back(today, 2), back(today, 1)]


def test_each_due_day_is_tried_once_until_told_to_end(db: None, lake: Path, today: date) -> None:
    fill(lake, back(today, 1), back(today, 2))
    asked: list[Sequence[date]] = []

    def make(days: Sequence[date]) -> bool:
        asked.append(days)
        fill(lake, back(today, 3 + len(asked)))
        return len(asked) < 3

    report_due_days(today=lambda: today, make=make)

    assert asked == [[back(today, 2), back(today, 1)], [back(today, 4), back(today, 3)], [back(today, 5)]]


@pytest.mark.parametrize(
    ("at", "now", "expected"),
    [("02:10", "02:09", False), ("02:10", "02:10", True), ("02:10", "23:59", True), ("00:00", "00:00", True)],
)
def test_the_hour_that_was_set_is_utc(at: str, now: str, expected: bool) -> None:
    moment = datetime.combine(date(2026, 3, 29), time.fromisoformat(now), UTC)
    with override_settings(TASKQ_REPORT_AT=time.fromisoformat(at)):
        assert is_time(moment) is expected
        assert is_time(moment.astimezone(timezone.get_fixed_timezone(120))) is expected


def test_it_is_never_time_when_switched_off_or_without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    late = datetime(2026, 3, 29, 23, 59, tzinfo=UTC)
    with override_settings(TASKQ_REPORT_AT=None):
        assert not is_time(late)
    monkeypatch.setattr(due_days_module, "find_spec", lambda _name: None)
    with override_settings(TASKQ_REPORT_AT=time(0)):
        assert not is_time(late)


HOURLY = {"TASKQ_REPORT_TODAY_EVERY_S": 3_600, "TASKQ_LAKE_EVERY_S": 300}


@pytest.mark.parametrize(
    ("now", "last", "expected"),
    [
        ("00:05", None, False),  # the first hour is not in the lake yet
        ("00:06", None, True),
        ("01:05", "00:06", False),
        ("01:06", "00:06", True),
        ("01:50", "01:06", False),
        ("09:00", "01:06", True),
    ],
)
def test_today_is_reported_some_minutes_after_each_full_hour(
    db: None, lake: Path, today: date, now: str, last: str | None, expected: bool
) -> None:
    fill(lake, today)

    def moment(text: str) -> datetime:
        return datetime.combine(today, time.fromisoformat(text), UTC)

    if last:
        add_day(today, complete=False, claimed_at=moment(last))

    with override_settings(**HOURLY):
        assert today_is_due(moment(now)) is expected
    for off in ({"TASKQ_REPORT_TODAY_EVERY_S": 0}, {"TASKQ_REPORT_AT": None}):
        with override_settings(**HOURLY | off):
            assert not today_is_due(moment(now))


@pytest.mark.parametrize(
    ("now", "state", "failures", "expected"),
    [
        ("09:17", ReportState.FAILED, 1, False),
        ("09:18", ReportState.FAILED, 1, True),
        ("09:18", ReportState.FAILED, 2, True),
        ("09:18", ReportState.FAILED, 3, False),  # until the next time
        ("10:06", ReportState.FAILED, 3, True),
        ("09:18", ReportState.RUNNING, 1, False),
        ("09:18", ReportState.DONE, 0, False),
    ],
)
def test_a_report_of_today_that_failed_is_tried_again_after_ten_minutes(
    db: None, lake: Path, today: date, now: str, state: ReportState, failures: int, expected: bool
) -> None:
    fill(lake, today)
    begun, ended = (datetime.combine(today, time(9, minute), UTC) for minute in (6, 8))
    add_day(today, complete=False, state=state, failures=failures, claimed_at=begun, finished_at=ended)

    with override_settings(**HOURLY):
        assert today_is_due(datetime.combine(today, time.fromisoformat(now), UTC)) is expected


def test_by_default_a_report_of_today_is_less_than_an_hour_old_when_the_next_one_is_there() -> None:
    """A run may take ten minutes, and the pump looks once a minute or so."""
    command = "from taskq_site import settings as s; print(s.TASKQ_REPORT_TODAY_EVERY_S + s.TASKQ_LAKE_EVERY_S)"
    unset = {name: value for name, value in os.environ.items() if not name.startswith(("TASKQ_REPORT", "TASKQ_LAKE"))}
    told = subprocess.run([sys.executable, "-c", command], env=unset, capture_output=True, text=True, check=True)

    assert int(told.stdout) + DRAINED_S + 660 < 3_600


def test_nothing_is_reported_of_a_today_that_the_lake_does_not_know(db: None, lake: Path, today: date) -> None:
    fill(lake, back(today, 1))
    with override_settings(**HOURLY):
        assert not today_is_due(datetime.combine(today, time(12), UTC))


def test_days_that_have_ended_come_before_today(
    due: None, monkeypatch: pytest.MonkeyPatch, today: date, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pump_nightly, "today_is_due", lambda _now: True)
    started: list[tuple[str, ...]] = []

    def child(command: Sequence[str], **_options: object) -> None:
        started.append(tuple(command)[-2:])
        raise FileNotFoundError

    monkeypatch.setattr(pump_nightly, "Child", child)
    for days in ([today], []):
        monkeypatch.setattr(pump_nightly, "due_days", lambda *, today, days=days: days)
        with pytest.raises(FileNotFoundError):
            NightlyReports().tick()

    assert started == [("--nightly", "--quiet"), ("--today", "--quiet")]


SLEEPER = (
    "import pathlib, signal, sys; pathlib.Path(sys.argv[1]).write_text(str(__import__('os').getpid())); signal.pause()"
)


@pytest.fixture
def due(db: None, monkeypatch: pytest.MonkeyPatch, today: date) -> None:
    monkeypatch.setattr(pump_nightly, "is_time", lambda _now: True)
    monkeypatch.setattr(pump_nightly, "due_days", lambda *, today: [today])


def test_one_process_at_a_time_and_none_is_left_behind(due: None, tmp_path: Path) -> None:
    started = tmp_path / "started"
    reports = NightlyReports(command=[sys.executable, "-c", SLEEPER, str(started)])
    reports.tick()
    pid = int(wait_until(lambda: started.exists() and started.read_text(), or_fail="not started"))
    started.unlink()
    assert os.getpriority(os.PRIO_PROCESS, pid) >= NICE, "it takes cores away from publishing and consuming"

    reports.tick()
    assert not started.exists()
    reports.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    reports.tick()
    assert not started.exists()


def test_when_it_has_ended_the_next_may_start(due: None, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    script = "import pathlib, sys, uuid; (pathlib.Path(sys.argv[1]) / uuid.uuid4().hex).touch()"
    reports = NightlyReports(command=[sys.executable, "-c", script, str(marks)])

    def tick_until(count: int) -> bool:
        reports.tick()
        return len(list(marks.iterdir())) >= count

    wait_until(lambda: tick_until(2), or_fail="not started again")
    reports.stop()


def test_a_database_that_is_away_is_one_warning(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*, today: date) -> list[date]:
        raise OperationalError("connection refused")

    monkeypatch.setattr(pump_nightly, "is_time", lambda _now: True)
    monkeypatch.setattr(pump_nightly, "due_days", fail)
    reports = NightlyReports()
    with caplog.at_level(logging.WARNING):
        reports.tick()
        reports.tick()

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    reports.stop()
