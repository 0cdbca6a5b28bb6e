"""Lake and reports in a store: from the settings through the drain's and Spark's ways of reading to the database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path

import pytest
from django.test import override_settings

from queues.lake.demo import DemoPlan, demo_hours, write_demo
from queues.lake.files import list_days, read_day
from queues.lake.storage import Storage
from queues.models import QueueDay, ReportDay, ReportState
from queues.services.reporting.making.files import files_of
from queues.services.reporting.making.loading import Made
from queues.services.reporting.making.running import Listener, Order, make_reports

from . import expected
from .made import in_ms
from .stores import Store, hdfs, s3

pytestmark = pytest.mark.django_db(transaction=True)

DAY = date(2026, 3, 29)
QUICK = {"spark.sql.shuffle.partitions": "2"}

Opened = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[Store]]


@pytest.fixture(params=[s3, hdfs], ids=["s3", "hdfs"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    opened: Opened = request.param
    with opened(tmp_path, monkeypatch) as store:
        yield store


def test_a_report_of_a_lake_in_a_store(store: Store, tmp_path: Path) -> None:
    lake, out = f"{store.url}/lake", f"{store.url}/reports"
    plan = DemoPlan(first=DAY, days=1, jobs_per_day=300)
    write_demo(lake, plan, tell=lambda day, events: None)
    storage = Storage(lake)
    damaged = f"date={DAY}/hour=05/damaged.parquet"
    storage.put(damaged, b"no Parquet")
    made: list[Made] = []
    failed: list[Exception] = []

    def note(_day: date, failure: Exception) -> bool:
        failed.append(failure)
        return False

    listener = Listener(tell=lambda _progress: None, made=made.append, failed=note)
    settings = {
        "TASKQ_LAKE_URL": lake,
        "TASKQ_REPORTS_URL": out,
        "TASKQ_SPARK_MASTER": "local[2]",
        "TASKQ_SPARK_MEMORY": "1g",
        "TASKQ_SPARK_CONF": store.conf | QUICK,
    }
    with override_settings(**settings):
        make_reports(days=[DAY], order=Order(stop=threading.Event()), listener=listener)

    assert failed == []
    (report,) = made
    assert ReportDay.objects.get().state == ReportState.DONE
    rows = [row for _, _, table in demo_hours(plan) for row in table.to_pylist()]
    published = sum(row["kind"] == "published" for row in rows)
    assert QueueDay.objects.get(day=DAY, queue="").published == published
    (warning,) = [text for text in report.warnings if "damaged.parquet" in text]
    assert warning.startswith(f"{storage.url(damaged)} was left out")
    assert list_days(lake) == [DAY]
    assert read_day(lake, DAY).rows == len(rows)

    files = files_of(out, DAY)
    run_id = ReportDay.objects.get().reported_run
    copy = tmp_path / "copy" / f"date={DAY}" / "run=one"
    _download(f"{out}/date={DAY}/run={run_id}", copy)
    expected.check_report(tmp_path / "copy", str(DAY), today=[in_ms(row) for row in rows], before=[])
    files.make_current("another")
    assert files.storage.read(f"date={DAY}/current.json") == b'{"run": "another"}'
    files.delete_day()
    assert list_days(out) == []


def _download(url: str, to: Path) -> None:
    storage = Storage(url)
    for table in storage.list(""):
        if not table.is_dir:
            continue
        (to / table.name).mkdir(parents=True)
        for entry in storage.list(table.name):
            (to / table.name / entry.name).write_bytes(storage.read(f"{table.name}/{entry.name}"))
