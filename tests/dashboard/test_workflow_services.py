"""What pages of workflows show to whom, and what people do to a workflow."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from queues.engine import Engine, NodeRequest, WorkflowConflictError, consume, create_workflow, fail, relay
from queues.models import Activity, Namespace, Pool
from queues.services.errors import NamespaceNotFoundError, RoleTooLowError
from queues.services.workflows.pages import (
    NAMESPACES_TRIED,
    cancel_workflow,
    read_workflow,
    retry_workflow,
    show_workflows,
)
from tests.dashboard.people import POOL, SHOP, People

pytestmark = pytest.mark.django_db

PLACE = {"pool": POOL, "namespace": SHOP, "workflow_id": "invoice-7"}


@pytest.fixture(autouse=True)
def workflow(engine: Engine) -> None:
    nodes = [
        NodeRequest(name="a", queue="orders", body=b"a"),
        NodeRequest(name="b", queue="mails", body=b"b", depends_on=("a",)),
    ]
    engine.run(create_workflow(engine.layout, SHOP, "invoice-7", nodes, name="Invoice"))


def test_who_sees_the_namespace_sees_its_workflows(people: People) -> None:
    alice, bob = people.alice.user, people.bob.user

    shown = read_workflow(user=alice, **PLACE)
    assert [(one.name, str(one.state)) for one in shown.workflow.nodes] == [("a", "ready"), ("b", "blocked")]
    assert (shown.may_operate, read_workflow(user=bob, **PLACE).may_operate) == (True, False)
    rows = show_workflows(user=bob, place=(POOL, SHOP)).rows
    assert [(one.workflow.workflow_id, one.workflow.name, one.counts.total) for one in rows] == [
        ("invoice-7", "Invoice", 2)
    ]


def test_nobody_else_does(people: People) -> None:
    charlie = people.charlie.user
    for act in (read_workflow, cancel_workflow, retry_workflow):
        with pytest.raises(NamespaceNotFoundError):
            act(user=charlie, **PLACE)
    with pytest.raises(NamespaceNotFoundError):
        show_workflows(user=charlie, place=(POOL, SHOP))


def test_namespaces_without_workflows_cost_no_queries(people: People) -> None:
    pool = Pool.objects.get(name=POOL)
    for number in range(NAMESPACES_TRIED):
        Namespace.objects.create(pool=pool, name=f"a-{number}")
    root = User.objects.get(username="root")
    alice = people.alice.user
    for name in ("a-1", "a-2", "a-3"):
        Namespace.objects.get(name=name).groups.set(alice.groups.all())

    with CaptureQueriesContext(connection) as queries:
        shown = show_workflows(user=alice)
    # The namespaces and the pool; whether the pool is still there is asked if a second passes meanwhile.
    asked = {query["sql"] for query in queries if not query["sql"].startswith('SELECT "queues_pool"."name" AS "name"')}
    assert len(asked) == 2
    assert (shown.namespace, len(shown.rows)) == (SHOP, 1)
    assert show_workflows(user=root).rows == ()  # the first that were tried have none


def test_who_operates_it_may_retry_and_cancel_which_is_logged(people: People, engine: Engine) -> None:
    alice, bob = people.alice.user, people.bob.user
    for act in (retry_workflow, cancel_workflow):
        with pytest.raises(RoleTooLowError):
            act(user=bob, **PLACE)
    with pytest.raises(WorkflowConflictError):
        retry_workflow(user=alice, **PLACE)
    queue = engine.queue(SHOP, "orders")
    (job,) = engine.run(consume(queue, ttr_ms=60_000)).jobs
    engine.run(fail(queue, job.job_id, dead=True))
    engine.run(relay(engine.layout))

    assert retry_workflow(user=alice, **PLACE) == 1
    assert cancel_workflow(user=alice, **PLACE)
    assert not cancel_workflow(user=alice, **PLACE)

    noted = Activity.objects.order_by("pk").values_list("action", "target", "count")
    assert list(noted) == [("workflow_retried", "invoice-7", 1), ("workflow_cancelled", "invoice-7", None)]
