"""The drain: every event comes into the lake once, whatever happens on the way."""

from __future__ import annotations

import logging
import os
import resource
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from queues.engine import (
    Engine,
    EntryRange,
    ack,
    consume,
    drain_state,
    finish_drain,
    open_engine,
    plan_drain,
    publish,
    read_events,
)
from queues.lake.lines import Entries
from queues.lake.names import EntryId, drained_name
from queues.lake.storage import LakeError, Storage
from queues.lake.writer import Writer
from queues.pump.pool_runner import PoolRunner
from queues.pump.role import RoleStats, run_role
from queues.pump.roles import drain as module
from queues.pump.roles import roles_for
from queues.pump.roles.drain import Drain, read_plan
from tests.support.clock import ManualClock
from tests.support.lake import EventName, Lake, local_lake, names_in_stream
from tests.support.waiting import wait_until

POOL = "main-pool"
PARTITIONS = 2
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Shop:
    """A pool that work is done in, and its lake."""

    def __init__(self, engine: Engine, lake: Lake) -> None:
        self.engine = engine
        self.lake = lake
        self.told: Counter[EventName] = Counter()

    def work(self, *, calls: int = 10, jobs: int = 3, now_ms: int | None = None) -> None:
        """Jobs of several queues are published; some are taken and acknowledged."""
        for number in range(calls):
            queue = self.engine.queue("shop", f"orders{number % 5}")
            self.engine.run(publish(queue, [b"body"] * jobs, now_ms=now_ms))
            taken = self.engine.run(consume(queue, ttr_ms=60_000, consumer="w", now_ms=now_ms)).jobs
            self.engine.run(ack(queue, [job.job_id for job in taken], now_ms=now_ms))
        self.note()

    def note(self) -> None:
        """All events so far: to be called before any is dropped."""
        self.told |= self.in_stream()

    def in_stream(self) -> Counter[EventName]:
        return names_in_stream(self.engine.client, POOL, self.engine.layout.partitions)

    def drain(self, *, url: str | None = None, everything: bool = True, every_s: float = 300) -> Drain:
        return Drain(POOL, url=url or self.lake.url, every_s=every_s, everything=everything)

    def run(self, drain: Drain | None = None) -> int:
        """Ticks until there is nothing more to do. Events that were taken out of the streams."""
        drain = drain or self.drain()
        events = 0
        while (counts := drain.tick(self.engine, None)).more:
            events += counts.jobs
        return events

    def check(self) -> None:
        """Each event is in the lake or in the stream, and none is in the lake twice."""
        in_lake = self.lake.names()
        assert set(in_lake.values()) <= {1}
        assert in_lake | self.in_stream() == self.told


@pytest.fixture
def shop(redis_url: str, tmp_path: Path) -> Iterator[Shop]:
    engine = open_engine(redis_url, partitions=PARTITIONS)
    yield Shop(engine, local_lake(tmp_path / "lake"))
    engine.close()


def test_everything_is_drained_and_each_event_is_there_as_it_was_told(shop: Shop) -> None:
    shop.work(calls=1, jobs=2)

    assert shop.run() == 4
    shop.check()

    assert not shop.in_stream()
    rows = shop.lake.rows()
    assert [row["kind"] for row in rows] == ["published", "published", "consumed", "acked"]
    first = rows[0]
    assert (first["pool"], first["namespace"], first["queue"], first["size"], first["demo"]) == (
        POOL, "shop", "orders0", 4, False,
    )  # fmt: skip
    assert first["published"] == first["at"]
    assert rows[3]["worker"] == "w"
    assert rows[3]["job"] == rows[2]["job"] == first["job"]


def test_a_few_events_wait_until_the_oldest_is_old_enough(shop: Shop) -> None:
    shop.work()

    assert shop.run(shop.drain(everything=False)) == 0
    assert shop.run(shop.drain(everything=False, every_s=0)) == shop.told.total()
    shop.check()


