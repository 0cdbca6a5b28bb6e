"""Operations that count their request against a token's limit in the same call: one round trip, all or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest

from queues.engine import (
    AsyncEngine,
    Engine,
    InvalidArgumentError,
    LimitReachedError,
    Operation,
    PublishOptions,
    RequestLimit,
    StoreFullError,
    constants,
    consume,
    consume_any,
    limited,
    pause,
    publish,
    republish,
    size,
)
from queues.engine.keys import limit_key
from queues.engine.operations.consume import consume_step, is_again
from queues.engine.scripts import load, load_limited, script_names
from queues.engine.transport.merging import merge
from queues.engine.values import RequestKind
from tests.support.rows import in_one_test
from tests.support.waiting import wait_until

from .loop import in_loop, opened, start_waiting, until, until_it_is_so
from .test_ack import UNKNOWN
from .world import World

COUNTING = (
    "consume",
    "consume_with_limits",
    "publish",
    "publish_blocked",
    "publish_grouped",
    "publish_keyed",
    "publish_once",
    "publish_staged",
    "publish_staged_blocked",
    "republish",
)


def limit(allowance: int = 3, *, kind: RequestKind = "write", interval_ms: int = 600_000) -> RequestLimit:
    return RequestLimit(token_id="t", kind=kind, allowance=allowance, interval_ms=interval_ms)


def key_of(limit: RequestLimit) -> bytes:
    return limit_key(limit.token_id, limit.kind, limit.allowance, limit.interval_ms)


def counted(world: World, limit: RequestLimit) -> int:
    value = world.client.get(key_of(limit))
    return limit.allowance - int(value.split()[0]) if value else 0


async def counted_by(engine: AsyncEngine, limit: RequestLimit) -> int:
    value = await engine.client.get(key_of(limit))
    return limit.allowance - int(value.split()[0]) if value else 0


def script_calls(client: Any) -> int:
    return sum(
        stats["calls"]
        for name, stats in client.info("commandstats").items()
        if name in ("cmdstat_evalsha", "cmdstat_eval")
    )


@pytest.fixture
def full(world: World) -> Iterator[Callable[[], None]]:
    """Call it to fill Redis up."""
    yield lambda: world.client.config_set("maxmemory", 1)
    world.client.config_set("maxmemory", 0)


def test_a_limited_operation_is_one_script_call(world: World) -> None:
    writes, reads = limit(9), limit(9, kind="read")
    operations: list[Operation[Any]] = [
        limited(publish(world.queue, [b"x"]), writes),
        limited(publish(world.queue, [b"y", b"z"]), writes),
        limited(republish(world.queue, UNKNOWN, b"x"), writes),
        consume_step(world.queue, ttr_ms=1_000, limit=reads),
        consume_step(world.queue, ttr_ms=1_000, count=9, limit=reads),
        consume_step(world.queue, ttr_ms=1_000, limit=reads),
    ]
    for operation in operations:
        world.client.script_load(operation.script.source)
    before = script_calls(world.client)

    for operation in operations:
        world.run(operation)

    assert script_calls(world.client) - before == len(operations)
    assert (counted(world, writes), counted(world, reads)) == (3, 2)


@in_loop
async def test_and_one_round_trip(redis_url: str) -> None:
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        before = engine.batches

        await engine.run(limited(publish(queue, [b"x"]), limit()))
        found = await engine.wait_consume([queue], ttr_ms=1_000, timeout_s=0, limit=limit(kind="read"))

        assert engine.batches - before == 2
        assert [job.body for job in found.jobs] == [b"x"]


@pytest.mark.parametrize("allowance", [1, 7])
def test_beyond_the_limit_nothing_is_done(world: World, allowance: int) -> None:
    narrow = limit(allowance)
    for _ in range(allowance):
        world.run(limited(publish(world.queue, [b"x"], now_ms=world.now_ms), narrow))
    before = world.state()

    for operation in (publish(world.queue, [b"x"]), republish(world.queue, min(before.jobs), b"x")):
        with pytest.raises(LimitReachedError, match="publish rate limit reached") as refused:
            world.run(limited(operation, narrow))
        assert 590_000 < refused.value.retry_after_ms <= 600_000

    assert world.state() == before
    assert len(before.jobs) == allowance


def test_no_job_leaves_its_queue_beyond_the_limit(world: World) -> None:
    world.run(publish(world.queue, [b"1", b"2"]))
    assert world.run(consume_step(world.queue, ttr_ms=1_000, limit=limit(1, kind="read"))).jobs

    with pytest.raises(LimitReachedError, match="consume rate limit reached"):
        world.run(consume_step(world.queue, ttr_ms=1_000, limit=limit(1, kind="read")))

    assert world.run(size(world.queue)) == 1


@in_loop
async def test_of_many_requests_of_two_processes_exactly_as_many_as_allowed_pass(redis_url: str) -> None:
    writes, reads = limit(100), limit(60, kind="read")
    async with opened(redis_url) as one, opened(redis_url) as other:
        queues = [one.queue("shop", f"q{number}") for number in range(3)]
        published = await asyncio.gather(
            *[
                engine.run(limited(publish(queue, [b"x"]), writes))
                for _ in range(40)
                for engine in (one, other)
                for queue in queues
            ],
            return_exceptions=True,
        )
        consumed = await asyncio.gather(
            *[
                engine.wait_consume([queue], ttr_ms=60_000, timeout_s=0, limit=reads)
                for _ in range(40)
                for engine in (one, other)
                for queue in queues
            ],
            return_exceptions=True,
        )
        left = sum(await one.batch([size(queue) for queue in queues]))

    refused = [reply for reply in published if isinstance(reply, LimitReachedError)]
    assert (len(published) - len(refused), len(refused)) == (100, 140)
    assert sum(len(reply.jobs) for reply in consumed if not isinstance(reply, BaseException)) == 60
    assert left == 40


def test_what_brings_nothing_does_not_count(world: World) -> None:
    writes, reads = limit(), limit(kind="read")
    short = PublishOptions(delay_ms=9_000, ttl_ms=5_000)

    for operation in (publish(world.queue, [b"x"], short), republish(world.queue, UNKNOWN, b"x", short)):
        with pytest.raises(InvalidArgumentError, match="ttl is shorter"):
            world.run(limited(operation, writes))
    assert not world.run(consume_step(world.queue, ttr_ms=1_000, limit=reads)).jobs
    world.run(publish(world.queue, [b"1", b"2"]))
    assert world.run(consume_step(world.queue, ttr_ms=60_000)).jobs
    assert not world.run(consume_step(world.queue, ttr_ms=1_000, max_in_flight=1, limit=reads)).jobs
    world.run(pause(world.queue))
    assert not world.run(consume_step(world.queue, ttr_ms=1_000, limit=reads)).jobs

    assert (counted(world, writes), counted(world, reads)) == (0, 0)
    assert world.client.exists(key_of(writes), key_of(reads)) == 0


def test_a_consume_over_dead_entries_only_counts_once_there_is_a_job(world: World) -> None:
    reads = limit(kind="read")
    for _ in range(2):
        world.publish(*[b"x"] * (constants.SKIP_BATCH // 2), ttl_ms=5)
    world.advance(5)
    world.publish(b"alive")

    step = consume_step(world.queue, ttr_ms=1_000, limit=reads, now_ms=world.now_ms)
    first, second = world.run(step), world.run(step)

    assert (is_again(first), is_again(second)) == (True, False)
    assert [job.body for job in second.jobs] == [b"alive"]
    assert counted(world, reads) == 1


def test_a_duplicate_counts_for_it_succeeds(world: World) -> None:
    keyed = publish(world.queue, [b"x"], PublishOptions(key="k"))

    first, second = (world.run(limited(keyed, limit())) for _ in range(2))

    assert (first.duplicate, second.duplicate, second.job_ids) == (False, True, first.job_ids)
    assert counted(world, limit()) == 2


def test_a_full_redis_refuses_a_publish_and_counts_none(world: World, full: Callable[[], None]) -> None:
    world.run(limited(publish(world.queue, [b"x"]), limit()))
    full()

    for operation in (publish(world.queue, [b"y"]), republish(world.queue, UNKNOWN, b"z")):
        with pytest.raises(StoreFullError):
            world.run(limited(operation, limit()))

    assert counted(world, limit()) == 1
    assert world.run(size(world.queue)) == 1


def test_a_full_redis_goes_on_counting_what_succeeds(world: World, full: Callable[[], None]) -> None:
    keyed = publish(world.queue, [b"x"], PublishOptions(key="k"))
    world.run(keyed)
    full()

    assert world.run(limited(keyed, limit())).duplicate
    assert world.run(consume_step(world.queue, ttr_ms=1_000, limit=limit(kind="read"))).jobs
    assert (counted(world, limit()), counted(world, limit(kind="read"))) == (1, 1)


def test_a_new_interval_allows_again(world: World) -> None:
    short = limit(1, interval_ms=30)
    world.run(limited(publish(world.queue, [b"x"]), short))

    def passes() -> bool:
        try:
            world.run(limited(publish(world.queue, [b"x"]), short))
        except LimitReachedError:
            return False
        return True

    wait_until(passes, or_fail="the interval does not end")


def test_long_scripts_do_not_prolong_the_interval(world: World) -> None:
    wide = limit(10_000, interval_ms=60_000)
    bulk = [b"x" * 100] * 1_000
    for _ in range(30):
        world.run(limited(publish(world.queue, bulk), wide))

    ticket = int(world.client.get(key_of(wide)).split()[1])
    before = int(world.client.time()[0]) * 1_000 + world.client.time()[1] // 1_000
    left_ms = world.client.pttl(key_of(wide))
    assert left_ms <= ticket // 1_000 - before
    assert left_ms > 50_000


def test_results_and_state_are_those_of_the_plain_operation(world: World) -> None:
    options = PublishOptions(priority=3, key="k", attributes={"a": "b"}, retention_ms=9_000, tries=4)
    plain = world.run(publish(world.queue, [b"1"], options, now_ms=world.now_ms))
    other = PublishOptions(priority=3, key="other", attributes={"a": "b"}, retention_ms=9_000, tries=4)
    own = world.run(limited(publish(world.queue, [b"2"], other, now_ms=world.now_ms), limit()))
    delayed = PublishOptions(delay_ms=5_000)
    world.run(limited(publish(world.queue, [b"3", b"4"], delayed, now_ms=world.now_ms), limit()))

    one, two = (
        world.run(consume_step(world.queue, ttr_ms=9, now_ms=world.now_ms, consumer="me", limit=its)).jobs
        for its in (None, limit(kind="read"))
    )

    assert (one[0].job_id, two[0].job_id) == (plain.job_ids[0], own.job_ids[0])
    assert (two[0].body, two[0].attributes, two[0].tries, two[0].attempt) == (b"2", {"a": "b"}, 4, 1)
    assert sorted(world.places().values()) == ["delayed", "delayed", "working", "working"]
    world.advance(5_000)
    last = world.run(consume_step(world.queue, ttr_ms=9, count=5, now_ms=world.now_ms, limit=limit(kind="read")))
    assert [job.body for job in last.jobs] == [b"3", b"4"]


def test_several_queues_count_as_one_request(world: World) -> None:
    queues = [world.engine.queue("shop", f"q{number}") for number in range(4)]
    for queue in queues[1:]:
        world.run(publish(queue, [b"x"] * 2))
    reads = limit(1, kind="read")

    found = world.run(consume_any(queues, ttr_ms=1_000, count=5, limit=reads))

    assert (len(found.jobs), counted(world, reads)) == (5, 1)
    with pytest.raises(LimitReachedError):
        world.run(consume_any(queues, ttr_ms=1_000, count=5, limit=reads))
    assert world.run(size(queues[3])) == 1


def test_only_requests_under_the_same_limit_share_a_call(world: World) -> None:
    one, other = limit(), RequestLimit(token_id="other", kind="write", allowance=3, interval_ms=600_000)
    operations: list[Operation[Any]] = [publish(world.queue, [b"x"]) for _ in range(2)]
    operations += [limited(publish(world.queue, [b"x"]), its) for its in (one, other, one)]
    operations += [
        limited(publish(world.queue, [b"x", b"y"]), one),
        limited(republish(world.queue, UNKNOWN, b"x"), one),
    ]
    operations += [consume_step(world.queue, ttr_ms=1, limit=limit(kind="read")) for _ in range(2)]

    assert [list(call.places) for call in merge(operations)] == [[0, 1], [2, 4], [3], [5], [6], [7, 8]]


async def _in_one_turn(engine: AsyncEngine, operations: list[Operation[Any]]) -> list[Any]:
    for script in {operation.script.source for operation in operations}:
        await engine.client.script_load(script)
    before = engine.batches
    results = await asyncio.gather(*[engine.run(one) for one in operations], return_exceptions=True)
    assert engine.batches - before == 1
    return results


@pytest.mark.parametrize("taken_before", [0, 1, 3, 9])
@in_loop
async def test_of_publishes_that_share_a_call_the_first_that_fit_are_carried_out(
    redis_url: str, taken_before: int
) -> None:
    nine = limit(9)
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        for _ in range(taken_before):
            await engine.run(limited(publish(engine.queue("shop", "other"), [b"x"]), nine))

        results = await _in_one_turn(engine, [limited(publish(queue, [b"%d" % n]), nine) for n in range(12)])
        jobs = (await engine.run(consume(queue, ttr_ms=1_000, count=99))).jobs
        count = await counted_by(engine, nine)

    fit = 9 - taken_before
    assert [(job.job_id, job.body) for job in jobs] == [
        (result.job_ids[0], b"%d" % n) for n, result in enumerate(results[:fit])
    ]
    assert all(isinstance(result, LimitReachedError) for result in results[fit:])
    assert all(590_000 < result.retry_after_ms <= 600_000 for result in results[fit:])
    assert count == 9


@pytest.mark.parametrize("jobs", [0, 1, 4, 5, 9])
@in_loop
async def test_consumes_that_share_a_call_end_as_if_they_had_come_one_after_the_other(
    redis_url: str, jobs: int
) -> None:
    async with opened(redis_url) as engine:
        ends = []
        for name, together in (("a", True), ("b", False)):
            its = RequestLimit(token_id=name, kind="read", allowance=4, interval_ms=600_000)
            queue = engine.queue("shop", name)
            for n in range(jobs):
                await engine.run(publish(queue, [b"%d" % n]))
            steps = [consume_step(queue, ttr_ms=60_000, consumer=f"c{n}", limit=its) for n in range(7)]
            if together:
                results = await _in_one_turn(engine, steps)
            else:
                results = [(await asyncio.gather(engine.run(step), return_exceptions=True))[0] for step in steps]
            ends.append(
                ["refused" if isinstance(one, LimitReachedError) else [job.body for job in one.jobs] for one in results]
                + [await counted_by(engine, its), await engine.run(size(queue))]
            )

    assert ends[0] == ends[1]


@in_loop
async def test_publishes_that_share_a_call_and_are_not_allowed_by_redis_do_not_count(redis_url: str) -> None:
    short = PublishOptions(ttl_ms=1_000, delay_ms=2_000)
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        wrong = await _in_one_turn(engine, [limited(publish(queue, [b"x"], short), limit()) for _ in range(5)])
        await engine.client.config_set("maxmemory", 1)
        try:
            full = await _in_one_turn(engine, [limited(publish(queue, [b"x"]), limit()) for _ in range(5)])
        finally:
            await engine.client.config_set("maxmemory", 0)

        assert all(isinstance(one, InvalidArgumentError) for one in wrong)
        assert all(isinstance(one, StoreFullError) for one in full)
        assert (await counted_by(engine, limit()), await engine.run(size(queue))) == (0, 0)


@in_loop
async def test_of_consumes_that_share_a_call_the_cancelled_get_neither_job_nor_count(redis_url: str) -> None:
    reads = limit(9, kind="read")
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        await engine.run(publish(queue, [b"x"] * 6))
        before = engine.batches
        tasks = [
            asyncio.create_task(engine.wait_consume([queue], ttr_ms=60_000, timeout_s=0, limit=reads)) for _ in range(6)
        ]
        while engine.batches == before:  # noqa: ASYNC110 - at the first turn after, before the reply
            await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        await asyncio.wait(tasks)

        async def is_so() -> bool:
            return await engine.run(size(queue)) == 3 and await counted_by(engine, reads) == 3

        assert [task.cancelled() for task in tasks] == [True, False] * 3
        await until_it_is_so(is_so, or_fail="not given back")


@pytest.mark.parametrize("queues", [["a"], ["a", "b"]])
@in_loop
async def test_who_is_cancelled_in_the_middle_gets_neither_job_nor_count(redis_url: str, queues: list[str]) -> None:
    reads = limit(kind="read")
    async with opened(redis_url) as engine:
        named = [engine.queue("shop", name) for name in queues]
        await engine.run(publish(named[-1], [b"x"]))
        before = engine.batches + len(queues) - 1
        task = asyncio.create_task(engine.wait_consume(named, ttr_ms=60_000, timeout_s=0, limit=reads))
        while engine.batches <= before:  # noqa: ASYNC110 - at the first turn after, before the reply
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

        async def is_as_before() -> bool:
            return await engine.run(size(named[-1])) == 1 and await counted_by(engine, reads) == 0

        assert task.cancelled()
        await until_it_is_so(is_as_before, or_fail="it is not given back")
        assert (await engine.run(consume(named[-1], ttr_ms=1_000))).jobs[0].used == 1


@in_loop
async def test_a_waiter_counts_when_its_job_comes(redis_url: str) -> None:
    reads = limit(kind="read")
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        (waiting,) = await start_waiting(engine, queue, limit=reads)
        assert await counted_by(engine, reads) == 0

        await engine.run(publish(queue, [b"x"]))

        assert [job.body for job in (await waiting).jobs] == [b"x"]
        assert await counted_by(engine, reads) == 1


@pytest.mark.parametrize("others", [["orders"], ["mails", "orders"]], ids=["same line", "another line"])
@in_loop
async def test_a_waiter_that_is_refused_leaves_the_job_to_the_next(redis_url: str, others: list[str]) -> None:
    reads = limit(1, kind="read")
    async with opened(redis_url) as engine:
        queue = engine.queue("shop", "orders")
        refused = await start_waiting(engine, queue, 3, limit=reads)
        (next_in_line,) = await start_waiting(engine, [engine.queue("shop", name) for name in others])
        engine._waiters._fallback_polls.stop()
        elsewhere = engine.queue("shop", "elsewhere")
        await engine.run(publish(elsewhere, [b"y"]))
        await engine.wait_consume([elsewhere], ttr_ms=60_000, timeout_s=0, limit=reads)

        await engine.run(publish(queue, [b"x"]))

        assert [job.body for job in (await next_in_line).jobs] == [b"x"]
        await until(lambda: all(task.done() for task in refused), or_fail="they wait for what they may not take")
        assert all(isinstance(task.exception(), LimitReachedError) for task in refused)


@in_one_test("name", COUNTING)
def test_redis_compiles_the_limited_form_under_the_sha_it_is_called_by(engine: Engine, name: str) -> None:
    script = load_limited(name)

    assert engine.client.script_load(script.source) == script.sha
    assert script.sha != load(name).sha
    assert script.keys == ("limit", *load(name).keys)
    assert script.args == ("allowance", "interval", "requests", *load(name).args)


def test_only_scripts_that_say_what_counts_have_a_limited_form() -> None:
    built = {path.name for path in (files("queues.engine") / "lua" / "built").iterdir()}

    assert tuple(name for name in script_names() if f"limited_{name}.lua" in built) == COUNTING
