"""Waiting consumers: who is woken by what, in which order, and how little it costs."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import pytest
import uvloop

from queues.engine import (
    AsyncEngine,
    Consumed,
    Engine,
    PublishOptions,
    ack,
    constants,
    extend,
    fail,
    parse_backoff,
    pause,
    publish,
    reclaim_ended,
    release,
    respawn,
    resume,
)
from queues.engine.operations.consume import consume
from queues.engine.values import Delivery

from .loop import asleep, in_loop, opened, start_waiting, until
from .state import check
from .world import World

PARTITIONS = 3


@pytest.fixture
def only_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """No look once a second: what wakes a waiter now is a message or a timer."""
    monkeypatch.setattr(constants, "FALLBACK_POLL_S", 600.0)
    monkeypatch.setattr(constants, "WAITING_MARK_MS", 600_000)


@pytest.fixture
def shop(engine: Engine) -> World:
    """The producers' side, by the server's clock."""
    return World(engine, engine.queue("shop", "orders"))


def give(shop: World, *bodies: bytes, **options: Any) -> tuple[str, ...]:
    return shop.run(publish(shop.queue, bodies or (b"x",), PublishOptions(**options))).job_ids


def take(shop: World, **options: Any) -> Delivery:
    return shop.run(consume(shop.queue, ttr_ms=60_000, **options)).jobs[0]


def deafen(engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """From now on messages gather here, unheard."""
    arrived: list[bytes] = []
    for channel in engine._subscription._handlers:
        monkeypatch.setitem(engine._subscription._handlers, channel, arrived.append)
    return arrived


def count_looks(engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grows by one with each look of a waiter. Calls of Redis say less: looks at one queue may share a script call."""
    looks: list[None] = []
    attempt = engine._waiters._attempt

    async def count(*args: Any) -> Consumed:
        looks.append(None)
        return await attempt(*args)

    monkeypatch.setattr(engine._waiters, "_attempt", count)
    return looks


def bodies(consumed: Consumed) -> list[bytes]:
    return [job.body for job in consumed.jobs]


