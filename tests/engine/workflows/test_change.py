"""What is done to a workflow that runs: cancel, retry from the failed node, add nodes; and what is left at its end."""

from __future__ import annotations

import pytest

from queues.engine import (
    InvalidArgumentError,
    WorkflowConflictError,
    WorkflowNotFoundError,
    destroy,
    list_workflows,
    respawn,
    sweep,
)
from queues.engine.constants import WORKFLOW_RETENTION_S
from queues.engine.operations.workflows.nodes import Fate
from queues.engine.operations.workflows.records import note_nodes

from .shop import WORKFLOW, Shop, node


def test_cancel_deletes_what_has_not_begun_and_cancels_what_runs(shop: Shop) -> None:
    shop.create(node("a"), node("b"), node("c", "a"), node("d", "b"), node("e", delay_ms=60_000))
    taken = shop.take()
    shop.end(taken["a"])

    assert shop.cancel()
    shop.attend()

    assert shop.state() == "cancelled"
    assert shop.states() == {"a": "done", "b": "working", "c": "cancelled", "d": "cancelled", "e": "cancelled"}
    shop.die(taken["b"], "")
    assert shop.states()["b"] == "dead"
    assert [one.error for one in shop.read().nodes if one.name == "b"] == ["cancelled"]
    assert not shop.cancel()


def test_jobs_that_a_cancellation_deletes_have_not_failed(shop: Shop) -> None:
    shop.create(node("a"), node("b", "a"))
    shop.die(shop.take()["a"])
    shop.relay()
    shop.cancel()
    shop.relay()
    assert shop.states() == {"a": "dead", "b": "cancelled"}
    assert (shop.state(), shop.read().nodes_failed) == ("cancelled", 1)


def test_a_workflow_that_is_done_cannot_be_cancelled(shop: Shop) -> None:
    shop.create(node("a"))
    shop.do("a")
    with pytest.raises(WorkflowConflictError, match="the workflow is done"):
        shop.cancel()
    with pytest.raises(WorkflowNotFoundError):
        shop.cancel("other")


def test_retry_goes_on_from_the_failed_node(shop: Shop) -> None:
    """By default the others have waited."""
    shop.create(node("a"), node("b", "a"), node("c", "b"))
    shop.do("a")
    shop.die(shop.take()["b"])
    assert (shop.state(), shop.states()) == ("failed", {"a": "done", "b": "dead", "c": "blocked"})

    assert shop.retry() == 1

    assert (shop.state(), shop.states()) == ("running", {"a": "done", "b": "ready", "c": "blocked"})
    shop.do("b")
    shop.do("c")
    assert shop.state() == "done"


def test_retry_brings_nodes_that_failed_because_of_it_back_in_order(shop: Shop) -> None:
    shop.create(
        node("a"), node("b", "a", on_failure="fail"), node("c", "b", on_failure="fail"), node("d", "c", "x"), node("x")
    )
    taken = shop.take()
    shop.end(taken["x"])
    shop.die(taken["a"])
    assert shop.states() == {"a": "dead", "b": "dead", "c": "dead", "d": "blocked", "x": "done"}
    shop.now_ms += 1_000

    assert shop.retry() == 3

    assert shop.states() == {"a": "ready", "b": "blocked", "c": "blocked", "d": "blocked", "x": "done"}
    for name in "abcd":
        shop.do(name)
    assert shop.state() == "done"


def test_a_node_that_dies_again_fails_the_others_again(shop: Shop) -> None:
    shop.create(node("a"), node("b", "a", on_failure="fail"))
    shop.die(shop.take()["a"])
    shop.now_ms += 1_000
    shop.retry()
    shop.die(shop.take()["a"])

    assert (shop.state(), shop.states()) == ("failed", {"a": "dead", "b": "dead"})
    assert shop.read().nodes_failed == 2


def test_a_dead_letter_that_is_respawned_elsewhere_lets_the_workflow_run_on(shop: Shop) -> None:
    shop.create(node("a"), node("b", "a"))
    queue, job_id = shop.take()["a"]
    shop.die((queue, job_id))
    assert shop.state() == "failed"

    shop.engine.run(respawn(shop.engine.queue("shop", queue), ttl_ms=0, ids=[job_id], now_ms=shop.now_ms))
    shop.relay()

    assert shop.state() == "running"
    shop.do("a")
    shop.do("b")
    assert shop.state() == "done"


def test_what_is_older_than_what_is_known_changes_nothing(shop: Shop) -> None:
    """A relay that was told of the death, and stood still until the node had come back."""
    shop.create(node("a"))
    shop.die(shop.take()["a"])
    died_ms = shop.now_ms
    shop.now_ms += 1_000
    shop.retry()

    workflow = shop.engine.layout.workflow("shop", WORKFLOW)
    shop.engine.run(note_nodes(workflow, [(0, Fate("dead", died_ms))], now_ms=shop.now_ms))

    assert shop.state() == "running"


def test_what_was_deleted_cannot_be_retried(shop: Shop) -> None:
    shop.create(node("a"), node("b", "a", on_failure="fail"))
    shop.delete("a")
    shop.relay()
    assert (shop.state(), shop.states()) == ("failed", {"a": "deleted", "b": "dead"})

    with pytest.raises(WorkflowConflictError, match='node "a" was deleted or has expired'):
        shop.retry()
    assert shop.states() == {"a": "deleted", "b": "dead"}