def test_events_that_redis_dates_in_the_future_wait_no_longer_than_others(shop: Shop) -> None:
    """Its clock was ahead and was set back: the ids of entries never go back."""
    clock = ManualClock()
    drain = Drain(POOL, url=shop.lake.url, every_s=300, clock=clock)
    for partition in range(PARTITIONS):
        shop.engine.client.execute_command("XADD", f"{{tq{partition}}}:events", "9000000000000-1", "t", 1)
        shop.engine.client.xtrim(f"{{tq{partition}}}:events", maxlen=0, approximate=False)
    shop.work()
    assert {name.entry_ms for name in shop.told} == {9_000_000_000_000}

    assert shop.run(drain) == 0
    clock.advance(299)
    assert shop.run(drain) == 0
    clock.advance(2)
    assert shop.run(drain) == shop.told.total()
    shop.check()


def test_a_full_partition_is_drained_at_once(shop: Shop) -> None:
    shop.work(calls=5)
    sizes = [shop.engine.run(drain_state(partition)).bytes for partition in range(PARTITIONS)]
    held = Counter(name.partition for name in shop.in_stream().elements())
    full = max(range(PARTITIONS), key=sizes.__getitem__)
    assert min(sizes) < max(sizes)
    shop.engine.layout.events_full = max(sizes)

    assert shop.run(shop.drain(everything=False)) == held[full]
    shop.check()


