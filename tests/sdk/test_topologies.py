"""The library on a Redis Cluster, whose keys lie on several servers, and behind Sentinels."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from queues.engine import JobState, WorkerCommand, WorkerCommandKind
from taskq import App, Context
from tests.engine.topologies import cluster, sentinel

from .conftest import until, working

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with cluster(tmp_path_factory.mktemp("cluster")) as masters:
        yield f"redis+cluster://127.0.0.1:{masters[0].connection_pool.connection_kwargs['port']}"


@pytest.fixture(scope="module")
def sentinel_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with sentinel(tmp_path_factory.mktemp("sentinel"), "jobs") as (_, port):
        yield f"redis+sentinel://127.0.0.1:{port}/jobs"


@pytest.fixture(params=["cluster_url", "sentinel_url"])
def app(request: pytest.FixtureRequest) -> Iterator[App]:
    app = App(request.getfixturevalue(request.param), namespace="sdk")
    yield app
    app.broker.close()


async def test_tasks_run_and_are_looked_at_and_workers_obey(app: App) -> None:
    begun = asyncio.Event()

    @app.task(queue="a", retention=60)
    async def double(x: int) -> int:
        return 2 * x

    @app.task(queue="b", key="only", key_mode="no_overlap")
    async def hang(ctx: Context) -> None:
        ctx.progress(50, "half")
        begun.set()
        await asyncio.sleep(60)

    @app.task(queue="c", key="once")
    def once() -> None: ...

    numbers = await double.aenqueue_many([double.call(x) for x in range(20)])
    long = await hang.aenqueue()
    first, second = await once.aenqueue(), await once.aenqueue()
    assert second.is_duplicate
    assert second.id == first.id

    async with working(app, queues={"a": 3, "b": 2, "c": 1}) as worker:
        assert [await job.aresult(timeout=20) for job in numbers] == [2 * x for x in range(20)]
        await until(begun.is_set, or_fail="it did not begin")

        async def shown() -> bool:
            beats = await app.broker.arun(app.broker.workers())
            return [one.percent for beat in beats for one in beat.running] == [50]

        await until(shown, or_fail="its progress is not shown")
        assert await long.acancel()
        await until(lambda: worker.failed == 1, or_fail="it was not cancelled", timeout_s=5)

        async def is_dead() -> bool:
            return await long.astate() is JobState.DEAD

        await until(is_dead, or_fail="its end was not told")
        quiet = WorkerCommand(WorkerCommandKind.QUIET, worker.id, "1")
        await app.broker.arun(app.broker.command(quiet))
        await until(lambda: worker.state == "quiet", or_fail="it did not hear", timeout_s=5)
    assert await app.broker.arun(app.broker.workers()) == ()
