"""Events leave the stream by plan: what is put down is what is written, and only what is written is taken out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from queues.embedded import EmbeddedRedis
from queues.engine import (
    DrainPlan,
    DrainState,
    Engine,
    EntryRange,
    StoreFullError,
    Trimmed,
    drain_state,
    finish_drain,
    open_engine,
    plan_drain,
    publish,
    read_events,
    trim_drained,
)

Capped = Callable[[int], "Partition"]

TEN_JOBS: Final = 40 + int(1.2 * (len("shop/orders") + 10 * len("published\t" + "0" * 26 + "\t\t0\t\t1\t\t") + 9))
CAP: Final = 10 * TEN_JOBS + 1
"""Bytes of the events of ten publishes of ten jobs, and not of one more."""


class Partition:
    """The one partition of an engine, and a queue in it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.queue = engine.queue("shop", "orders")

    def publish(self, *jobs: int) -> list[str]:
        """A call for each number of jobs. Ids of all entries that are there then."""
        for number in jobs:
            self.engine.run(publish(self.queue, [b"x"] * number))
        return self.ids()

    def ids(self) -> list[str]:
        return [entry.decode() for entry in self.engine.run(read_events(0, limit=10_000)).ids]

    def state(self) -> DrainState:
        return self.engine.run(drain_state(0))

    def plan(self, last: str, instead: EntryRange | None = None) -> DrainPlan | None:
        return self.engine.run(plan_drain(0, last, instead=instead))

    def trim(self, first: str, last: str, *, written: int, limit: int = 500) -> Trimmed | None:
        return self.engine.run(trim_drained(0, EntryRange(first, last), written=written, limit=limit))

    def counters(self) -> dict[str, int]:
        found: dict[bytes, bytes] = self.engine.client.hgetall("{tq0}:counters")
        return {name.decode(): int(value) for name, value in found.items()}


@pytest.fixture
def capped(redis_url: str) -> Capped:
    return lambda cap: Partition(open_engine(redis_url, partitions=1, events_memory=cap))


@pytest.fixture
def partition(capped: Capped) -> Partition:
    return capped(1_000_000)


def test_the_state_of_a_partition_tells_what_there_is(partition: Partition) -> None:
    assert (partition.state().entries, partition.state().oldest, partition.state().plan) == (0, None, None)
    first, second = partition.publish(3, 1)

    state = partition.state()

    assert (state.entries, state.oldest) == (2, first)
    assert 4 * 32 < state.bytes < 4 * 128
    partition.plan(second)
    assert partition.state().plan == EntryRange(first, second)
    assert 0 <= partition.state().idle_ms < 10_000


def test_a_page_holds_what_each_entry_says_in_their_order(partition: Partition) -> None:
    ids = partition.publish(1, 2, 1)
    page = partition.engine.run(read_events(0, limit=2))

    assert [entry.decode() for entry in page.ids] == ids[:2]
    assert list(page.queues) == [b"shop/orders"] * 2
    assert [lines.count(b"published") for lines in page.lines] == [1, 2]
    assert abs(int(page.times[0]) - int(ids[0].split("-")[0])) < 1_000
    rest = partition.engine.run(read_events(0, after=ids[0], until=ids[1]))
    assert [entry.decode() for entry in rest.ids] == ids[1:2]


def test_of_two_plans_the_first_one_stands(partition: Partition) -> None:
    one, two, three = partition.publish(1, 1, 1)

    first = partition.plan(two)
    second = partition.plan(three)

    assert first == DrainPlan(entries=EntryRange(one, two), gap=0, done=None, is_new=True)
    assert second == DrainPlan(entries=EntryRange(one, two), gap=0, done=None, is_new=False)


def test_a_plan_can_be_replaced_by_whoever_knows_it(partition: Partition) -> None:
    one, two, three = partition.publish(1, 1, 1)
    partition.plan(three)

    wrong = partition.plan(two, instead=EntryRange(one, two))
    right = partition.plan(two, instead=EntryRange(one, three))

    assert wrong is not None
    assert right is not None
    assert (wrong.entries.last, wrong.is_new) == (three, False)
    assert (right.entries.last, right.is_new) == (two, True)


