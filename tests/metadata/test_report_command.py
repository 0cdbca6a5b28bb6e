"""manage.py runreport: which days it means, what it says, how it ends."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from queues.management.commands import runreport
from queues.models import ReportTrigger
from queues.services.reporting.failures import DayTakenError, ReportFailedError
from queues.services.reporting.making.loading import Made, Progress
from queues.services.reporting.making.running import Listener, Order
from queues.services.reporting.reading.days import today, yesterday
from queues.spark_settings import SparkSettings
from tests.support.rows import in_one_test

pytestmark = pytest.mark.django_db


class Maker:
    """In the place of `make_reports`: notes what it was asked for, fails where it was told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[date, ReportTrigger, SparkSettings]] = []
        self.failures: dict[date, ReportFailedError] = {}
        self.has_ended = True

    def __call__(self, *, days: list[date], order: Order, listener: Listener) -> None:
        for day in days:
            self.asked.append((day, order.trigger, order.spark))
            listener.tell(Progress(day=day, stage="counting", share=0.4, message="12 files"))
            listener.tell(Progress(day=day, stage="counting", share=0.5))
            if day not in self.failures:
                listener.made(
                    Made(day=day, is_complete=self.has_ended, events=1_234, rows=5, took_s=2.0, warnings=("hm",))
                )
            elif not listener.failed(day, self.failures[day]):
                return

    @property
    def days(self) -> list[date]:
        return [day for day, _trigger, _spark in self.asked]


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Maker]:
    maker = Maker()
    monkeypatch.setattr(runreport, "make_reports", maker)
    with override_settings(TASKQ_LAKE_URL=str(tmp_path / "lake"), TASKQ_REPORTS_URL=str(tmp_path / "reports")):
        yield maker


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("runreport", *arguments, stdout=out)
    return out.getvalue()


def test_without_a_date_it_means_yesterday(maker: Maker) -> None:
    said = run()

    assert maker.asked == [(yesterday(), ReportTrigger.ASKED, SparkSettings())]
    assert said.splitlines() == [
        f"{yesterday()}   40%  counting 12 files",
        f"{yesterday()}: 1,234 events, 5 rows, 2.0 s",
    ]


def test_a_range_is_made_from_its_first_day_to_its_last(maker: Maker) -> None:
    run("--from", "2026-03-28", "--to", "2026-03-30")

    assert maker.days == [date(2026, 3, 28), date(2026, 3, 29), date(2026, 3, 30)]


def test_sparks_settings_may_be_told(maker: Maker, tmp_path: Path) -> None:
    file = tmp_path / "spark.properties"
    file.write_text("spark.executor.cores 2\n")
    conf = ["--conf", "spark.a=1", "--conf", "spark.b=x=y"]

    run("--master", "spark://there:7077", "--memory", "2g", "--properties-file", str(file), *conf)

    (asked,) = [spark for _day, _trigger, spark in maker.asked]
    assert asked == SparkSettings(
        master="spark://there:7077", memory="2g", properties_file=str(file), conf={"spark.a": "1", "spark.b": "x=y"}
    )


def test_a_range_without_an_end_goes_until_yesterday_and_today_may_be_asked_for(maker: Maker) -> None:
    run("--from", str(yesterday() - timedelta(days=1)))
    run("--date", str(today()))

    assert maker.days == [yesterday() - timedelta(days=1), yesterday(), today()]


def test_quiet_says_nothing_when_all_is_well(maker: Maker) -> None:
    assert run("--quiet") == ""


@in_one_test(
    ("arguments", "words"),
    [
        (["--date", "29.3.2026"], "29.3.2026 is no date: expected YYYY-MM-DD"),
        (["--date", "2999-01-01"], "2999-01-01 has not begun yet"),
        (["--from", "2026-03-30", "--to", "2026-03-29"], "2026-03-30 is after 2026-03-29"),
        (["--from", "2024-01-01", "--to", "2026-03-29"], "are 819 days; at most 366"),
        (["--to", "2026-03-29"], "--to needs --from"),
        (["--date", "2026-03-29", "--from", "2026-03-29"], "use one or the other"),
        (["--conf", "spark.a"], "--conf: 'spark.a': expected KEY=VALUE"),
        (["--master", "there:7077"], "--master: there:7077 is no Spark master"),
    ],
)
def test_what_cannot_be_meant_is_said(maker: Maker, arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        run(*arguments)
    assert maker.asked == []


def test_a_day_that_fails_does_not_keep_the_others_from_being_made(maker: Maker) -> None:
    maker.failures[date(2026, 3, 28)] = ReportFailedError("no room")

    with pytest.raises(CommandError, match="2026-03-28: no room"):
        run("--from", "2026-03-28", "--to", "2026-03-29")

    assert maker.days == [date(2026, 3, 28), date(2026, 3, 29)]


def test_what_would_fail_again_ends_it(maker: Maker) -> None:
    maker.failures[date(2026, 3, 28)] = ReportFailedError("no Java", kind="java_missing")

    with pytest.raises(CommandError, match="no Java"):
        run("--from", "2026-03-28", "--to", "2026-03-29")

    assert maker.days == [date(2026, 3, 28)]


def test_at_night_it_makes_what_is_due_and_mails_yesterdays(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    mailed: list[date] = []
    monkeypatch.setattr(runreport, "mail_report", lambda *, day: mailed.append(day))
    due = [yesterday() - timedelta(days=1), yesterday()]
    monkeypatch.setattr(runreport, "report_due_days", lambda *, today, make: make(due))
    compacted: list[date] = []
    monkeypatch.setattr(runreport, "compact_days", compacted.extend)

    run("--nightly")

    assert [trigger for _day, trigger, _spark in maker.asked] == [ReportTrigger.SCHEDULED] * 2
    assert maker.days == due
    assert mailed == [yesterday()]
    assert compacted == [yesterday() - timedelta(days=back) for back in (2, 1, 0)]


def test_a_report_that_was_begun_before_midnight_is_not_mailed(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    maker.has_ended = False
    monkeypatch.setattr(runreport, "today", yesterday)
    monkeypatch.setattr(runreport, "mail_report", lambda *, day: pytest.fail("it has not all of the day"))

    run("--today")

    assert maker.days == [yesterday()]


def test_of_today_hours_that_are_over_are_compacted_first(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(runreport, "compact_closed_hours", lambda *, now: done.append((now.date(), maker.days)))

    run("--today")

    assert done == [(today(), [])]
    assert [(day, trigger) for day, trigger, _spark in maker.asked] == [(today(), ReportTrigger.SCHEDULED)]


def test_at_night_a_day_that_another_process_has_is_no_failure(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    maker.failures[yesterday()] = DayTakenError("taken")
    monkeypatch.setattr(runreport, "report_due_days", lambda *, today, make: make([yesterday()]))
    monkeypatch.setattr(runreport, "compact_days", lambda _days: pytest.fail("another process may read them"))
    monkeypatch.setattr(runreport, "mail_report", lambda *, day: pytest.fail("not ours to mail"))

    run("--nightly")


def test_a_terminal_has_one_line_that_is_written_over(maker: Maker) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    call_command("runreport", stdout=out)

    said = out.getvalue()
    assert f"\r\x1b[K{yesterday()}   40%  counting 12 files\r\x1b[K{yesterday()}   50%  counting" in said
    assert said.endswith(f"\r\x1b[K{yesterday()}: 1,234 events, 5 rows, 2.0 s\n")
