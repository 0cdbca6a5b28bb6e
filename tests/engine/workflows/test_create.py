"""Making a workflow: its jobs run in the order of their dependencies, and its record says where each is."""

from __future__ import annotations

from typing import Any

import pytest

from queues.engine import InvalidArgumentError, WorkflowConflictError, WorkflowNotFoundError, constants
from tests.support.rows import in_one_test

from .shop import QUEUES, Shop, node


def test_jobs_run_in_the_order_of_their_dependencies(shop: Shop) -> None:
    added = shop.create(node("d", "b", "c"), node("b", "a"), node("c", "a"), node("a"))

    assert added.is_new
    assert shop.states() == {"d": "blocked", "b": "blocked", "c": "blocked", "a": "ready"}
    shop.do("a")
    assert shop.states() == {"d": "blocked", "b": "ready", "c": "ready", "a": "done"}
    shop.do("b", "c")
    assert shop.states() == {"d": "ready", "b": "done", "c": "done", "a": "done"}
    assert shop.state() == "running"
    shop.do("d")
    assert shop.states() == dict.fromkeys("dbca", "done")
    assert shop.state() == "done"


def test_the_record_says_where_each_node_is(shop: Shop) -> None:
    shop.create(node("a", queue="orders"), node("b", "a", queue="mails", on_failure="fail"), name="Invoice")
    (job,) = shop.take().values()
    shop.now_ms += 1_000
    shop.die(job, "no paper")

    found = shop.read()
    first, second = found.nodes
    assert (found.name, found.state, found.nodes_total, found.nodes_failed) == ("Invoice", "failed", 2, 2)
    assert (found.created_ms, found.ended_ms) == (shop.now_ms - 1_000, shop.now_ms)
    assert (first.name, first.queue, first.job_id, first.state) == ("a", *job, "dead")
    assert (first.started_ms, first.ended_ms, first.attempts, first.error) == (
        shop.now_ms - 1_000,
        shop.now_ms,
        1,
        "no paper",
    )
    assert (second.depends_on, second.on_failure, second.state) == (("a",), "fail", "dead")
    assert second.error == f"dependency orders/{job[1]}: dead"


def test_a_request_that_is_repeated_changes_nothing(shop: Shop) -> None:
    nodes = (node("a"), node("b", "a"))
    shop.create(*nodes)
    shop.do("a")
    before = shop.read()

    again = shop.create(*nodes)

    assert not again.is_new
    assert shop.read() == before


def test_another_workflow_with_the_same_id_is_refused(shop: Shop) -> None:
    shop.create(node("a"))
    with pytest.raises(WorkflowConflictError, match="another workflow with the id invoice-7"):
        shop.create(node("a"), node("b"))
    assert shop.states() == {"a": "ready"}


def test_a_workflow_that_is_not_there_is_not_found(shop: Shop) -> None:
    with pytest.raises(WorkflowNotFoundError, match="workflow not found"):
        shop.read()


@in_one_test(
    ("nodes", "message"),
    [
        ([], "no nodes"),
        ([node("a", "b"), node("b", "c"), node("c", "a")], "the workflow has a cycle: a → b → c → a"),
        ([node("a", "a")], "the workflow has a cycle: a → a"),
        ([node("a", "x")], 'node "a" depends on "x", which is unknown'),
        ([node("a"), node("a")], 'node "a" is there twice'),
        ([node("a"), node("b", "a", "a")], 'node "b": a dependency is there twice'),
        ([node("a\n", queue="orders")], "invalid node name 'a\\\\n'"),
        ([node("a", queue="no/queue")], 'node "a": queue name contains forbidden characters'),
        ([node("a", tries=0)], 'node "a": tries shouldn\'t be zero'),
        ([node("a", key="k")], 'node "a": a node has no key'),
        ([node("a", body=b"x" * (constants.BODY_MAX_BYTES + 1))], 'node "a": body too large'),
        ([node("a", ttl_ms=1_000, delay_ms=2_000)], 'node "a": ttl is shorter than delay'),
        ([node("a", depends_on=("01ARZ3NDEKTSV4RRFFQ69G5FAV",))], 'node "a": a node has no depends_on but'),
        (
            [node("a", *[f"n{number}" for number in range(constants.NODE_DEPENDENCIES_MAX + 1)])],
            'node "a": too many dependencies, cannot exceed',
        ),
        (
            [node(f"n{number}", *[f"o{other}" for other in range(1_000)]) for number in range(11)],
            "too many dependencies, a request cannot exceed 10000",
        ),
        ([node(f"n{number}") for number in range(1_001)], "too many nodes, a request cannot exceed 1000"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(shop: Shop, nodes: list[object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        shop.create(*nodes)  # type: ignore[arg-type]
    assert shop.engine.client.keys("*workflow*") == []


@in_one_test(
    ("options", "message"),
    [
        ({"name": "x" * 101}, "invalid name: expected up to 100 characters"),
        ({"name": "of\nlines"}, "invalid name: expected up to 100 characters without control characters"),
        ({"retention_ms": 59_999}, "invalid retention: it is 60 seconds or more"),
        ({"retention_ms": (constants.SECONDS_MAX + 1) * 1_000}, "invalid retention"),
    ],
)
def test_so_are_a_name_and_a_retention_that_cannot_be(shop: Shop, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        shop.create(node("a"), **options)
    assert shop.engine.client.keys("*workflow*") == []


def test_nothing_of_a_workflow_is_to_be_done_once_it_is_done(shop: Shop) -> None:
    shop.create(*[node(f"n{number}", *([f"n{number - 1}"] if number else [])) for number in range(6)])
    for number in range(6):
        shop.do(f"n{number}")

    content = shop.content()
    assert shop.state() == "done"
    for queue in QUEUES:
        assert not content.queue(f"shop/{queue}").dependants
        assert not content.queue(f"shop/{queue}").waits
    assert not any(part.outgoing for part in content.shared.values())
