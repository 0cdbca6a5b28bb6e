"""What counts against a token's limit and what does not: the same whether the call itself counts or the pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

import pytest
import redis

from queues.api import pipeline
from queues.api.context import ApiContext
from queues.api.http.request import ApiRequest, Headers, Query
from queues.api.http.response import ApiResponse
from queues.api.router import Route
from queues.api.routes import ROUTES
from queues.engine import AsyncEngine, PublishOptions, open_async_engine, pause, publish, size
from queues.engine.keys import limit_key
from queues.services.policies import NO_POLICY, EffectivePolicy
from queues.services.tokens.authentication import Access
from queues.services.tokens.limit_settings import Limit
from tests.engine.loop import until, until_it_is_so
from tests.engine.topologies import cluster, empty_cluster

LIMIT = Limit(read=9, write=9, interval_s=600)
ACCESS = Access(pool="default", namespace="shop", token_id="x", limit=LIMIT)
DELAYED_TOO_LONG = {"delay": "9", "ttl": "5"}


class WithBody(ApiRequest):
    """All of its body is here."""

    body = b""

    async def read_body(self, _most: int) -> bytes:
        return self.body


class OneEngine(ApiContext):
    """Everything in one pool, without policies."""

    __slots__ = ("_engine",)

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__()
        self._engine = engine

    async def authorise(self, **_: Any) -> Access:
        """Also of a request that took so long that its token is looked at again."""
        return ACCESS

    async def engine(self, pool: str) -> AsyncEngine:
        return self._engine

    async def policy(self, access: Access, queue: str) -> EffectivePolicy:
        return NO_POLICY

    @contextmanager
    def while_authorised(self, request: ApiRequest) -> Any:
        yield


class Asked:
    """Requests of one limited token."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.queue = engine.queue("shop", "q")
        self.context = OneEngine(engine)

    def request(self, name: str, body: bytes = b"[1]", path: str = "q", **query: str) -> Awaitable[ApiResponse]:
        return self.pass_on(route_of(name), body, path, query)

    def pass_on(
        self, route: Route, body: bytes = b"", path: str = "q", query: dict[str, str] | None = None
    ) -> Awaitable[ApiResponse]:
        parameters = {"namespace": "shop", "queue": path, "job_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
        request = WithBody(route.method, parameters, Query(query or {}), Headers([]), "", b"")
        request.body = body
        return pipeline.answer(route, request, self.context)

    async def counted(self, kind: str) -> int:
        left = await self.engine.client.get(limit_key("x", kind, 9, 600_000))
        return 9 - int(left.split()[0]) if left else 0

    async def until_counted(self, kind: str, number: int) -> None:
        """What the pipeline gives back, it gives back behind the client's back."""

        async def is_so() -> bool:
            return await self.counted(kind) == number

        await until_it_is_so(is_so, or_fail=f"not {number} counted")


def route_of(name: str) -> Route:
    (route,) = (one for one in ROUTES if one.name == name)
    return route


@pytest.fixture(scope="module")
def masters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[redis.Redis]]:
    with cluster(tmp_path_factory.mktemp("cluster")) as clients:
        yield clients


@pytest.fixture
def cluster_url(masters: list[redis.Redis]) -> str:
    return empty_cluster(masters)


