"""A process that makes or changes a workflow dies at any of its calls to Redis: the relay ends what was begun, each job
runs once and in order, and nothing is left in the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from queues.engine import Engine, StoreUnavailableError, WorkflowNotFoundError, open_engine
from queues.engine.constants import WORKFLOW_RETENTION_S, WORKFLOW_STAGED_MS

from ..flaky import MOMENTS, FlakyClient
from .shop import Shop, node

CALLS_MAX = 100
NODES = (node("d", "b", "c"), node("b", "a"), node("c", "a", on_failure="fail"), node("a", tries=2))
MORE = (node("f", "e"), node("e", "a"))
Act = Callable[[Shop], Any]


def nothing(_shop: Shop) -> None: ...


def made(shop: Shop) -> None:
    shop.create(*NODES)


def failed(shop: Shop) -> None:
    shop.create(node("c", "b", on_failure="fail"), node("b", "a", on_failure="fail"), node("a"))
    shop.die(shop.take()["a"])
    assert shop.states() == {"a": "dead", "b": "dead", "c": "dead"}
    shop.now_ms += 1_000


def run_to_the_end(shop: Shop) -> list[str]:
    """What a pump and workers do from now on. Names of the jobs as they are taken."""
    order: list[str] = []
    idle = 0
    while idle < 4:
        shop.now_ms += 1_000
        shop.attend()
        taken = shop.take()
        idle = 0 if taken else idle + 1
        order += taken
        for job in taken.values():
            shop.end(job)
    return order


def check_end(shop: Shop) -> None:
    """Nothing is left a minute after its retention."""
    shop.now_ms += WORKFLOW_RETENTION_S * 1000 + WORKFLOW_STAGED_MS
    for _ in range(3):
        shop.attend()
    shop.content()
    assert [key for key in shop.left() if not key.endswith(":flags")] == []


def in_order(order: list[str], *needs: tuple[str, str]) -> bool:
    return all(order.index(first) < order.index(second) for first, second in needs)


def check_created(shop: Shop, order: list[str]) -> None:
    if not order:  # it died before the commit
        with pytest.raises(WorkflowNotFoundError):
            shop.read()
        return
    assert sorted(order) == ["a", "b", "c", "d"]
    assert in_order(order, ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))
    assert shop.state() == "done"


def _added(shop: Shop, order: list[str]) -> None:
    assert sorted(order) in (["a", "b", "c", "d"], ["a", "b", "c", "d", "e", "f"])
    if "e" in order:
        assert in_order(order, ("a", "e"), ("e", "f"))
    assert shop.state() == "done"


def _cancelled(shop: Shop, order: list[str]) -> None:
    if order:  # it died before it was written down
        assert (sorted(order), shop.state()) == (["a", "b", "c", "d"], "done")
    else:
        assert (shop.state(), set(shop.states().values())) == ("cancelled", {"cancelled"})


def _retried(shop: Shop, order: list[str]) -> None:
    if order:
        assert (order, shop.state()) == (["a", "b", "c"], "done")
    else:
        assert (shop.state(), set(shop.states().values())) == ("failed", {"dead"})


ACTS: dict[str, tuple[Act, Act, Callable[[Shop, list[str]], None]]] = {
    "create": (nothing, made, check_created),
    "add": (made, lambda shop: shop.add(*MORE), _added),
    "cancel": (made, lambda shop: shop.cancel(), _cancelled),
    "retry": (failed, lambda shop: shop.retry(), _retried),
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", ACTS)
def test_wherever_it_dies_what_was_begun_is_ended_once(redis_url: str, name: str, moment: str) -> None:
    prepare, act, judge = ACTS[name]
    engine = open_engine(redis_url, partitions=8)
    seen = set()
    for failing_call in range(1, CALLS_MAX):
        engine.client.flushall()
        engine.client.hset("taskq:meta", mapping={"partitions": 8, "layout": 1})
        shop = Shop(engine)
        prepare(shop)
        flaky = FlakyClient(engine.client, failing_call=failing_call, moment=moment)
        dying = Shop(Engine(flaky, engine.layout))
        dying.now_ms = shop.now_ms
        with contextlib.suppress(StoreUnavailableError):
            act(dying)

        order = run_to_the_end(shop)

        judge(shop, order)
        seen.add(bool(order))
        check_end(shop)
        if flaky.calls < failing_call:
            break
    else:
        raise AssertionError("more calls than expected")
    engine.close()
    if moment == "before" and name != "add":
        assert seen == {True, False}, "some died before it was written down, others after it"


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_request_that_is_repeated_until_it_is_answered_is_carried_out_once(redis_url: str, moment: str) -> None:
    engine = open_engine(redis_url, partitions=8)
    for failing_call in range(1, CALLS_MAX):
        engine.client.flushall()
        engine.client.hset("taskq:meta", mapping={"partitions": 8, "layout": 1})
        flaky = FlakyClient(engine.client, failing_call=failing_call, moment=moment)
        client = Shop(Engine(flaky, engine.layout))
        for request, nodes in ((client.create, NODES), (client.add, MORE)):
            try:
                request(*nodes)
            except StoreUnavailableError:
                request(*nodes)

        shop = Shop(engine)
        assert sorted(run_to_the_end(shop)) == ["a", "b", "c", "d", "e", "f"]
        check_end(shop)
        if flaky.calls < failing_call:
            break
    else:
        raise AssertionError("more calls than expected")
    engine.close()