def test_a_plan_for_entries_that_are_gone_is_refused_and_one_for_what_is_left_begins_there(
    partition: Partition,
) -> None:
    one, two, three = partition.publish(1, 1, 1)
    partition.plan(two)
    partition.trim(one, two, written=2)

    stale = partition.plan(two)
    reaching_further = partition.plan(three)

    assert stale is None
    assert reaching_further is not None
    assert reaching_further.entries == EntryRange(three, three)


def test_taking_out_goes_in_bounded_steps_and_the_last_one_ends_the_plan(partition: Partition) -> None:
    (first,) = partition.publish(2)
    ids = [first, *partition.publish(1, 1, 3, 1)[1:]]
    partition.plan(ids[3])

    steps = [partition.trim(ids[0], ids[3], written=7, limit=2) for _ in range(4)]

    assert steps == [Trimmed(events=3, more=True), Trimmed(events=4, more=True), Trimmed(events=0, more=False), None]
    assert partition.ids() == ids[4:]
    assert partition.state().plan is None
    alone = partition.state().bytes
    partition.publish(1)
    assert partition.state().bytes == 2 * alone  # what is accounted is what is there


def test_whoever_wakes_after_the_plan_was_finished_takes_nothing_out(partition: Partition) -> None:
    one, two = partition.publish(1, 1)
    partition.plan(one)
    partition.engine.run(finish_drain(0, EntryRange(one, one), written=1))
    partition.plan(two)

    assert partition.trim(one, one, written=1) is None
    assert partition.ids() == [two]


def test_what_the_cap_dropped_between_two_plans_is_the_gap_of_the_second(capped: Capped) -> None:
    partition = capped(CAP)
    (one,) = partition.publish(1)
    partition.plan(one)
    partition.trim(one, one, written=1)
    partition.publish(*[10] * 20)
    ids = partition.ids()

    plan = partition.plan(ids[-1])

    assert plan is not None
    assert plan.done == one
    assert plan.gap == partition.counters()["events_dropped"] == 200 - 10 * len(ids)


def test_what_the_cap_drops_of_a_plan_that_was_written_is_no_gap(capped: Capped) -> None:
    partition = capped(CAP)
    ids = partition.publish(*[10] * 8)
    partition.plan(ids[-1])
    partition.publish(*[10] * 6)
    left = [entry for entry in partition.ids() if entry in ids]
    assert 0 < len(left) < 8
    partition.engine.run(finish_drain(0, EntryRange(ids[0], ids[-1]), written=80))
    ids = partition.ids()

    plan = partition.plan(ids[-1])

    assert plan is not None
    assert partition.counters()["events_dropped"] > 0
    assert plan.gap == 0


def test_a_gap_is_told_until_its_plan_is_finished(capped: Capped) -> None:
    partition = capped(CAP)
    ids = partition.publish(*[10] * 20)
    plans = [partition.plan(ids[-1]), partition.plan(ids[-1])]
    partition.engine.run(finish_drain(0, EntryRange(ids[0], ids[-1]), written=100))
    (last,) = partition.publish(1)
    plans.append(partition.plan(last))

    assert [plan and plan.gap for plan in plans] == [partition.counters()["events_dropped"]] * 2 + [0]


def fill(partition: Partition) -> None:
    for _ in range(100):
        partition.engine.run(publish(partition.queue, [b"x" * 500_000]))


def test_a_full_redis_can_be_drained(tmp_path_factory: pytest.TempPathFactory) -> None:
    with EmbeddedRedis(tmp_path_factory.mktemp("full"), persistent=False) as server:
        partition = Partition(open_engine(server.url, partitions=1))
        partition.publish(1, 1, 1)
        used = partition.engine.client.info("memory")["used_memory"]
        partition.engine.client.config_set("maxmemory", used + 2_000_000)
        with pytest.raises(StoreFullError):
            fill(partition)
        ids = partition.ids()

        plan = partition.plan(ids[-1])
        assert plan is not None
        partition.engine.run(finish_drain(0, plan.entries, written=len(ids)))

        assert partition.ids() == []
        partition.engine.close()
