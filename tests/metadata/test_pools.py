"""Pools: add, check, and from name to engine."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from asgiref.sync import sync_to_async
from django.core.checks import run_checks
from django.core.management import call_command

from queues.embedded import EmbeddedRedis
from queues.engine import StoreInfo, StoreUnavailableError, open_engine, publish, same_place, size
from queues.models import Pool
from queues.pools import async_engine_for, close_async_engines, close_engines, engine_for, engines, rows
from queues.pools.ttl_cache import TtlCache, forget_everything
from queues.services.errors import InvalidArgumentError, PoolExistsError, PoolNotFoundError
from queues.services.pools.managing import (
    AdviceKind,
    ProblemKind,
    add_pool,
    check_pool,
    check_pools,
    find_advice,
    find_problems,
    list_pools,
)
from tests.support.clock import ManualClock
from tests.support.loops import run_async
from tests.support.outage import database_away
from tests.support.redis_servers import version_of
from tests.support.rows import in_one_test

pytestmark = pytest.mark.django_db
NOBODY = "unix:///nonexistent/redis.sock"


@pytest.fixture(autouse=True)
def closed_engines() -> None:
    close_engines()


def kinds(name: str = "default") -> list[ProblemKind | AdviceKind]:
    return [problem.kind for problem in check_pool(name=name).problems]


def test_a_pool_is_added_and_listed_without_its_password(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        add_pool(name="images", url="redis://u:hunter2@127.0.0.1:1/0", partitions=4, description="thumbnails")
    listed = list_pools()
    assert [(pool.name, pool.shown_url, pool.partitions) for pool in listed][1:] == [
        ("images", "redis://u:***@127.0.0.1:1/0", 4)
    ]
    assert "hunter2" not in repr(listed) + repr(rows.find_pool("images")) + str([vars(r) for r in caplog.records])


def test_a_pool_takes_the_partitions_that_its_redis_was_set_up_with(redis_url: str) -> None:
    other = f"{redis_url}?db=3"
    open_engine(other, partitions=3).close()
    assert add_pool(name="same", url=other).partitions == 3
    assert add_pool(name="silent", url=NOBODY).partitions == 8


@in_one_test(
    ("one", "other", "same"),
    [
        ("redis://h", "redis://:secret@H:6379/0", True),
        ("redis://h/1", "redis://h?db=1", True),
        ("redis://h/1", "redis://h/2", False),
        ("redis://h:1", "redis://h:2", False),
        ("unix:///a/b?db=1", "unix://:pw@/a/b?db=1", True),
        ("unix:///a/b", "unix:///a/b?db=1", False),
        ("redis+cluster://a:1,b:2", "redis+cluster://b:2,a:1", True),
        ("redis+sentinel://a:1/x", "redis+sentinel://a:1/y", False),
        ("redis://h:port", "redis://h:port", False),
    ],
)
def test_urls_of_one_database_are_known_as_such(one: str, other: str, same: bool) -> None:
    assert same_place(one, other) is same


@pytest.mark.parametrize(
    ("name", "url", "partitions"), [("a b", NOBODY, None), ("x", "", None), ("x", "http://h", None), ("x", NOBODY, 257)]
)
def test_a_pool_that_makes_no_sense_is_refused(name: str, url: str, partitions: int | None) -> None:
    with pytest.raises(InvalidArgumentError):
        add_pool(name=name, url=url, partitions=partitions)
    assert Pool.objects.count() == 1


def test_a_pool_is_added_once() -> None:
    with pytest.raises(PoolExistsError):
        add_pool(name="default", url=NOBODY)


def test_a_fit_pool_has_no_problems(fit_redis: redis.Redis) -> None:
    report = check_pool(name="default")
    assert report.problems == ()
    assert report.store.reachable
    assert report.store.version == version_of(fit_redis)


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_pool_that_may_evict_jobs_is_reported_and_logged(
    fit_redis: redis.Redis, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    fit_redis.config_set("maxmemory-policy", policy)
    report = check_pool(name="default")
    assert [problem.kind for problem in report.problems] == [ProblemKind.EVICTS]
    assert policy in report.problems[0].text
    assert "noeviction" in report.problems[0].hint
    (record,) = caplog.records
    assert (record.getMessage(), vars(record)["problem"]) == ("pool has a problem", "evicts")


def test_a_pool_without_aof_is_reported(redis_client: redis.Redis) -> None:
    assert kinds() == [ProblemKind.NO_AOF]


@pytest.mark.parametrize(("allocator", "kinds"), [("libc", [AdviceKind.ALLOCATOR]), ("jemalloc-5.3.0", [])])
def test_an_allocator_that_stalls_is_named_though_the_pool_is_fit(allocator: str, kinds: list[AdviceKind]) -> None:
    store = StoreInfo(reachable=True, allocator=allocator)

    assert [advice.kind for advice in find_advice(store)] == kinds
    assert find_problems(store, partitions=8, min_replicas=0) == ()


def test_a_check_prints_which_allocator_a_server_has(
    fit_redis: redis.Redis, capsys: pytest.CaptureFixture[str]
) -> None:
    report = check_pool(name="default")
    assert report.store.allocator == fit_redis.info("memory")["mem_allocator"]

    call_command("pool", "check")

    assert ("ADVICE allocator" in capsys.readouterr().out) == (report.store.allocator == "libc")


def test_a_pool_that_does_not_answer_is_reported_without_its_password() -> None:
    Pool.objects.create(name="gone", url="redis://u:hunter2@127.0.0.1:1/0")
    report = check_pool(name="gone")
    assert [problem.kind for problem in report.problems] == [ProblemKind.UNREACHABLE]
    assert "hunter2" not in repr(report)


def test_a_pool_with_other_partitions_or_layout_is_reported(fit_redis: redis.Redis) -> None:
    engine_for("default")
    Pool.objects.update(partitions=9)
    assert kinds() == [ProblemKind.PARTITIONS]
    fit_redis.hset("taskq:meta", "layout", 99)
    assert kinds() == [ProblemKind.LAYOUT, ProblemKind.PARTITIONS]


def test_all_pools_are_checked_and_an_unknown_one_is_told() -> None:
    Pool.objects.create(name="gone", url=NOBODY)
    assert [report.pool for report in check_pools()] == ["default", "gone"]
    with pytest.raises(PoolNotFoundError):
        check_pool(name="nowhere")


def warnings_of(databases: list[str] | None, *, deploy: bool) -> list[str | None]:
    messages = run_checks(databases=databases, include_deployment_checks=deploy)
    return [message.id for message in messages if (message.id or "").startswith("queues.")]


def test_the_system_check_warns_when_asked_for_and_only_then(redis_client: redis.Redis) -> None:
    Pool.objects.create(name="gone", url=NOBODY)
    found = ["queues.W002", "queues.W003"]
    assert warnings_of(None, deploy=False) == []
    assert warnings_of(["default"], deploy=False) == found
    assert warnings_of(None, deploy=True) == found


def test_every_problem_has_a_check_id() -> None:
    from queues.checks import CHECK_IDS

    assert set(CHECK_IDS) == set(ProblemKind)
    assert len(set(CHECK_IDS.values())) == len(ProblemKind)


def test_the_system_check_says_nothing_when_the_database_is_away() -> None:
    with database_away():
        assert warnings_of(["default"], deploy=False) == []


def test_a_pool_has_one_engine_until_its_url_changes(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    monkeypatch.setattr(rows, "_rows", TtlCache(clock=clock))
    first = engine_for("default")
    assert engine_for("default") is first
    first.run(publish(first.queue("orders", "close"), [b"1"]))
    with EmbeddedRedis(tmp_path / "r", persistent=False) as other:
        Pool.objects.update(url=other.url)
        assert engine_for("default") is first, "a second has not passed"
        clock.advance(1.01)
        second = engine_for("default")
        assert second is not first
        assert second.run(size(second.queue("orders", "close"))) == 0
    assert first.run(size(first.queue("orders", "close"))) == 1, "calls under way on the old engine go on"


def test_engines_outlast_an_outage_of_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    monkeypatch.setattr(rows, "_rows", TtlCache(clock=clock))
    engine = engine_for("default")
    clock.advance(60)
    with database_away():
        assert engine_for("default") is engine


def test_an_engine_of_an_unknown_or_silent_pool_is_refused() -> None:
    Pool.objects.create(name="gone", url=NOBODY)
    with pytest.raises(PoolNotFoundError):
        engine_for("nowhere")
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            engine_for("gone")


@pytest.mark.django_db(transaction=True)
def test_a_pool_that_could_not_be_opened_is_not_tried_by_every_caller() -> None:
    tried: list[object] = []
    reasons: set[str] = set()

    def hang_up(_: object, writer: asyncio.StreamWriter) -> None:
        tried.append(writer)
        writer.close()

    async def use() -> None:
        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await sync_to_async(Pool.objects.create)(name="gone", url=f"redis://127.0.0.1:{port}/0")
            for _ in range(5):
                with pytest.raises(StoreUnavailableError) as caught:
                    await async_engine_for("gone")
                reasons.add(caught.value.reason)
        await close_async_engines()

    run_async(use())
    assert 0 < len(tried) < 5
    assert reasons == {"ConnectionError"}


@pytest.mark.django_db(transaction=True)
def test_each_event_loop_has_one_engine_per_pool(redis_url: str) -> None:
    async def use() -> object:
        first, second = await asyncio.gather(async_engine_for("default"), async_engine_for("default"))
        assert first is second
        await first.run(publish(first.queue("orders", "close"), [b"1"]))
        await close_async_engines()
        third = await async_engine_for("default")
        assert third is not first
        assert await third.run(size(third.queue("orders", "close"))) >= 1
        await close_async_engines()
        return first

    assert run_async(use()) is not run_async(use())


@pytest.mark.django_db(transaction=True)
def test_an_async_engine_follows_its_row_and_lets_waiters_go(redis_url: str, tmp_path: Path) -> None:
    async def use(other: str) -> None:
        first = await async_engine_for("default")
        queue = first.queue("orders", "close")
        waiter = asyncio.create_task(first.wait_consume([queue], ttr_ms=1_000, timeout_s=60))
        await sync_to_async(Pool.objects.update)(url=other)
        forget_everything()
        assert await async_engine_for("default") is not first
        consumed = await asyncio.wait_for(waiter, timeout=10)
        assert consumed.jobs == ()
        await close_async_engines()

    with EmbeddedRedis(tmp_path / "r", persistent=False) as server:
        run_async(use(server.url))


@pytest.mark.django_db(transaction=True)
def test_an_async_engine_of_a_silent_pool_is_refused() -> None:
    Pool.objects.create(name="gone", url=NOBODY)

    async def use() -> None:
        for _ in range(2):
            with pytest.raises(StoreUnavailableError):
                await async_engine_for("gone")

    run_async(use())


@pytest.fixture
def spare(redis_url: str) -> Pool:
    return Pool.objects.create(name="spare", url=redis_url)


def test_the_engine_of_a_deleted_pool_is_let_go(spare: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    for ask_for in ("spare", "default"):
        engine = weakref.ref(engine_for("spare"))
        Pool.objects.filter(name="spare").delete()
        forget_everything()
        if ask_for == "spare":
            with pytest.raises(PoolNotFoundError):
                engine_for("spare")
        else:
            monkeypatch.setattr(engines, "_sweep_clock", DueClock())
            engine_for("default")
        gc.collect()
        assert engine() is None
        Pool.objects.create(name="spare", url=spare.url)
        forget_everything()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ask_for", ["spare", "default"])
def test_the_async_engine_of_a_deleted_pool_is_closed(
    spare: Pool, ask_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ask_for == "default":
        monkeypatch.setattr(engines, "SweepClock", DueClock)

    async def use() -> None:
        engine = await async_engine_for("spare")
        waiter = asyncio.create_task(engine.wait_consume([engine.queue("orders", "close")], ttr_ms=1_000, timeout_s=60))
        await sync_to_async(Pool.objects.filter(name="spare").delete)()
        forget_everything()
        with suppress(PoolNotFoundError):
            await async_engine_for(ask_for)
        consumed = await asyncio.wait_for(waiter, timeout=10)
        assert consumed.jobs == ()
        await close_async_engines()

    run_async(use())


class DueClock:
    def is_due(self) -> bool:
        return True
