"""A report holds the events that it read against what Redis counted, and names the difference."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

import pytest

from queues.engine import Engine, ack, consume, open_engine, publish
from queues.lake.deletion import delete_day
from queues.lake.storage import LakeError
from queues.pump.roles.appended_days import AFTER_MIDNIGHT_MS, AppendedDays
from queues.pump.roles.drain import Drain

from .conftest import RunDay
from .made import event, ms, write_lake
from .test_bad_input import damage_a_page
from .test_history import backlogs

BEFORE: Final = "2026-03-28"
DAY: Final = "2026-03-29"
NEXT: Final = "2026-03-30"
POOLS: Final = ("whole", "lost", "twice", "damaged")


def work(engine: Engine, now_ms: int, calls: int) -> None:
    queue = engine.queue("shop", "orders")
    for _ in range(calls):
        engine.run(publish(queue, [b"x"] * 3, now_ms=now_ms))
        taken = engine.run(consume(queue, ttr_ms=60_000, count=3, now_ms=now_ms)).jobs
        engine.run(ack(queue, [job.job_id for job in taken], now_ms=now_ms))


def fill(engine: Engine, lake: Path, pool: str) -> None:
    """Two hours of the day, of 90 and 9 events, and one event of the next one; drained, and counted by Redis."""
    engine.client.flushdb()
    work(engine, ms(f"{DAY}T09:00"), 10)
    work(engine, ms(f"{DAY}T23:59"), 1)
    engine.run(publish(engine.queue("shop", "orders"), [b"x"], now_ms=ms(f"{NEXT}T00:00")))
    drain = Drain(pool, url=str(lake), every_s=300, everything=True)
    while drain.tick(engine, None).more:
        pass
    now = ms(f"{NEXT}T00:00") + AFTER_MIDNIGHT_MS
    assert AppendedDays(pool, url=str(lake)).note(engine, now, clock_ms=now) == 1


def file_of(lake: Path, pool: str) -> Path:
    (path,) = (lake / f"date={DAY}" / "hour=09").glob(f"{pool}-*.parquet")
    return path


def balance(pool: str, **numbers: Any) -> dict[str, Any]:
    known = {"appended": 99, "in_lake": 99, "damaged": 0, "dropped": 0, "dropped_around": 0, "difference": 0}
    return {"pool": pool, **known, **numbers}


@dataclass(frozen=True, slots=True)
class Report:
    """Of DAY."""

    lake: Path
    out: Path
    summary: dict[str, Any]


@pytest.fixture(scope="module")
def report(run_day: RunDay, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of pools that have fared differently, in a lake from which the day before was deleted."""
    folder = tmp_path_factory.mktemp("reconciliation")
    lake, out = folder / "lake", folder / "out"
    engine = open_engine(redis_url, partitions=1)
    try:
        for pool in POOLS:
            fill(engine, lake, pool)
    finally:
        engine.close()
    file_of(lake, "lost").unlink()
    shutil.copy(file_of(lake, "twice"), file_of(lake, "twice").with_name("copy.parquet"))
    damage_a_page(file_of(lake, "damaged"))
    write_lake(lake, [event("published", ms(BEFORE), pool="whole", namespace="shop", queue="orders", job="J", size=1)])
    delete_day(str(lake), date.fromisoformat(BEFORE), reason="older than 30 days", files=1, size=1)
    return Report(lake, out, run_day(lake, out, DAY))


def test_what_is_lost_twice_there_or_damaged_is_told_by_pool(report: Report) -> None:
    assert report.summary["reconciliation"] == [
        balance("damaged", in_lake=9, damaged=90),
        balance("lost", in_lake=9, difference=90),
        balance("twice", in_lake=189, difference=-90),
        balance("whole"),
    ]
    warnings = [(one["kind"], one["text"]) for one in report.summary["warnings"]]
    assert [one for one in warnings if one[0] in ("missing", "surplus")] == [
        (
            "missing",
            "pool lost: 90 events are missing and nothing says why: Redis appended 99, the lake has 9",
        ),
        ("surplus", "pool twice: there are 90 events more than Redis counted: Redis appended 99, the lake has 189"),
    ]


def test_a_deleted_day_is_not_reported_and_the_one_after_it_begins_with_what_is_unknown(
    report: Report, run_day: RunDay, tmp_path: Path
) -> None:
    with pytest.raises(
        LakeError, match=f"the lake no longer has {BEFORE}: it was deleted on .* \\(older than 30 days\\)"
    ):
        run_day(report.lake, tmp_path / "out", BEFORE)
    assert not list((tmp_path / "out").glob("**/summary.json"))
    assert report.summary["events"] == 99 + 9 + 189 + 9
    assert backlogs(report.out, DAY, namespace="shop", pool="whole")["orders", None] == (0, False)