@in_loop
async def test_without_a_timeout_nobody_waits_or_subscribes(engine: Engine, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        found = await waiter.wait_consume([waiter.queue("shop", "orders")], ttr_ms=1_000, timeout_s=0)

        assert found.jobs == ()
        assert engine.client.client_list(_type="pubsub") == []


@in_loop
async def test_what_is_ready_is_handed_out_at_once(shop: World, redis_url: str) -> None:
    give(shop, b"1", b"2", b"3")
    async with opened(redis_url) as waiter:
        found = await waiter.wait_consume([shop.queue], ttr_ms=1_000, timeout_s=20, count=2, consumer="w")

    assert bodies(found) == [b"1", b"2"]
    assert {run.consumer for run in check(shop.client).queue("shop/orders").runs.values()} == {"w"}


@in_loop
async def test_who_waits_in_vain_returns_when_the_time_is_up(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        started = time.monotonic()
        found = await waiter.wait_consume([shop.queue], ttr_ms=1_000, timeout_s=0.15)

        assert found.jobs == ()
        assert 0.15 <= time.monotonic() - started < 5.0
        assert (waiter.waiting, asleep(waiter)) == (0, 0)


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_a_publish_wakes_a_waiter(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, shop.queue)
        give(shop, b"now")

        assert bodies(await waiting) == [b"now"]


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_a_delayed_job_comes_when_it_is_due_without_any_pump(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        give(shop, b"far", delay_ms=60_000)
        (waiting,) = await start_waiting(waiter, shop.queue)
        give(shop, b"near", delay_ms=120)
        (job,) = (await waiting).jobs

    assert job.body == b"near"
    assert 120 <= job.elapsed_ms < 2_000


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_every_waiter_gets_its_due_job_in_time(shop: World, redis_url: str) -> None:
    delays = [40 + 12 * number for number in range(20)]
    async with opened(redis_url) as waiter:
        waiting = await start_waiting(waiter, shop.queue, len(delays))
        for delay_ms in random.Random(3).sample(delays, k=len(delays)):
            give(shop, b"%d" % delay_ms, delay_ms=delay_ms)
        jobs = [consumed.jobs[0] for consumed in await asyncio.gather(*waiting)]

    assert sorted(int(job.body) for job in jobs) == delays
    assert all(0 <= job.elapsed_ms - int(job.body) < 2_000 for job in jobs)


@pytest.mark.usefixtures("only_messages")
@pytest.mark.parametrize("event", ["release", "release later", "fail", "fail later", "backoff", "reclaim", "respawn"])
@in_loop
async def test_whatever_makes_a_job_ready_wakes_a_waiter(shop: World, redis_url: str, event: str) -> None:
    backoff = parse_backoff("fixed:0.05") if event == "backoff" else parse_backoff("none")
    (job_id,) = give(shop, tries=3, backoff=backoff)
    take(shop)
    if event == "respawn":
        shop.run(fail(shop.queue, job_id, dead=True))
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, shop.queue)
        if event.startswith("release"):
            shop.run(release(shop.queue, job_id, delay_ms=50 if "later" in event else 0))
        elif event in ("fail", "fail later"):
            shop.run(fail(shop.queue, job_id, delay_ms=50 if "later" in event else 0))
        elif event == "backoff":
            shop.run(fail(shop.queue, job_id))
        elif event == "reclaim":
            shop.run(extend(shop.queue, job_id, ttr_ms=1))
            while not shop.run(reclaim_ended(shop.engine.layout)).jobs:
                pass
        else:
            shop.run(respawn(shop.queue, limit=1, ttl_ms=0))

        assert [found.job_id for found in (await waiting).jobs] == [job_id]


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_resuming_a_queue_wakes_as_many_as_there_are_jobs(shop: World, redis_url: str) -> None:
    shop.run(pause(shop.queue))
    async with opened(redis_url) as waiter:
        waiting = await start_waiting(waiter, shop.queue, 3)
        give(shop, b"1", b"2", b"3")
        await until(lambda: asleep(waiter) == 3, or_fail="they do not go back to sleep")
        shop.run(resume(shop.queue))

        assert sorted(bodies(found)[0] for found in await asyncio.gather(*waiting)) == [b"1", b"2", b"3"]


@pytest.mark.usefixtures("only_messages")
@pytest.mark.parametrize("event", ["ack", "fail", "release", "reclaim"])
@in_loop
async def test_a_place_in_flight_that_becomes_free_wakes_a_waiter(shop: World, redis_url: str, event: str) -> None:
    first, second = give(shop, b"1", b"2")
    take(shop)
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, shop.queue, max_in_flight=1)
        if event == "ack":
            shop.run(ack(shop.queue, [first]))
        elif event == "fail":
            shop.run(fail(shop.queue, first))
        elif event == "release":
            shop.run(release(shop.queue, first))
        else:
            shop.run(extend(shop.queue, first, ttr_ms=1))
            while not shop.run(reclaim_ended(shop.engine.layout)).jobs:
                pass

        (job,) = (await waiting).jobs
    assert job.job_id == (first if event == "release" else second)


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_who_came_first_is_served_first(shop: World, redis_url: str) -> None:
    served: list[int] = []

    async def wait(waiter: AsyncEngine, number: int) -> None:
        await waiter.wait_consume([shop.queue], ttr_ms=60_000, timeout_s=20)
        served.append(number)

    async with opened(redis_url) as waiter:
        tasks = []
        for number in range(12):
            tasks.append(asyncio.create_task(wait(waiter, number)))
            await until(lambda wanted=number + 1: asleep(waiter) == wanted, or_fail="no sleep")  # type: ignore[misc]
        for number in range(12):
            give(shop)
            await until(lambda wanted=number + 1: len(served) == wanted, or_fail="nobody is served")  # type: ignore[misc]
        await asyncio.gather(*tasks)

    assert served == list(range(12))


def calls_of(engine: Engine) -> int:
    """Script calls that Redis has run so far."""
    return int(engine.client.info("commandstats")["cmdstat_evalsha"]["calls"])


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_so_many_jobs_wake_so_many_waiters(shop: World, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(redis_url) as waiter:
        waiting = await start_waiting(waiter, shop.queue, 30)
        looks = count_looks(waiter, monkeypatch)
        give(shop, b"1", b"2", b"3")
        await until(lambda: sum(task.done() for task in waiting) == 3, or_fail="three are not served")
        await until(lambda: asleep(waiter) == 27, or_fail="the others do not sleep")

        assert len(looks) == 3
        assert [task.done() for task in waiting] == [True] * 3 + [False] * 27
        for task in waiting:
            task.cancel()


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_a_publish_to_a_queue_that_nobody_waits_on_wakes_nobody(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, shop.queue)
        shop.client.script_load(publish(shop.queue, [b"x"]).script.source)  # to call an unknown script takes two calls
        before = calls_of(shop.engine)
        for number in range(9):
            World(shop.engine, shop.engine.queue("shop", f"other{number}")).publish_one()
        await asyncio.sleep(0)

        assert calls_of(shop.engine) - before == 9
        assert not waiting.done()
        waiting.cancel()


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_several_queues_are_waited_for_in_their_order(shop: World, redis_url: str) -> None:
    high, low = (World(shop.engine, shop.engine.queue("shop", name)) for name in ("high", "low"))
    async with opened(redis_url) as waiter:
        waiting = await start_waiting(waiter, [high.queue, low.queue], 2)
        give(low, b"low")
        await until(lambda: any(task.done() for task in waiting), or_fail="the low queue wakes nobody")
        shop.run(pause(low.queue))
        shop.run(pause(high.queue))
        give(low, b"low2")
        give(high, b"high")
        shop.run(resume(high.queue))
        found = [bodies(consumed) for consumed in await asyncio.gather(*waiting)]

    assert sorted(found) == [[b"high"], [b"low"]]


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_waiters_of_different_sets_of_queues_share_a_queue_by_arrival(shop: World, redis_url: str) -> None:
    other = World(shop.engine, shop.engine.queue("shop", "other"))
    async with opened(redis_url) as waiter:
        (first,) = await start_waiting(waiter, [other.queue, shop.queue])
        (second,) = await start_waiting(waiter, shop.queue)
        (third,) = await start_waiting(waiter, [shop.queue, other.queue])
        for number, task in enumerate((first, second, third)):
            give(shop, b"%d" % number)
            assert bodies(await task) == [b"%d" % number]


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_a_due_time_is_known_to_every_line_of_its_queue(shop: World, redis_url: str) -> None:
    other = World(shop.engine, shop.engine.queue("shop", "other"))
    async with opened(redis_url) as waiter:
        (leaving,) = await start_waiting(waiter, [other.queue, shop.queue])
        (staying,) = await start_waiting(waiter, shop.queue)
        give(shop, b"later", delay_ms=150)
        leaving.cancel()

        (job,) = (await asyncio.wait_for(staying, 10)).jobs

    assert 150 <= job.elapsed_ms < 2_000


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_garbage_on_the_wake_channel_is_passed_over(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, shop.queue)
        for garbage in (b"", b"\t\t", b"ready\tshop/orders\tmany", b"\xff" * 99):
            shop.client.publish(shop.queue.channel, garbage)
        give(shop, b"x")

        assert bodies(await asyncio.wait_for(waiting, 10)) == [b"x"]


@in_loop
async def test_who_gave_up_waiting_leaves_nothing_in_the_line(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        (long,) = await start_waiting(waiter, shop.queue)
        for _ in range(5):
            assert (await waiter.wait_consume([shop.queue], ttr_ms=1_000, timeout_s=0.01)).jobs == ()
        (group,) = waiter._waiters._groups.all()

        assert len(group.sleeping) <= 1
        long.cancel()


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_a_waiter_that_may_take_many_takes_what_is_there(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, shop.queue, count=10)
        give(shop, b"1", b"2", b"3")

        assert bodies(await waiting) == [b"1", b"2", b"3"]


@in_loop
async def test_a_message_that_is_lost_is_made_up_for(
    shop: World, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "FALLBACK_POLL_S", 0.1)
    async with opened(redis_url) as waiter:
        deafen(waiter, monkeypatch)
        waiting = await start_waiting(waiter, shop.queue, 3)
        give(shop, b"1", b"2", b"3")
        done = await asyncio.gather(*waiting)

    assert sorted(bodies(found)[0] for found in done) == [b"1", b"2", b"3"]


@in_loop
async def test_the_mark_of_a_waiter_is_renewed_for_as_long_as_it_waits(
    shop: World, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "FALLBACK_POLL_S", 0.05)
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, shop.queue)

        def mark() -> int:
            return check(shop.client).partition(shop.queue.partition).waiting["shop/orders"]

        before = mark()
        await until(lambda: mark() > before, or_fail="the mark is not renewed")
        waiting.cancel()


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_a_subscription_that_was_cut_is_made_again(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, shop.queue)
        (old,) = shop.client.client_list(_type="pubsub")
        shop.client.client_kill_filter(_id=old["id"])
        await until(lambda: shop.client.pubsub_numsub(shop.queue.channel)[0][1] == 1, or_fail="it stays cut")
        await until(lambda: waiter._subscription.established, or_fail="it is not confirmed")
        give(shop, b"after")

        assert bodies(await waiting) == [b"after"]


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_an_idle_subscription_is_not_cut_by_the_reply_timeout(
    shop: World, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from queues.engine.transport import connection

    monkeypatch.setitem(connection._COMMON, "socket_timeout", 0.2)
    async with opened(redis_url) as waiter:
        (waiting,) = await start_waiting(waiter, shop.queue)
        (old,) = shop.client.client_list(_type="pubsub")
        await until(lambda: int(shop.client.client_list(_type="pubsub")[0]["age"]) >= 2, or_fail="no time passes")
        assert [client["id"] for client in shop.client.client_list(_type="pubsub")] == [old["id"]]
        give(shop, b"x")
        await waiting


@in_loop
async def test_stopping_lets_every_waiter_go_empty_handed_at_once(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        waiting = await start_waiting(waiter, shop.queue, 40)
        (for_a_result,) = give(shop, delay_ms=60_000)
        result = asyncio.create_task(waiter.wait_result(shop.queue, for_a_result, timeout_s=20))
        await until(
            lambda: for_a_result.encode() in waiter._waiters.results._of_job, or_fail="nobody waits for the result"
        )
        started = time.monotonic()
        await waiter.stop_waiting()
        done = await asyncio.gather(*waiting)
        pending = await result

        assert time.monotonic() - started < 5.0
        assert {found.jobs for found in done} == {()}
        assert pending.body is None
        late = await waiter.wait_consume([shop.queue], ttr_ms=1_000, timeout_s=20)
        assert late.jobs == ()
        assert waiter.waiting == 0
    await until(lambda: shop.client.client_list(_type="pubsub") == [], or_fail="the subscription outlives its engine")


@in_loop
async def test_closing_lets_every_waiter_go_empty_handed(shop: World, redis_url: str) -> None:
    async with opened(redis_url) as waiter:
        waiting = await start_waiting(waiter, shop.queue, 5)

    assert {found.jobs for found in await asyncio.gather(*waiting)} == {()}


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_a_thousand_waiters_share_one_subscription_and_few_connections(shop: World, redis_url: str) -> None:
    before = len(shop.client.client_list())  # of tests before
    async with opened(redis_url) as waiter:
        waiting = await start_waiting(waiter, shop.queue, 1_000)
        assert waiter.waiting == 1_000
        assert len(shop.client.client_list(_type="pubsub")) == 1
        for _ in range(10):
            give(shop, *[b"x"] * 100)
        done = await asyncio.gather(*waiting)

        assert len({found.jobs[0].job_id for found in done}) == 1_000
        assert len(shop.client.client_list()) < before + 6
        assert (waiter.waiting, asleep(waiter)) == (0, 0)
        assert len(waiter._waiters._groups) == 0


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_a_waiter_that_is_cancelled_asleep_hands_its_wake_up_on(
    shop: World, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(redis_url) as waiter:
        first, second = await start_waiting(waiter, shop.queue, 2)
        arrived = deafen(waiter, monkeypatch)
        give(shop, b"x")
        await until(lambda: arrived, or_fail="no message comes")
        waiter._waiters.on_message(arrived[0])
        first.cancel()

        assert bodies(await second) == [b"x"]
        assert isinstance((await asyncio.gather(first, return_exceptions=True))[0], asyncio.CancelledError)


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_who_looked_in_vain_keeps_the_place_that_its_arrival_gave_it(
    shop: World, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(redis_url) as waiter:
        first, second, third = await start_waiting(waiter, shop.queue, 3)
        looks = count_looks(waiter, monkeypatch)
        for _ in range(2):
            waiter._waiters.on_message(b"ready\tshop/orders\t2")
            await until(lambda: asleep(waiter) == 3, or_fail="they do not go back to sleep")
        assert len(looks) == 4

        for number, task in enumerate((first, second, third)):
            give(shop, b"%d" % number)
            assert bodies(await task) == [b"%d" % number]


@pytest.mark.usefixtures("only_messages")
@in_loop
async def test_a_message_that_comes_while_a_waiter_looks_makes_it_look_again(
    shop: World, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(redis_url) as waiter:
        look = waiter._waiters._attempt
        looks = 0

        async def look_slowly(*args: Any) -> Consumed:
            """The first answer, "nothing", arrives after the message about a job that came behind it."""
            nonlocal looks
            found = await look(*args)
            looks += 1
            if looks == 1:
                give(shop, b"x")
                await until(lambda: shop.queue.name in waiter._waiters._groups.messages, or_fail="no message comes")
            return found

        monkeypatch.setattr(waiter._waiters, "_attempt", look_slowly)
        found = await waiter.wait_consume([shop.queue], ttr_ms=60_000, timeout_s=20)

    assert (bodies(found), looks) == ([b"x"], 2)


@pytest.mark.parametrize("seed", range(4))
@in_loop
async def test_a_cancelled_waiter_takes_no_job_with_it(shop: World, redis_url: str, seed: int) -> None:
    chance = random.Random(seed)
    published: list[str] = []
    delivered: list[str] = []
    async with opened(redis_url) as waiter:
        for _ in range(40):
            tasks = [
                asyncio.create_task(waiter.wait_consume([shop.queue], ttr_ms=600_000, timeout_s=20)) for _ in range(4)
            ]
            await asyncio.sleep(chance.choice((0, 0, 0.001)))
            published += give(shop, *[b"x"] * chance.randrange(4), b"y", tries=1)
            for task in chance.sample(tasks, k=3):
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                task.cancel()
            found = await asyncio.gather(*[asyncio.wait_for(task, 15) for task in tasks], return_exceptions=True)
            delivered += [job.job_id for result in found if isinstance(result, Consumed) for job in result.jobs]
        await until(
            lambda: set(check(shop.client).queue("shop/orders").working) <= set(delivered),
            or_fail="jobs of cancelled waiters are not given back",
        )
        content = check(shop.client).queue("shop/orders")

    assert len(set(delivered)) == len(delivered)
    assert set(content.working) == set(delivered)
    assert set(content.jobs) == set(published)
    for job_id in content.jobs.keys() - content.working.keys():
        assert content.places_of(job_id) == ["ready"]
        assert job_id not in content.runs or content.runs[job_id].used == 0


@pytest.mark.parametrize("what", ["job", "result"])
def test_a_wait_never_ends_early_by_the_clock_of_uvloop(shop: World, redis_url: str, what: str) -> None:
    """That clock counts whole ms, so what matters is in which part of one a wait begins."""

    async def wait_in_vain(waiter: AsyncEngine, timeout_s: float) -> None:
        if what == "job":
            await waiter.wait_consume([shop.queue], ttr_ms=1_000, timeout_s=timeout_s)
        else:
            await waiter.wait_result(shop.queue, job_id, timeout_s=timeout_s)

    async def wait() -> None:
        async with opened(redis_url) as waiter:
            for part in range(30):
                while time.monotonic_ns() // 33_333 % 30 != part:
                    pass
                started = time.monotonic()
                await wait_in_vain(waiter, 0.01)

                assert time.monotonic() - started >= 0.01

    (job_id,) = give(shop, delay_ms=60_000)
    uvloop.run(wait())


def test_a_delay_is_never_shorter_than_asked_for(shop: World) -> None:
    """Redis tells microseconds; whole ms rounded down would make every other job due within less than its delay."""
    for _ in range(20):
        published = microseconds(shop)
        give(shop, delay_ms=5)
        while not (found := shop.run(consume(shop.queue, ttr_ms=60_000))).jobs:
            pass

        assert microseconds(shop) - published >= 5_000
        assert len(found.jobs) == 1


def microseconds(shop: World) -> int:
    seconds, rest = shop.client.time()
    return int(seconds) * 1_000_000 + int(rest)
