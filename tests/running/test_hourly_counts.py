"""Once an hour a pump notes in the lake how many jobs each queue has by Redis's own count."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.test import override_settings

from queues.engine import (
    Engine,
    PublishOptions,
    ack,
    consume,
    count_live_jobs,
    fail,
    finish_drain,
    flush_group,
    open_engine,
    plan_drain,
    publish,
    read_events,
    stream_end,
)
from queues.lake import counts as counts_module
from queues.lake.counts import read_counts
from queues.lake.storage import LakeError, Storage
from queues.pump.role import BackgroundRole, run_role
from queues.pump.roles import hourly_counts as module
from queues.pump.roles import roles_for
from queues.pump.roles.hourly_counts import HourlyCounts

HOUR_MS = 3_600_000
NOON = 1_774_872_000_000
"""2026-03-30."""

POOL = "main-pool"


@pytest.fixture
def engine(redis_url: str) -> Iterator[Engine]:
    engine = open_engine(redis_url, partitions=2)
    yield engine
    engine.close()


def note(engine: Engine, lake: Path, now_ms: int, counts: HourlyCounts | None = None) -> int:
    """Ticks until all is noted: how many there were."""
    counts = counts or HourlyCounts(POOL, url=str(lake))
    ticks = 1
    while counts.go_on(engine, now_ms, clock_ms=now_ms):
        ticks += 1
    return ticks


def noted(lake: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows by file."""
    return {
        f"{path.relative_to(lake)}": read_counts(Storage(str(lake)), f"{path.relative_to(lake)}")
        for path in sorted(lake.rglob("*.parquet"))
    }


def test_each_queues_jobs_are_noted_with_the_newest_event_of_that_moment(engine: Engine, tmp_path: Path) -> None:
    orders = engine.queue("shop", "orders")
    engine.run(publish(orders, [b"x"] * 5, PublishOptions(tries=1)))
    engine.run(publish(orders, [b"x"], PublishOptions(delay_ms=60_000)))
    first, second, _third = engine.run(consume(orders, ttr_ms=60_000, count=3)).jobs
    engine.run(ack(orders, [first.job_id]))
    engine.run(fail(orders, second.job_id))

    note(engine, tmp_path, NOON)

    ((name, rows),) = noted(tmp_path).items()
    assert name == "_counts/date=2026-03-30/main-pool-h12.parquet"
    (row,) = [row for row in rows if row["queue"]]
    newest = engine.run(stream_end(orders.partition)).entry
    assert (row["namespace"], row["queue"], row["jobs"], row["partition"]) == ("shop", "orders", 4, orders.partition)
    assert f"{row['from_ms']}-{row['from_seq']}" == f"{row['until_ms']}-{row['until_seq']}" == newest
    assert [(row["partition"], row["partitions"], row["hour"]) for row in rows if not row["queue"]] == [
        (0, 2, 12),
        (1, 2, 12),
    ]


def test_the_newest_event_is_known_after_it_was_drained(engine: Engine) -> None:
    queue = engine.queue("shop", "orders")
    assert engine.run(stream_end(queue.partition)).entry == "0-0"
    for _ in range(3):
        engine.run(publish(queue, [b"x"]))
    last = engine.run(read_events(queue.partition)).ids[-1].decode()
    plan = engine.run(plan_drain(queue.partition, last))
    assert plan is not None
    engine.client.xtrim(f"{{tq{queue.partition}}}:events", maxlen=0, approximate=False)  # half done
    assert engine.run(stream_end(queue.partition)).entry == last
    engine.run(finish_drain(queue.partition, plan.entries, written=3))
    assert engine.run(count_live_jobs(queue)).entry == last
    assert engine.run(count_live_jobs(queue)).jobs == 3


def test_a_queue_with_batches_has_no_count_that_events_could_be_held_against(engine: Engine) -> None:
    queue = engine.queue("shop", "orders")
    for _ in range(3):
        engine.run(publish(queue, [b"x"], PublishOptions(group="g")))
    assert engine.run(count_live_jobs(queue)).jobs == 3
    engine.run(flush_group(queue, "g"))
    assert engine.run(count_live_jobs(queue)).jobs is None


def test_it_is_done_once_an_hour_however_many_do_it(engine: Engine, tmp_path: Path) -> None:
    queue = engine.queue("shop", "orders")
    engine.run(publish(queue, [b"x"]))
    counts = HourlyCounts(POOL, url=str(tmp_path))
    assert note(engine, tmp_path, NOON, counts) == 3
    engine.run(publish(queue, [b"x"]))
    assert note(engine, tmp_path, NOON + HOUR_MS - 1, counts) == 1
    assert note(engine, tmp_path, NOON + HOUR_MS - 1) == 1
    assert note(engine, tmp_path, NOON + HOUR_MS, counts) == 3

    found = {name[-11:-8]: [row["jobs"] for row in rows if row["queue"]] for name, rows in noted(tmp_path).items()}
    assert found == {"h12": [1], "h13": [2]}