def test_a_drain_is_woken_by_the_call_that_fills_a_partition(shop: Shop, settings: Any) -> None:
    settings.TASKQ_LAKE_URL = shop.lake.url
    (found,) = [role for role in roles_for(POOL) if role.name == "drain"]
    role = replace(found, interval_s=600, budget_s=600)  # so that no look comes to its help
    stopping = threading.Event()
    turn = threading.Thread(target=run_role, args=(role, shop.engine), kwargs={"should_stop": stopping.is_set})
    client, channels = shop.engine.client, [f"{{tq{partition}}}:events" for partition in range(PARTITIONS)]
    turn.start()
    try:
        wait_until(lambda: all(n for _, n in client.pubsub_numsub(*channels)), or_fail="it does not wait")
        queue = shop.engine.queue("shop", "orders")
        for _ in range(shop.engine.layout.events_full // 30_000):  # an event takes more than 30 bytes
            shop.engine.run(publish(queue, [b"x"] * 1_000))
        wait_until(shop.lake.names, or_fail="it was not woken")
    finally:
        stopping.set()
        client.publish(channels[0], 0)
        turn.join()


def test_much_is_drained_in_several_files(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLAN_EVENTS", 20)
    monkeypatch.setattr(module, "read_events", partial(read_events, limit=7))
    shop.work(calls=30)

    assert shop.run() == shop.told.total()
    shop.check()
    assert len(shop.lake.files()) > 3


def test_draining_once_ends_although_there_are_new_events_all_the_time(shop: Shop) -> None:
    shop.work()
    drain = shop.drain()
    turns = 0
    while drain.tick(shop.engine, None).more:
        shop.work(calls=5)
        turns += 1
        assert turns < 50

    shop.check()
    assert shop.in_stream()


def test_an_event_goes_where_its_own_time_says(shop: Shop) -> None:
    now_ms = 1_900_000_000_000
    for at in (now_ms, now_ms - DAY_MS, now_ms + HOUR_MS, now_ms - HOUR_MS):
        shop.work(calls=1, jobs=1, now_ms=at)
    shop.run()
    shop.check()

    assert {path.rpartition("/")[0] for path in shop.lake.files()} == {
        "date=2030-03-17/hour=16",
        "date=2030-03-17/hour=17",
        "date=2030-03-17/hour=18",
        "date=2030-03-16/hour=17",
    }


class Killed(BaseException):
    """Nothing of the process runs after this."""


STEPS = ["read_plan", "plan_drain", "_within", "drain_state", "finish_drain"]


def die_at(monkeypatch: pytest.MonkeyPatch, step: str, call: int, *, after: bool) -> None:
    """The n-th call of a step of the drain is its last act, or is no more reached."""
    whole = getattr(module, step)
    calls = 0

    def dying(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and not after:
            raise Killed
        result = whole(*arguments, **options)
        if calls == call:
            raise Killed
        return result

    monkeypatch.setattr(module, step, dying)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("step", STEPS)
def test_whatever_step_a_drain_dies_at_another_one_goes_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, step: str, call: int, after: bool
) -> None:
    shop.work(calls=20)
    with monkeypatch.context() as patch:
        die_at(patch, step, call, after=after)
        with pytest.raises(Killed):
            shop.run()
    shop.work(calls=10)
    shop.run()

    shop.check()
    assert not shop.in_stream()


@pytest.mark.parametrize("step", ["put", "_link", "forget"])
def test_whatever_moment_of_writing_a_drain_dies_at_another_one_goes_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    shop.work(calls=20)

    def die(*_arguments: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Storage, step, die)
        with pytest.raises(Killed):
            shop.run()
    shop.run()

    shop.check()
    assert not shop.in_stream()


def asleep(shop: Shop, step: str, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> Drain:
    """A drain that is stopped before a step, during which something happens."""
    drain = shop.drain()
    owner: Any = Writer if hasattr(Writer, step) else module
    whole = getattr(owner, step)
    happened: list[bool] = []

    def sleepy(*arguments: Any, **options: Any) -> Any:
        if not happened:
            happened.append(True)
            meanwhile()
        return whole(*arguments, **options)

    monkeypatch.setattr(owner, step, sleepy)
    return drain


@pytest.mark.parametrize("step", [*STEPS, "leading_run", "write", "_put"])
def test_a_drain_that_wakes_after_another_one_went_on_does_no_harm(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    shop.work(calls=20)

    def others() -> None:
        shop.run()
        shop.work(calls=5)
        shop.run()
        shop.work(calls=5)

    shop.run(asleep(shop, step, monkeypatch, others))
    shop.run()

    shop.check()
    assert not shop.in_stream()


def of_events(client: redis.Redis) -> list[bytes]:
    return [key for kind in ("events", "drain", "counters") for key in client.scan_iter(f"*:{kind}")]


def copy_of(client: redis.Redis) -> dict[bytes, Any]:
    return {key: client.dump(key) for key in of_events(client)}


def set_back(client: redis.Redis, copy: dict[bytes, Any]) -> None:
    """As a Redis that was restarted with an older file; the jobs themselves do not matter here."""
    for key in of_events(client):
        client.delete(key)
    for key, content in copy.items():
        client.restore(key, 0, content, replace=True)


@pytest.mark.parametrize("more", [0, 10])
def test_a_redis_that_was_set_back_to_before_the_drain_brings_nothing_twice(
    shop: Shop, redis_client: redis.Redis, more: int
) -> None:
    shop.work(calls=20)
    copy = copy_of(redis_client)
    shop.run()
    set_back(redis_client, copy)
    shop.work(calls=more)

    shop.run()

    shop.check()
    assert not shop.in_stream()


@pytest.mark.parametrize(("before", "afterwards"), [(20, 50), (50, 20), (20, 33), (33, 20)])
def test_what_was_written_in_other_portions_before_redis_was_set_back_comes_not_twice(
    shop: Shop, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch, before: int, afterwards: int
) -> None:
    monkeypatch.setattr(module, "read_events", partial(read_events, limit=3))
    monkeypatch.setattr(module, "PLAN_EVENTS", before)
    shop.work(calls=40)
    copy = copy_of(redis_client)
    drain = shop.drain()
    for _ in range(5):
        drain.tick(shop.engine, None)
    set_back(redis_client, copy)
    monkeypatch.setattr(module, "PLAN_EVENTS", afterwards)

    shop.run()

    shop.check()
    assert not shop.in_stream()


@pytest.mark.parametrize("step", [*STEPS, "leading_run", "write", "_put"])
def test_a_drain_that_slept_while_redis_was_set_back_and_others_went_on_does_no_harm(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, redis_client: redis.Redis, step: str
) -> None:
    shop.work(calls=20)
    copy = copy_of(redis_client)

    def others() -> None:
        set_back(redis_client, copy)
        shop.work(calls=5)
        shop.run()

    shop.run(asleep(shop, step, monkeypatch, others))
    shop.work(calls=5)
    shop.run()

    shop.check()
    assert not shop.in_stream()


def test_what_the_cap_drops_before_a_drain_comes_is_a_gap_with_its_time(
    redis_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = open_engine(redis_url, partitions=1, events_memory=10_000)
    shop = Shop(engine, local_lake(tmp_path / "lake"))
    shop.work(calls=3)
    shop.run()
    (done,) = {name.entry_ms for name in sorted(shop.lake.names())[-1:]}
    for _ in range(30):
        shop.work(calls=4)
        shop.note()
    first = min(shop.in_stream())
    shop.run()

    (gap,) = shop.lake.gaps()
    assert gap.dropped == shop.told.total() - shop.lake.names().total()
    assert gap.dropped == int(engine.client.hget("{tq0}:counters", "events_dropped"))
    assert (gap.pool, gap.partition, gap.from_ms, gap.until_ms) == (POOL, 0, done, first.entry_ms)
    (record,) = [record for record in caplog.records if record.__dict__.get("action") == "events.gap"]
    assert (record.levelname, record.__dict__["pool"], record.__dict__["dropped"]) == ("WARNING", POOL, gap.dropped)
    assert set(shop.lake.names().values()) == {1}
    engine.close()


def test_one_hot_queue_may_use_the_memory_of_the_whole_pool_while_its_reader_is_stuck(
    redis_url: str, tmp_path: Path
) -> None:
    share = 40_000
    engine = open_engine(redis_url, partitions=8, events_memory=8 * share)
    shop = Shop(engine, local_lake(tmp_path / "lake"))
    (tmp_path / "file").write_text("not a directory")
    stuck = shop.drain(url=str(tmp_path / "file" / "lake"))
    queue = engine.queue("shop", "orders")
    held = 0
    while held < 4 * share:
        engine.run(publish(queue, [b"body"] * 50))
        with pytest.raises(LakeError):
            stuck.tick(engine, None)
        held = engine.run(drain_state(queue.partition)).bytes
    shop.note()

    assert engine.client.hget(f"{{tq{queue.partition}}}:counters", "events_dropped") is None
    shop.run()
    shop.check()
    shop.drain().tick(engine, None)
    assert [engine.run(drain_state(partition)).most for partition in range(8)] == [None] * 8
    engine.close()


def test_what_the_cap_drops_while_a_drain_writes_is_no_gap(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(redis_url, partitions=1, events_memory=10_000)
    shop = Shop(engine, local_lake(tmp_path / "lake"))
    shop.work(calls=15, jobs=3)
    shop.run(asleep(shop, "_put", monkeypatch, lambda: shop.work(calls=10)))
    shop.run()

    assert int(engine.client.hget("{tq0}:counters", "events_dropped")) > 0
    shop.check()
    assert shop.lake.gaps() == []
    engine.close()


def test_a_lake_that_cannot_be_written_leaves_everything_in_the_stream(shop: Shop, tmp_path: Path) -> None:
    shop.work()
    (tmp_path / "file").write_text("not a directory")
    url = str(tmp_path / "file" / "lake")
    drain = shop.drain(url=url)

    for _ in range(3):
        with pytest.raises(LakeError, match=url):
            drain.tick(shop.engine, None)

    assert shop.in_stream() == shop.told
    shop.run()
    shop.check()


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writing beyond it fails in the middle, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_takes_no_more_leaves_no_half_written_file_and_everything_in_the_stream(shop: Shop) -> None:
    shop.work()
    with files_of_at_most(1_000), pytest.raises(LakeError, match="File too large"):
        shop.run()

    assert shop.lake.everything() == []
    assert shop.in_stream() == shop.told
    shop.run()
    shop.check()


def test_a_pool_runner_logs_a_lake_in_trouble_once_and_the_pool_is_not_in_trouble(
    shop: Shop, tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "queues.pump")
    (tmp_path / "file").touch()
    settings.TASKQ_LAKE_URL = str(tmp_path / "file" / "lake")
    shop.work()
    stats = RoleStats()
    runner = PoolRunner(POOL, stats=stats, should_stop=lambda: False, open_engine=lambda _pool: shop.engine, once=True)
    drain = next(role for role in runner.roles if role.name == "drain")
    for _ in range(3):
        runner._role_breakers["drain"]._again_at = 0  # the pause is over
        runner.run(drain)
    assert not runner._pool_breaker.is_open
    (tmp_path / "file").unlink()
    runner._role_breakers["drain"]._again_at = 0
    runner.run(drain)

    assert [record.__dict__["action"] for record in caplog.records] == ["trouble", "recovered"]
    told = caplog.records[0]
    assert (told.levelname, told.exc_info) == ("WARNING", None)
    assert told.__dict__["error"].startswith(f"file://{settings.TASKQ_LAKE_URL}")
    assert Lake(settings.TASKQ_LAKE_URL).names() == shop.told


def test_what_a_dead_drain_left_half_written_is_gone_after_a_day(shop: Shop) -> None:
    shop.work()
    shop.run()
    folder = Path(shop.lake.url) / shop.lake.folders()[0]
    old, young = folder / ".a.parquet.tmp-1", folder / ".b.parquet.tmp-2"
    for path in (old, young):
        path.write_bytes(b"half")
    then = young.stat().st_mtime - 90_000
    os.utime(old, (then, then))
    shop.work()

    shop.run()

    assert (old.exists(), young.exists()) == (False, True)
    shop.check()


def test_a_lake_in_another_file_system_is_written_alike(shop: Shop) -> None:
    shop.lake = Lake(f"memory://lake-{os.urandom(4).hex()}")
    shop.work()
    shop.run()
    shop.check()

    shop.work()
    shop.run()
    shop.check()
    assert shop.lake.unfinished() == []


def test_a_file_that_is_there_is_never_replaced(shop: Shop) -> None:
    shop.work(calls=1)
    partition = max(shop.in_stream()).partition
    entries = read_plan(shop.engine, partition, None)
    first, last = entries.ids[0].decode(), entries.ids[-1].decode()
    shop.engine.run(plan_drain(partition, last))
    writer = Writer(shop.lake.url, POOL)
    name = drained_name(POOL, partition, EntryId.parse(first), EntryId.parse(last))
    events = writer.write(name, entries)

    again = writer.write(name, entries.part(1))

    assert again == events
    shop.engine.run(finish_drain(partition, EntryRange(first, last), written=again))
    shop.check()


def test_a_line_that_is_no_event_holds_up_nothing(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.work(calls=2)
    fields = {"t": "1900000000000", "q": "shop/orders0", "n": "2", "e": "what\never"}
    shop.engine.client.xadd("{tq0}:events", fields)
    shop.run()

    assert not shop.in_stream()
    assert shop.lake.names() == shop.told
    (record,) = [record for record in caplog.records if getattr(record, "action", "") == "events_malformed"]
    assert record.lines == 2  # type: ignore[attr-defined]


def test_an_empty_batch_makes_no_file(shop: Shop) -> None:
    name = drained_name(POOL, 0, EntryId(1, 0), EntryId(2, 0))

    assert Writer(shop.lake.url, POOL).write(name, Entries([], [], [], [])) == 0
    assert shop.lake.everything() == []
