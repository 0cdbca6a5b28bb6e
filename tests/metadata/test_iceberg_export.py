"""`exporticeberg`, and the export of every night: which days, into which table, and what is said of it."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from queues.lake.iceberg import exported_days, open_table
from queues.management.commands import exporticeberg, runreport
from queues.services.reporting.making.exporting import export_recent_days, iceberg_target
from queues.services.reporting.reading.days import yesterday
from tests.support.reports import at, event, write_events

DAYS = [date(2026, 3, 27), date(2026, 3, 28), date(2026, 3, 29)]


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An event on each of three days, the last of which was yesterday."""
    monkeypatch.setattr(exporticeberg, "yesterday", lambda: DAYS[-1])
    write_events(tmp_path / "lake", [event("published", at(day, 3), job=f"{day}") for day in DAYS])
    places = {"TASKQ_LAKE_URL": str(tmp_path / "lake"), "TASKQ_ICEBERG_WAREHOUSE": str(tmp_path / "iceberg")}
    with override_settings(**places, TASKQ_ICEBERG_CATALOG="sqlite"):
        yield tmp_path / "lake"


def run(*arguments: str) -> tuple[str, str]:
    out, errors = io.StringIO(), io.StringIO()
    call_command("exporticeberg", *arguments, stdout=out, stderr=errors)
    return out.getvalue(), errors.getvalue()


def days_in_table() -> set[str]:
    return set(exported_days(open_table(iceberg_target())))


@pytest.mark.parametrize(
    ("arguments", "days"), [((), DAYS[-1:]), (("--date", f"{DAYS[0]}"), DAYS[:1]), (("--all",), DAYS)]
)
def test_the_days_that_are_asked_for_are_exported(arguments: tuple[str, ...], days: list[date]) -> None:
    said, _ = run(*arguments)

    assert days_in_table() == {f"{day}" for day in days}
    assert [line.partition(", snapshot")[0] for line in said.splitlines()] == [
        *(f"{day}: 1 events of 1 files" for day in days),
        "table taskq.events",
    ]
    assert f"{days[0]}: 1 events of 1 files, as it was" in run(*arguments)[0]


def test_files_that_are_left_out_are_named(lake: Path) -> None:
    victim = next((lake / f"date={DAYS[-1]}").rglob("*.parquet"))
    victim.write_bytes(b"no Parquet")

    said, errors = run()

    assert "0 events of 0 files, as it was" in said
    assert f"{DAYS[-1]}: left out: file://{victim}: " in errors


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        (("--date", "tomorrow"), {}, "tomorrow is no date"),
        (("--all",), {"TASKQ_ICEBERG_TABLE": "events"}, "expected NAMESPACE.NAME"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], settings: dict[str, Any], words: str) -> None:
    with override_settings(**settings), pytest.raises(CommandError, match=words):
        run(*arguments)


def test_without_a_catalog_nights_export_nothing(tmp_path: Path) -> None:
    with override_settings(TASKQ_ICEBERG_CATALOG=""):
        export_recent_days(DAYS)

    assert not (tmp_path / "iceberg").exists()


def test_what_a_night_exports_and_leaves_out_is_logged(lake: Path, caplog: pytest.LogCaptureFixture) -> None:
    victim = next((lake / f"date={DAYS[-1]}").rglob("*.parquet"))
    victim.write_bytes(b"no Parquet")

    with caplog.at_level(logging.INFO, logger="queues"):
        export_recent_days(DAYS[1:])
        export_recent_days(DAYS[1:])

    exports = [record.__dict__ for record in caplog.records if record.__dict__.get("action") == "iceberg.export"]
    (exported,) = [told for told in exports if told["levelname"] == "INFO"]  # nothing the second time
    assert (exported["day"], exported["rows"], exported["files"]) == (str(DAYS[1]), 1, 1)
    assert [told["file"] for told in exports if told["levelname"] == "WARNING"] == [f"file://{victim}"] * 2
    assert days_in_table() == {str(DAYS[1])}


def test_a_catalog_that_is_away_does_not_fail_the_night(caplog: pytest.LogCaptureFixture) -> None:
    with override_settings(TASKQ_ICEBERG_CATALOG="nowhere"), caplog.at_level(logging.ERROR):
        export_recent_days(DAYS)

    (record,) = caplog.records
    assert record.__dict__["action"] == "iceberg.export"
    assert "cannot be opened" in record.__dict__["reason"]


@pytest.mark.django_db
def test_at_night_days_are_exported_after_they_were_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(runreport, "report_due_days", lambda *, today, make: make([yesterday()]))
    monkeypatch.setattr(runreport, "make_reports", lambda *, days, order, listener: None)
    monkeypatch.setattr(runreport.Command, "_make_scheduled", _has_made)
    monkeypatch.setattr(runreport, "compact_days", lambda days: order.append("compacted"))
    monkeypatch.setattr(runreport, "export_recent_days", lambda days: order.append(f"exported {len(days)}"))

    call_command("runreport", "--nightly")

    assert order == ["compacted", "exported 3"]


def _has_made(command: runreport.Command, days: list[date]) -> bool:
    command._has_made = True
    return True