def test_many_queues_take_several_ticks_and_each_is_there_once(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 3)
    for number in range(20):
        engine.run(publish(engine.queue("shop", f"orders-{number}"), [b"x"] * (number + 1)))

    assert note(engine, tmp_path, NOON) >= 8

    (rows,) = noted(tmp_path).values()
    assert sorted((row["queue"], row["jobs"]) for row in rows if row["queue"]) == sorted(
        (f"orders-{number}", number + 1) for number in range(20)
    )


def test_one_that_reaches_into_the_next_hour_begins_again(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 1)
    for number in range(4):
        engine.run(publish(engine.queue("shop", f"orders-{number}"), [b"x"]))
    counts = HourlyCounts(POOL, url=str(tmp_path))
    for _ in range(3):
        assert counts.go_on(engine, NOON - 1, clock_ms=NOON - 1)
    note(engine, tmp_path, NOON, counts)

    ((name, rows),) = noted(tmp_path).items()
    assert name.endswith("-h12.parquet")
    assert ({row["hour"] for row in rows}, len(rows)) == ({12}, 6)


def test_counts_that_are_made_after_the_hour_are_not_noted_as_of_it(engine: Engine, tmp_path: Path) -> None:
    """At midnight they would be those of the next day."""
    engine.run(publish(engine.queue("shop", "orders"), [b"x"]))
    counts = HourlyCounts(POOL, url=str(tmp_path))
    for _ in range(10):
        assert counts.go_on(engine, NOON - 1, clock_ms=NOON)
    assert noted(tmp_path) == {}
    note(engine, tmp_path, NOON, counts)
    assert [name[-11:] for name in noted(tmp_path)] == ["h12.parquet"]


def test_a_lake_that_cannot_be_written_is_tried_again(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("not a directory")
    engine.run(publish(engine.queue("shop", "orders"), [b"x"]))
    counts = HourlyCounts(POOL, url=str(tmp_path / "lake" / "below"))
    for _ in range(2):
        with pytest.raises(LakeError):
            note(engine, tmp_path, NOON, counts)
    (tmp_path / "lake").unlink()
    note(engine, tmp_path, NOON, counts)
    assert len(noted(tmp_path)) == 1


def test_memory_does_not_grow_with_the_number_of_queues(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has been counted is in the unfinished file, but for a few rows."""
    monkeypatch.setattr(module, "PAGE", 5)
    monkeypatch.setattr(counts_module, "ROWS_AT_ONCE", 10)
    for number in range(100):
        engine.run(publish(engine.queue("shop", f"orders-{number}"), [b"x"]))
    counts = HourlyCounts(POOL, url=str(tmp_path))
    most = 0
    while counts.go_on(engine, NOON, clock_ms=NOON):
        walk = counts._walk
        most = max(most, len(walk.writer._rows) if walk else 0)

    ((name, rows),) = noted(tmp_path).items()
    assert len(rows) == 100 + 2
    assert most < 10
    assert pq.ParquetFile(tmp_path / name).num_row_groups >= 10


def test_a_walk_that_is_given_up_leaves_nothing_and_what_a_killed_one_left_goes_when_it_is_old(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 1)
    for number in range(4):
        engine.run(publish(engine.queue("shop", f"orders-{number}"), [b"x"]))
    folder = tmp_path / "_counts" / "date=2026-03-30"
    killed = HourlyCounts(POOL, url=str(tmp_path))
    assert killed.go_on(engine, NOON, clock_ms=NOON)
    (left,) = folder.iterdir()
    os.utime(left, (1, 1))

    given_up = HourlyCounts(POOL, url=str(tmp_path))
    assert given_up.go_on(engine, NOON, clock_ms=NOON)
    assert left not in folder.iterdir()
    assert given_up.go_on(engine, NOON + HOUR_MS, clock_ms=NOON + HOUR_MS)
    assert [path.name.count("-h13") for path in folder.iterdir()] == [1]


def role_of(name: str, lake: Path) -> BackgroundRole:
    with override_settings(TASKQ_LAKE_URL=str(lake)):
        (role,) = [role for role in roles_for(POOL, once=True) if role.name == name]
    return role


def test_a_pump_does_it_in_a_role_of_its_own(engine: Engine, tmp_path: Path) -> None:
    engine.run(publish(engine.queue("shop", "orders"), [b"x"]))

    run_role(role_of("counts", tmp_path), engine, should_stop=lambda: False)

    (rows,) = noted(tmp_path).values()
    assert [row["jobs"] for row in rows if row["queue"]] == [1]


def test_events_do_not_wait_for_counts_that_the_lake_refuses(engine: Engine, tmp_path: Path) -> None:
    engine.run(publish(engine.queue("shop", "orders"), [b"x"] * 5))
    (tmp_path / "_counts").write_text("in the way of the directory")

    with pytest.raises(LakeError, match="_counts"):
        run_role(role_of("counts", tmp_path), engine, should_stop=lambda: False)
    run_role(role_of("drain", tmp_path), engine, should_stop=lambda: False)

    assert list(tmp_path.rglob("date=*/hour=*/*.parquet"))
