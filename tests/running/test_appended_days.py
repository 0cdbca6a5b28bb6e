"""When a day is over, a pump notes in the lake how many events Redis appended on it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from queues.engine import Engine, ack, appended_events, consume, open_engine, publish
from queues.lake.appended import read_appended
from queues.lake.storage import LakeError, Storage
from queues.pump.roles.appended_days import AFTER_MIDNIGHT_MS, KEPT_DAYS, AppendedDays
from queues.pump.roles.drain import Drain

POOL = "main-pool"
DAY = date(2026, 3, 30)
MIDNIGHT = int(datetime(2026, 3, 31, tzinfo=UTC).timestamp() * 1_000)
DAY_MS = 86_400_000


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    engine = open_engine(redis_url, partitions=2, events_memory=40_000)
    yield engine
    engine.close()


def work(engine: Engine, now_ms: int, calls: int = 20) -> int:
    """Events that it appends, on queues of that day's own."""
    for number in range(calls):
        queue = engine.queue("shop", f"orders{number % 5}-{now_ms // DAY_MS}")
        engine.run(publish(queue, [b"x"] * 3, now_ms=now_ms))
        (job,) = engine.run(consume(queue, ttr_ms=60_000, now_ms=now_ms)).jobs
        engine.run(ack(queue, [job.job_id], now_ms=now_ms))
    return 5 * calls


def note(engine: Engine, lake: Path, now_ms: int) -> int:
    return AppendedDays(POOL, url=str(lake)).note(engine, now_ms, clock_ms=now_ms)


def noted(lake: Path, day: date) -> dict[str, int]:
    return dict(read_appended(Storage(str(lake)), day).events)


def test_all_events_of_a_day_are_counted_whether_drained_dropped_or_still_there(engine: Engine, tmp_path: Path) -> None:
    events = work(engine, MIDNIGHT - 2 * DAY_MS)
    drain = Drain(POOL, url=str(tmp_path), every_s=300, everything=True)
    while drain.tick(engine, None).more:
        pass
    on_day = work(engine, MIDNIGHT - 1, calls=1_000)  # more than the streams hold
    work(engine, MIDNIGHT)

    assert note(engine, tmp_path, MIDNIGHT + AFTER_MIDNIGHT_MS) == 2

    assert noted(tmp_path, DAY - timedelta(days=1)) == {POOL: events}
    assert noted(tmp_path, DAY) == {POOL: on_day}
    assert noted(tmp_path, DAY + timedelta(days=1)) == {}


def test_a_day_is_noted_a_while_after_midnight_and_once(engine: Engine, tmp_path: Path) -> None:
    events = work(engine, MIDNIGHT - 1)
    days = AppendedDays(POOL, url=str(tmp_path))
    assert days.note(engine, MIDNIGHT + AFTER_MIDNIGHT_MS - 1, clock_ms=MIDNIGHT + AFTER_MIDNIGHT_MS - 1) == 0
    assert days.note(engine, MIDNIGHT + AFTER_MIDNIGHT_MS, clock_ms=MIDNIGHT + AFTER_MIDNIGHT_MS) == 1
    work(engine, MIDNIGHT - 1)  # by a clock that was set back
    assert note(engine, tmp_path, MIDNIGHT + DAY_MS) == 0
    assert noted(tmp_path, DAY) == {POOL: events}


def test_the_node_whose_clock_is_behind_decides_when_the_day_is_over(engine: Engine, tmp_path: Path) -> None:
    work(engine, MIDNIGHT - 1)
    ahead = MIDNIGHT + AFTER_MIDNIGHT_MS
    assert AppendedDays(POOL, url=str(tmp_path)).note(engine, ahead, clock_ms=ahead - 1) == 0


def test_redis_forgets_a_day_long_after_it_was_noted(engine: Engine, tmp_path: Path) -> None:
    work(engine, MIDNIGHT - 1)
    later = MIDNIGHT + KEPT_DAYS * DAY_MS + AFTER_MIDNIGHT_MS
    note(engine, tmp_path, later - 1)
    days = engine.run(appended_events(0, since=date(1970, 1, 1))).by_day.keys()
    assert days == {DAY}
    note(engine, tmp_path, later + DAY_MS)
    assert engine.run(appended_events(0, since=date(1970, 1, 1))).by_day == {}
    assert DAY in {day for day in [DAY] if noted(tmp_path, day)}


def test_what_a_lake_refuses_is_noted_later(engine: Engine, tmp_path: Path) -> None:
    events = work(engine, MIDNIGHT - 1)
    (tmp_path / "_appended").write_text("in the way")
    days = AppendedDays(POOL, url=str(tmp_path))
    now = MIDNIGHT + AFTER_MIDNIGHT_MS
    with pytest.raises(LakeError):
        days.note(engine, now, clock_ms=now)
    (tmp_path / "_appended").unlink()
    assert days.note(engine, now, clock_ms=now) == 1
    assert noted(tmp_path, DAY) == {POOL: events}
