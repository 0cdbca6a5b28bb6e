"""What may happen while jobs of a workflow are being published: another publisher, a deletion, a cancellation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from queues.engine import create_workflow, delete_jobs
from queues.engine.constants import CANCEL_AGAIN_AFTER_MS, PUBLISH_WITHIN_MS

from .shop import WORKFLOW, Shop, node

NODES = (node("a", queue="orders"), node("x", "a", queue="mails"), node("y", "x", queue="images", on_failure="fail"))


def begin(shop: Shop, *nodes: Any) -> tuple[Any, list[Any]]:
    """A creation that has come to the publishing of its jobs: the plan, and its first batch of publishes."""
    plan = create_workflow(shop.engine.layout, "shop", WORKFLOW, nodes, now_ms=shop.now_ms)
    batch = next(plan)
    while batch[0].script.name != "publish_nodes":
        batch = plan.send(shop.engine.batch(batch))
    return plan, list(batch)


def only(batch: list[Any], queue: str) -> list[Any]:
    """The publishes of one queue."""
    found = [operation for operation in batch if f"shop/{queue}".encode() in operation.args]
    assert found
    return found


def test_a_node_whose_dependency_was_deleted_before_it_was_published_fails_as_it_should(shop: Shop) -> None:
    plan, batch = begin(shop, *NODES)
    shop.engine.batch(only(batch, "mails"))
    plan.close()
    assert shop.states() == {"a": "pending", "x": "pending", "y": "pending"}
    x = shop.read().nodes[1]
    shop.engine.run(_delete(shop, "mails", x.job_id))
    shop.relay()

    shop.now_ms += 1_000
    shop.attend()

    assert shop.states() == {"a": "ready", "x": "deleted", "y": "dead"}
    assert shop.state() == "failed"


def test_two_that_publish_at_once_publish_each_job_once(shop: Shop) -> None:
    plan, batch = begin(shop, *NODES)
    shop.now_ms += 1_000
    shop.attend()
    shop.do("a")
    shop.do("x")

    results = shop.engine.batch(batch)
    while True:
        try:
            results = shop.engine.batch(plan.send(results))
        except StopIteration:
            break

    assert shop.states() == {"a": "done", "x": "done", "y": "ready"}
    shop.do("y")
    assert shop.state() == "done"


def test_a_publish_that_comes_too_late_adds_nothing(shop: Shop) -> None:
    plan, batch = begin(shop, *NODES)
    plan.close()
    late = [_at(operation, shop.now_ms + PUBLISH_WITHIN_MS + 1) for operation in batch]

    assert shop.engine.batch(late) == [False] * len(late)
    assert shop.take() == {}


def test_jobs_that_were_being_published_when_it_was_cancelled_are_cancelled_later(shop: Shop) -> None:
    plan, batch = begin(shop, *NODES)
    plan.close()
    assert shop.cancel()
    shop.engine.batch(batch)
    assert "blocked" in shop.states().values()

    shop.now_ms += PUBLISH_WITHIN_MS + CANCEL_AGAIN_AFTER_MS
    shop.attend()
    shop.attend()

    assert set(shop.states().values()) == {"cancelled"}
    assert shop.take() == {}


def _delete(shop: Shop, queue: str, job_id: str) -> Any:
    return delete_jobs(shop.engine.queue("shop", queue), [job_id], now_ms=shop.now_ms)


def _at(operation: Any, now_ms: int) -> Any:
    """The same call at another time."""
    return replace(operation, args=(now_ms, *operation.args[1:]))
