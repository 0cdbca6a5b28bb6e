"""Reports that are too old go, rows and files; the lake and what is being made stay."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import override_settings

from queues.models import Namespace, QueueDay, ReportDay, ReportState
from queues.services.reporting.making.upkeep import DAYS_AT_ONCE, prune_reports

from .reporting import DAY, add_day, add_row


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Path]:
    with override_settings(TASKQ_REPORTS_URL=str(tmp_path / "reports"), TASKQ_REPORTS_KEEP_DAYS=10):
        yield tmp_path / "reports"


def test_what_is_too_old_goes_with_its_files(out: Path, orders: Namespace) -> None:
    for back in (9, 10, 11, 12):
        day = add_day(DAY - timedelta(days=back))
        add_row(day, scope=orders)
        (out / f"date={day.date}" / "run=1").mkdir(parents=True)
    add_day(DAY - timedelta(days=20), state=ReportState.RUNNING)
    orphan = out / f"date={DAY - timedelta(days=30)}"
    orphan.mkdir()
    for back in (10, 11, 40):
        (out / "cells" / f"date={DAY - timedelta(days=back)}" / "run=1").mkdir(parents=True)

    assert prune_reports(today=DAY) == 2

    kept = {DAY - timedelta(days=back) for back in (9, 10)}
    assert set(QueueDay.objects.values_list("day_id", flat=True)) == kept
    assert set(ReportDay.objects.values_list("date", flat=True)) == {*kept, DAY - timedelta(days=20)}
    assert {path.name for path in out.iterdir()} == {*(f"date={day}" for day in kept), "cells"}
    assert [path.name for path in (out / "cells").iterdir()] == [f"date={DAY - timedelta(days=10)}"]


def test_a_night_forgets_a_bounded_number_of_days(out: Path, db: None) -> None:
    for back in range(11, 11 + DAYS_AT_ONCE + 5):
        add_day(DAY - timedelta(days=back))

    assert prune_reports(today=DAY) == DAYS_AT_ONCE
    assert prune_reports(today=DAY) == 5
    assert prune_reports(today=DAY) == 0


def test_files_that_cannot_be_deleted_are_logged(
    out: Path, db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_url: str) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr("queues.services.reporting.making.upkeep.list_days", fail)
    add_day(DAY - timedelta(days=11))

    assert prune_reports(today=DAY) == 1
    assert "old reports not deleted" in caplog.text
