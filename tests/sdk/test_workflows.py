"""Workflows of tasks: chains, groups, chords, any graph; results flow to those that depend on them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from queues.engine import (
    InvalidArgumentError,
    StoreUnavailableError,
    WorkflowConflictError,
    WorkflowNotFoundError,
    relay,
)
from taskq import (
    App,
    Context,
    Job,
    JobFailedError,
    NotConfiguredError,
    ResultTimeoutError,
    Workflow,
    chain,
    chord,
    group,
)
from taskq.testing import inline

from .conftest import until, work, working

pytestmark = pytest.mark.anyio


class Tasks:
    """Tasks of an app, which note in which order they ran."""

    def __init__(self, app: App) -> None:
        self.ran: list[str] = []
        self.broken = False
        ran = self.ran

        @app.task
        def one() -> int:
            ran.append("one")
            return 1

        @app.task
        async def add(x: int, y: int) -> int:
            ran.append(f"add {x} {y}")
            return x + y

        @app.task
        def total(numbers: list[int]) -> int:
            ran.append(f"total {numbers}")
            return sum(numbers)

        @app.task
        def square(x: int) -> int:
            return x * x

        @app.task(retry=1)
        def fragile(x: int) -> int:
            ran.append("fragile")
            if self.broken:
                raise ValueError("broken")
            return x

        @app.task
        def report(context: Context) -> dict[str, Any]:
            return {"of": context.node, **context.results()}

        @app.task
        async def areport(context: Context) -> dict[str, Any]:
            return {"of": context.node, **await context.aresults()}

        self.one, self.add, self.total, self.square = one, add, total, square
        self.fragile, self.report, self.areport = fragile, report, areport


@pytest.fixture
def tasks(app: App) -> Tasks:
    return Tasks(app)


def work_all(app: App) -> None:
    """Work until nothing is ready and nothing is on its way."""
    broker: Any = app.broker
    for _ in range(5):
        work(app)
        broker.engine().run(relay(broker.engine().layout))


def test_a_chain_passes_results_on(app: App, tasks: Tasks) -> None:
    handle = chain(tasks.one.call(), tasks.add.partial(10), tasks.add.call(100, 1).immutable()).enqueue()
    work_all(app)

    assert tasks.ran == ["one", "add 1 10", "add 100 1"]
    assert handle.result(0) == 101
    assert handle.detail().state == "done"


def test_a_group_runs_at_once_and_gives_a_list(app: App, tasks: Tasks) -> None:
    handle = group([tasks.square.call(n) for n in range(4)]).enqueue()
    assert {str(node.state) for node in handle.detail().nodes} == {"ready"}
    work_all(app)
    assert handle.result(0) == [0, 1, 4, 9]


def test_map_is_a_group_of_one_task_and_a_chord_gets_its_results(app: App, tasks: Tasks) -> None:
    handle = chain(tasks.square.map(range(5)), tasks.total.partial()).enqueue()
    other = chord([tasks.one.call(), tasks.square.call(3)], tasks.total.partial()).enqueue()
    work_all(app)
    assert (handle.result(0), other.result(0)) == (30, 10)
    assert "total [0, 1, 4, 9, 16]" in tasks.ran


def test_chains_may_be_in_groups_and_groups_in_chains(app: App, tasks: Tasks) -> None:
    branches = group([chain(tasks.one.call().immutable(), tasks.add.partial(n)) for n in (10, 20)])
    handle = chain(tasks.one.call(), branches, tasks.total.partial()).enqueue()
    work_all(app)
    assert handle.result(0) == 32


@pytest.mark.parametrize("kind", ["report", "areport"])
def test_any_graph_and_results_by_name(app: App, tasks: Tasks, kind: str) -> None:
    flow = Workflow("graph")
    one = flow.add(tasks.one.call(), name="first")
    two = flow.add(tasks.add.partial(5), after=one, takes="result")
    flow.add(getattr(tasks, kind).call(), name="last", after=[one, two])
    handle = flow.enqueue("graph-7")
    work_all(app)

    assert handle.result(0) == {"of": "last", "first": 1, "add": 6}
    assert app.workflow("graph-7").result(0) == handle.result(0)
    assert app.workflow("graph-7").detail().name == "graph"
    assert handle.job("add").result(0) == 6


def test_the_same_id_enqueues_nothing_again(app: App, tasks: Tasks) -> None:
    flow = chain(tasks.one.call(), tasks.add.partial(1))
    flow.enqueue("w")
    work_all(app)
    assert flow.enqueue("w").result(0) == 2
    assert tasks.ran == ["one", "add 1 1"]
    with pytest.raises(WorkflowConflictError, match="another workflow with the id w"):
        chain(tasks.one.call()).enqueue("w")


def test_a_failure_is_retried_from_there(app: App, tasks: Tasks) -> None:
    tasks.broken = True
    handle = chain(tasks.one.call(), tasks.fragile.partial(), tasks.add.partial(1), tasks.square.partial()).enqueue()
    with pytest.raises(ResultTimeoutError):
        handle.result(0)
    work_all(app)
    assert handle.detail().state == "failed"
    with pytest.raises(JobFailedError, match="broken"):
        handle.job("fragile").result(0)
    with pytest.raises(JobFailedError, match="broken"):  # the last call is blocked, two nodes behind the failed one
        handle.result(0)

    tasks.broken = False
    assert handle.retry() == 1
    work_all(app)
    assert handle.result(0) == 4
    assert tasks.ran == ["one", "fragile", "fragile", "add 1 1"]


def test_calls_are_added_while_it_runs(app: App, tasks: Tasks) -> None:
    handle = chain(tasks.one.call(), tasks.add.partial(1)).enqueue()
    more = Workflow()
    more.add(tasks.add.partial(70), name="late", after="add", takes="result")
    handle.add(more)
    work_all(app)
    assert handle.job("late").result(0) == 72


def test_what_is_cancelled_does_not_run(app: App, tasks: Tasks) -> None:
    handle = chain(tasks.one.call(), tasks.add.partial(1)).enqueue()
    assert handle.cancel()
    work_all(app)
    assert tasks.ran == []
    assert handle.detail().state == "cancelled"


def test_a_result_that_is_gone_is_a_clear_failure(app: App, tasks: Tasks) -> None:
    handle = chain(tasks.one.call(), tasks.add.using(queue="later").partial(1)).enqueue()
    first = handle.job("one")
    work(app)
    app.broker.run(app.broker.delete(first.queue, [first.id]))
    work(app, queues={"later": 1})
    with pytest.raises(JobFailedError, match="the result of node 'one' is gone"):
        handle.job("add").result(0)


async def test_it_works_in_an_event_loop_too(app: App, tasks: Tasks) -> None:
    async with working(app):
        handle = await chain(tasks.one.call(), tasks.add.partial(1)).aenqueue()
        assert await handle.aresult(10) == 2

        async def is_done() -> bool:
            return (await handle.adetail()).state == "done"

        await until(is_done, or_fail="the workflow is not done")
        with pytest.raises(WorkflowConflictError):
            await handle.acancel()
        with pytest.raises(WorkflowConflictError):
            await handle.aretry()
    await app.broker.aclose()


def test_what_makes_no_sense_is_told(app: App, tasks: Tasks) -> None:
    with pytest.raises(NotConfiguredError, match="no nodes"):
        Workflow().enqueue()
    flow = Workflow()
    flow.add(tasks.one.call(), name="a", after="b")
    flow.add(tasks.one.call(), name="b", after="a")
    with pytest.raises(InvalidArgumentError, match="the workflow has a cycle: a → b → a"):
        flow.enqueue()
    with pytest.raises(NotConfiguredError, match="has a node 'a' already"):
        flow.add(tasks.one.call(), name="a")
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        chain(tasks.one.call(), tasks.add.partial()).enqueue()
    with pytest.raises(NotConfiguredError, match="neither key= nor depends_on="):
        chain(tasks.one.using(key="k").call()).enqueue()
    with pytest.raises(TypeError, match="takes calls"):
        Workflow().add(tasks.one)  # type: ignore[arg-type]
    with pytest.raises(WorkflowNotFoundError):
        app.workflow("none").detail()


def test_a_task_may_depend_on_jobs(app: App, tasks: Tasks) -> None:
    first = tasks.one.enqueue()
    second = tasks.add.using(depends_on=[first], retention=60).enqueue(1, 2)
    third = tasks.add.using(depends_on=[f"default/{second.id}"], retention=60).enqueue(3, 4)
    assert (second.state(), third.state()) == ("blocked", "blocked")
    work_all(app)
    assert tasks.ran == ["one", "add 1 2", "add 3 4"]
    with pytest.raises(NotConfiguredError, match="depends_on= must be a list of jobs"):
        tasks.one.using(depends_on="default/x")
    with pytest.raises(NotConfiguredError, match="on_dependency_failure= must be wait, fail or continue"):
        tasks.one.using(on_dependency_failure="cry")
    with pytest.raises(InvalidArgumentError, match='invalid depends_on "a b"'):
        tasks.one.using(depends_on=["a b"]).enqueue()


def test_a_cycle_by_keys_is_refused(app: App, tasks: Tasks) -> None:
    keyed = {"key_mode": "window", "key_ttl": 60}
    name = tasks.one.name
    tasks.one.using(key="a", depends_on=[f":{name}:b"], **keyed).enqueue()
    with pytest.raises(InvalidArgumentError, match="depends_on makes a cycle"):
        tasks.one.using(key="b", depends_on=[f":{name}:a"], **keyed).enqueue()


def test_a_task_in_a_process_gets_results_as_arguments(app: App, tasks: Tasks) -> None:
    from . import process_tasks

    square = process_tasks.app.tasks["square"]
    app.tasks["square"] = square
    handle = chain(tasks.add.call(1, 2), square.using(retention=0).partial()).enqueue()
    work_all(app)
    assert handle.result(0) == 9


def test_a_task_in_a_process_reads_results(app: App, tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    from . import process_tasks

    monkeypatch.setenv("TASKQ_TEST_URL", app.broker.url)
    results = process_tasks.app.tasks["results"]
    app.tasks["results"] = results
    handle = chain(tasks.one.call(), results.call().immutable()).enqueue()
    work_all(app)
    assert handle.result(0) == ["results", {"one": 1}]


def test_a_part_keeps_its_edges_if_its_names_are_taken(app: App, tasks: Tasks) -> None:
    part = Workflow()
    part.add(tasks.square.partial(), name="after", after="one", takes="result")
    part.add(tasks.add.call(2, 3).immutable(), name="one")
    flow = chain(tasks.one.call(), part)
    assert {name: node.after for name, node in flow.nodes.items()} == {
        "one": (), "after": ("add",), "add": ("one",),
    }  # fmt: skip
    assert [node.name for node in flow.last] == ["after"]


def test_a_part_without_calls_is_refused(tasks: Tasks) -> None:
    with pytest.raises(NotConfiguredError, match="without calls"):
        chain(tasks.one.call(), tasks.square.map([]), tasks.total.partial())
    with pytest.raises(NotConfiguredError, match="without calls"):
        chord([], tasks.total.partial())


async def test_the_timeout_counts_for_all_results_together(
    app: App, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = await tasks.square.map([1, 2, 3]).aenqueue()
    waited: list[float] = []
    clock = iter([100.0, 100.0, 104.0, 111.0] * 2)
    monkeypatch.setattr("taskq.workflow_handle.time", SimpleNamespace(monotonic=lambda: next(clock)))

    async def aresult(job: Any, timeout: float) -> None:  # noqa: ASYNC109 - as the real one
        waited.append(timeout)

    monkeypatch.setattr(Job, "result", lambda job, timeout: waited.append(timeout))
    monkeypatch.setattr(Job, "aresult", aresult)
    handle.result(10)
    await handle.aresult(10)
    assert waited == [1.0, 1.0, 0.0] * 2


def test_within_taskq_testing_it_says_that_it_does_not_run(app: App, tasks: Tasks) -> None:
    with inline(app), pytest.raises(NotConfiguredError, match="workflows need a taskq"):
        chain(tasks.one.call()).enqueue()


def test_a_broker_that_is_away_while_results_are_read_costs_no_try(
    app: App, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = chain(tasks.one.call(), tasks.add.using(retry=1).partial(1)).enqueue()
    read = type(app.broker).node_results
    asked: list[str] = []

    def fail_once(broker: Any, workflow_id: str, node: str, *, after: int) -> Any:
        asked.append(node)
        if len(asked) == 1:
            raise StoreUnavailableError("away")
        return read(broker, workflow_id, node, after=after)

    monkeypatch.setattr(type(app.broker), "node_results", fail_once)
    work_all(app)
    job = handle.job("add")
    app.broker.run(app.broker.run_now(job.queue, [job.id]))
    work_all(app)

    assert (asked, job.result(0)) == (["add", "add"], 2)