@pytest.fixture(params=["redis_url", "cluster_url"])
def asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens a pool: on one server the call counts, in a cluster the pipeline."""
    url = request.getfixturevalue(request.param)

    async def authorise(*_: Any) -> Access:
        return ACCESS

    @asynccontextmanager
    async def opened() -> AsyncIterator[Asked]:
        engine = await open_async_engine(url)
        assert engine.counts_in_call == (request.param == "redis_url")
        yield Asked(engine)
        await engine.close()

    monkeypatch.setattr(pipeline, "_authorise", authorise)
    return opened


def in_loop(asked: Any, scenario: Callable[[Asked], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asked() as one:
            await scenario(one)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("name", "query", "status", "counts"),
    [
        ("publish.publish", {}, 201, 1),
        ("publish.publish_bulk", {}, 201, 1),
        ("publish.republish", {}, 201, 1),
        ("publish.publish", {"key": "used"}, 200, 1),
        ("publish.publish", {"ttl": "x"}, 400, 0),
        ("publish.publish", {"at": "1", "delay": "1"}, 400, 0),
        ("publish.publish", DELAYED_TOO_LONG, 400, 0),
        ("publish.publish", {"at": "99999999999", "ttl": "5"}, 400, 0),  # which only Redis can tell
        ("consume.consume", {}, 200, 1),
        ("consume.consume", {"count": "5"}, 200, 1),
        ("consume.consume", {"ttr": "x"}, 400, 0),
    ],
)
def test_what_brings_something_counts_once(
    asked: Any, name: str, query: dict[str, str], status: int, counts: int
) -> None:
    async def scenario(one: Asked) -> None:
        await one.engine.run(publish(one.queue, [b"x"], PublishOptions(key="used")))
        await one.engine.run(publish(one.queue, [b"y", b"z"]))

        response = await one.pass_on(route_of(name), b"[1]", query=query)

        assert response.status == status, response
        await one.until_counted("read" if name == "consume.consume" else "write", counts)

    in_loop(asked, scenario)


@pytest.mark.parametrize(
    ("path", "timeout", "paused"), [("q", "0", False), ("q", "0", True), ("p,q", "0", False), ("p,q", "1", False)]
)
def test_a_consume_that_gets_no_job_does_not_count(asked: Any, path: str, timeout: str, paused: bool) -> None:
    async def scenario(one: Asked) -> None:
        if paused:
            await one.engine.run(publish(one.queue, [b"x"]))
            await one.engine.run(pause(one.queue))

        assert (await one.request("consume.consume", path=path, timeout=timeout)).status == 404
        await one.until_counted("read", 0)

    in_loop(asked, scenario)


def test_several_queues_count_as_one_request(asked: Any) -> None:
    async def scenario(one: Asked) -> None:
        await one.engine.run(publish(one.queue, [b"x"]))
        await one.engine.run(publish(one.engine.queue("shop", "p"), [b"x"]))

        response = await one.request("consume.consume", path="o,p,q", count="9")

        assert response.body.count(b"job_id") == 2
        assert await one.counted("read") == 1

    in_loop(asked, scenario)


def test_a_publish_to_a_full_redis_does_not_count(asked: Any) -> None:
    async def scenario(one: Asked) -> None:
        await one.request("publish.publish")
        everywhere = {} if one.engine.counts_in_call else {"target_nodes": "all"}
        await one.engine.client.config_set("maxmemory", 1, **everywhere)
        try:
            assert (await one.request("publish.publish")).status == 507
            await one.until_counted("write", 1)
        finally:
            await one.engine.client.config_set("maxmemory", 0, **everywhere)
        assert await one.engine.run(size(one.queue)) == 1

    in_loop(asked, scenario)


def test_a_refusal_says_what_and_for_how_long(asked: Any) -> None:
    async def scenario(one: Asked) -> None:
        published = [await one.request("publish.publish") for _ in range(10)]
        consumed = [await one.request("consume.consume") for _ in range(10)]

        assert [reply.status for reply in published] == [201] * 9 + [429]
        assert published[-1].body == b'{"msg":"publish rate limit reached, please retry later"}'
        assert [reply.status for reply in consumed] == [200] * 9 + [429]
        assert consumed[-1].body == b'{"msg":"consume rate limit reached, please retry later"}'
        assert all(590 < int(dict(last.headers)[b"retry-after"]) <= 600 for last in (published[-1], consumed[-1]))

    in_loop(asked, scenario)


def test_a_waiting_consumer_that_hangs_up_does_not_count(asked: Any) -> None:
    async def scenario(one: Asked) -> None:
        task = asyncio.ensure_future(one.request("consume.consume", timeout="60"))
        await until(lambda: one.engine.waiting, or_fail="nobody waits")
        task.cancel()
        await asyncio.wait([task])

        assert task.cancelled()
        await one.until_counted("read", 0)

    in_loop(asked, scenario)


@pytest.mark.parametrize(("name", "kind", "counts"), [("publish.publish", "write", 1), ("consume.consume", "read", 0)])
def test_who_hangs_up_during_the_call(asked: Any, name: str, kind: str, counts: int) -> None:
    """A publish is carried out and counts; a consume takes no job and does not."""

    async def scenario(one: Asked) -> None:
        await one.engine.run(publish(one.queue, [b"x"]))
        sent = one.engine.batches + (0 if one.engine.counts_in_call else 1)
        task = asyncio.ensure_future(one.request(name))
        while one.engine.batches <= sent:  # noqa: ASYNC110 - at the first turn after, before the reply
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

        assert task.cancelled()
        await one.until_counted(kind, counts)

        async def is_there() -> bool:
            return await one.engine.run(size(one.queue)) == 1 + counts

        await until_it_is_so(is_there, or_fail="a job too many, or too few")

    in_loop(asked, scenario)


@pytest.mark.parametrize("asked", ["cluster_url"], indirect=True)
def test_what_was_counted_before_is_given_back_to_a_consumer_that_hangs_up_but_to_no_publisher(asked: Any) -> None:
    async def scenario(one: Asked) -> None:
        for name, kind, counts in (("publish.publish", "write", 1), ("consume.consume", "read", 0)):
            reached = asyncio.Event()

            async def operation(
                _request: ApiRequest, _context: ApiContext, reached: asyncio.Event = reached
            ) -> ApiResponse:
                reached.set()
                return await asyncio.Event().wait()  # type: ignore[return-value]  # for ever

            task = asyncio.ensure_future(one.pass_on(replace(route_of(name), operation=operation)))
            await reached.wait()
            assert await one.counted(kind) == 1
            task.cancel()
            await asyncio.wait([task])
            await one.until_counted(kind, counts)

    in_loop(asked, scenario)