def test_a_queue_that_is_destroyed_fails_the_workflows_of_its_jobs(shop: Shop) -> None:
    shop.create(node("a", queue="orders"), node("b", "a", queue="mails"), node("c", queue="mails"))
    shop.engine.run(destroy(shop.engine.queue("shop", "mails"), everything=True, now_ms=shop.now_ms))
    shop.relay()
    shop.do("a")
    shop.relay()

    assert (shop.state(), shop.states()) == ("failed", {"a": "done", "b": "deleted", "c": "deleted"})


def test_a_node_that_expires_fails_its_workflow(shop: Shop) -> None:
    shop.create(node("a", ttl_ms=5_000), node("b", "a", on_failure="continue"))
    shop.now_ms += 5_000
    for _ in range(3):
        shop.engine.run(sweep(shop.engine.layout, now_ms=shop.now_ms))
    shop.relay()

    assert (shop.state(), shop.states()) == ("failed", {"a": "expired", "b": "ready"})


def test_a_workflow_that_runs_cannot_be_retried(shop: Shop) -> None:
    shop.create(node("a"))
    with pytest.raises(WorkflowConflictError, match="the workflow is running"):
        shop.retry()


def test_nodes_are_added_while_it_runs(shop: Shop) -> None:
    shop.create(node("a"), node("b", "a"))
    shop.do("a")

    assert shop.add(node("c", "a", "b"), node("d", "c")).is_new
    assert shop.states() == {"a": "done", "b": "ready", "c": "blocked", "d": "blocked"}
    assert not shop.add(node("c", "a", "b"), node("d", "c")).is_new
    shop.do("b")
    shop.do("c")
    shop.do("d")
    assert shop.state() == "done"


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("a")], 'node "a" is there already'),
        ([node("c", "x")], 'node "c" depends on "x", which is unknown'),
        ([node("c", "d"), node("d", "c", "a")], "the workflow has a cycle: c → d → c"),
    ],
)
def test_nodes_that_make_no_sense_are_not_added(shop: Shop, nodes: list[object], message: str) -> None:
    shop.create(node("a"))
    with pytest.raises(InvalidArgumentError, match=message):
        shop.add(*nodes)  # type: ignore[arg-type]
    assert shop.states() == {"a": "ready"}


def test_nothing_is_added_to_what_has_ended_or_to_what_is_not_there(shop: Shop) -> None:
    shop.create(node("a"))
    shop.do("a")
    with pytest.raises(WorkflowConflictError, match="the workflow is done: no nodes can be added"):
        shop.add(node("b"))
    with pytest.raises(WorkflowNotFoundError):
        shop.add(node("b"), workflow_id="other")


def test_nothing_can_wait_for_a_node_that_was_deleted(shop: Shop) -> None:
    shop.create(node("a"), node("b"))
    shop.delete("a")
    shop.relay()
    with pytest.raises(WorkflowConflictError, match='node "a" was deleted or has expired'):
        shop.add(node("c", "a"))


def test_a_node_added_behind_a_dead_one_fails_and_so_do_those_behind_it(shop: Shop) -> None:
    shop.create(node("a"))
    shop.die(shop.take()["a"])

    shop.add(node("b", "a", on_failure="fail"), node("c", "b", on_failure="fail"))
    shop.relay()

    assert shop.states() == {"a": "dead", "b": "dead", "c": "dead"}


@pytest.mark.parametrize("end", ["done", "failed", "cancelled"])
def test_nothing_is_left_once_the_retention_is_over(shop: Shop, end: str) -> None:
    shop.create(node("a"), node("b", "a", on_failure="fail"), node("c", "b"))
    if end == "done":
        for name in "abc":
            shop.do(name)
    elif end == "failed":
        shop.die(shop.take()["a"])
    else:
        shop.cancel()
    assert shop.state() == end
    shop.attend()

    shop.now_ms += WORKFLOW_RETENTION_S * 1000 - 1
    shop.attend()
    assert shop.state() == end
    shop.now_ms += 1
    shop.attend()
    shop.relay()

    with pytest.raises(WorkflowNotFoundError):
        shop.read()
    shop.content()
    assert [key for key in shop.left() if not key.endswith(":flags")] == []


def test_results_are_kept_until_then(shop: Shop) -> None:
    shop.create(node("a", queue="orders"), node("b", "a"))
    shop.do("a")
    assert list(shop.content().queue("shop/orders").results.values()) == [b"result of a"]


def test_workflows_are_listed_the_newest_first(shop: Shop) -> None:
    for number in range(7):
        shop.create(node("a"), workflow_id=f"w{number}")
        shop.now_ms += number % 2
    shop.create(node("a", queue="orders"), workflow_id="w9")

    ids: list[str] = []
    after: str | None = ""
    while after is not None:
        plan = list_workflows(shop.engine.layout, "shop", after=after, limit=3)
        page = shop.engine.run(plan)
        assert len(page.workflows) <= 3
        ids += [one.workflow_id for one in page.workflows]
        after = page.after
    assert ids == ["w9", "w6", "w5", "w4", "w3", "w2", "w1", "w0"]
    assert shop.engine.run(list_workflows(shop.engine.layout, "other")).workflows == ()
