"""A workflow that was enqueued: its state, its results, what is done with it."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from queues.engine import NodeRequest, NodeResult, NodeState
from queues.engine import Workflow as WorkflowDetail

from .errors import JobFailedError, ResultGoneError, ResultTimeoutError
from .job import AppProtocol, Job, ResultReader, value_in

FAILED: Final = frozenset({NodeState.DEAD, NodeState.DELETED, NodeState.EXPIRED})

LOOK_FIRST_S: Final = 1.0
LOOK_LATER_S: Final = 30.0
"""A call that waits for a result asks whether a failed node holds the workflow up: after the first time, then after
twice as long each time, up to the second."""


class NewNodes(Protocol):
    """The part of `taskq.workflow.Workflow` that `WorkflowHandle.add` uses."""

    def requests(self, workflow_id: str) -> list[NodeRequest]: ...


class WorkflowHandle:
    """A workflow that was enqueued, by its id."""

    def __init__(
        self,
        app: AppProtocol,
        workflow_id: str,
        *,
        tasks: Mapping[str, ResultReader] | None = None,
        last: Sequence[str] = (),
        gives_list: bool = False,
    ) -> None:
        self._app = app
        self.id = workflow_id
        self._tasks = tasks or {}
        self._last = tuple(last)
        self._gives_list = gives_list

    def __repr__(self) -> str:
        return f"<WorkflowHandle {self.id}>"

    def detail(self) -> WorkflowDetail:
        """Its state, and where each node is. Raises WorkflowNotFoundError."""
        broker = self._app.broker
        pages = [broker.run(broker.workflow(self.id, after=0))]
        while pages[-1].after is not None:
            pages.append(broker.run(broker.workflow(self.id, after=pages[-1].after)))
        return _joined(pages)

    async def adetail(self) -> WorkflowDetail:
        broker = self._app.broker
        pages = [await broker.arun(broker.workflow(self.id, after=0))]
        while pages[-1].after is not None:
            pages.append(await broker.arun(broker.workflow(self.id, after=pages[-1].after)))
        return _joined(pages)

    def job(self, name: str) -> Job[Any]:
        """The job of a node. Raises WorkflowNotFoundError, LookupError."""
        return self._job_in(self.detail(), name)

    async def ajob(self, name: str) -> Job[Any]:
        return self._job_in(await self.adetail(), name)

    def result(self, timeout: float = 30.0) -> Any:
        """What its last call returned; of a workflow that ends with several, a list. Raises as `Job.result`; also
        JobFailedError, before the time is up, if a call that has failed holds it up until it is retried."""
        steps = self._result_steps(time.monotonic() + timeout)
        try:
            step = next(steps)
            while True:
                try:
                    found = self.detail() if step is None else step[0].result(step[1])
                except ResultTimeoutError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(found)
        except StopIteration as end:
            return end.value

    async def aresult(self, timeout: float = 30.0) -> Any:  # noqa: ASYNC109 - the same as `result`
        steps = self._result_steps(time.monotonic() + timeout)
        try:
            step = next(steps)
            while True:
                try:
                    found = await (self.adetail() if step is None else step[0].aresult(step[1]))
                except ResultTimeoutError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(found)
        except StopIteration as end:
            return end.value

    def _result_steps(self, ends: float) -> Generator[tuple[Job[Any], float] | None, Any, Any]:
        """Yields what to find out next: None, the workflow's detail; or a job, its result within so many seconds."""
        detail, results = (yield None), []
        for name in self._last_names(detail):
            job, waits = self._job_in(detail, name), _waits(ends)
            while True:
                wait_s, is_last = next(waits)
                try:
                    results.append((yield job, wait_s))
                    break
                except ResultTimeoutError:
                    _raise_if_held_up((yield None), name)
                    if is_last:
                        raise
        return self._of_last(results)

    def cancel(self) -> bool:
        """Delete jobs that have not begun, end those that run. False: it was cancelled before.

        Raises WorkflowNotFoundError, WorkflowConflictError (it is done).
        """
        return self._app.broker.run(self._app.broker.cancel_workflow(self.id))

    async def acancel(self) -> bool:
        return await self._app.broker.arun(self._app.broker.cancel_workflow(self.id))

    def retry(self) -> int:
        """Go on from the failed nodes: they get one more try. How many came back.

        Raises WorkflowNotFoundError, WorkflowConflictError (it has not failed).
        """
        return self._app.broker.run(self._app.broker.retry_workflow(self.id))

    async def aretry(self) -> int:
        return await self._app.broker.arun(self._app.broker.retry_workflow(self.id))

    def add(self, more: NewNodes) -> None:
        """Add calls while it runs. They may come after nodes that it has, by their names.

        Raises InvalidArgumentError, WorkflowNotFoundError, WorkflowConflictError (it is done or cancelled).
        """
        self._app.broker.run(self._app.broker.add_nodes(self.id, more.requests(self.id)))

    async def aadd(self, more: NewNodes) -> None:
        await self._app.broker.arun(self._app.broker.add_nodes(self.id, more.requests(self.id)))

    def _job_in(self, detail: WorkflowDetail, name: str) -> Job[Any]:
        for node in detail.nodes:
            if node.name == name:
                return Job(self._app, node.queue, node.job_id, task=self._tasks.get(name))
        raise LookupError(f"workflow {self.id} has no node {name!r}")

    def _last_names(self, detail: WorkflowDetail) -> Sequence[str]:
        if self._last:
            return self._last
        awaited = {name for node in detail.nodes for name in node.depends_on}
        return [node.name for node in detail.nodes if node.name not in awaited]

    def _of_last(self, results: list[Any]) -> Any:
        return results if self._gives_list or len(results) != 1 else results[0]


def _waits(ends: float) -> Iterator[tuple[float, bool]]:
    """For how long to wait for a result before the workflow is looked at, and whether the time is up then."""
    pause = LOOK_FIRST_S
    while True:
        left = max(0.0, ends - time.monotonic())
        yield min(left, pause), left <= pause
        pause = min(2 * pause, LOOK_LATER_S)


def _raise_if_held_up(detail: WorkflowDetail, name: str) -> None:
    """Raise JobFailedError if the node is blocked, at whatever distance, by one that has failed and is not retried."""
    nodes = {node.name: node for node in detail.nodes}
    to_look, seen = [name], {name}
    while to_look:
        node = nodes[to_look.pop()]
        if node.state is not NodeState.BLOCKED:
            continue
        for other in [nodes[one] for one in node.depends_on]:
            if other.state in FAILED and node.on_failure == "wait":
                raise JobFailedError(other.job_id, other.error or f"{other.name} is {other.state}")
            if other.name not in seen:
                seen.add(other.name)
                to_look.append(other.name)


def _joined(pages: Sequence[WorkflowDetail]) -> WorkflowDetail:
    """All pages of a workflow as one; its state is that of the last."""
    return replace(pages[-1], nodes=tuple([node for page in pages for node in page.nodes]))


def read_results(app: AppProtocol, workflow_id: str, node: str) -> dict[str, Any]:
    """Results by the names of their nodes. Raises ResultGoneError, SerializationError, WorkflowNotFoundError."""
    found: list[NodeResult] = []
    after: int | None = 0
    while after is not None:
        page = app.broker.run(app.broker.node_results(workflow_id, node, after=after))
        found += page.results
        after = page.after
    return _values(app, found)


async def aread_results(app: AppProtocol, workflow_id: str, node: str) -> dict[str, Any]:
    """The same for asyncio."""
    found: list[NodeResult] = []
    after: int | None = 0
    while after is not None:
        page = await app.broker.arun(app.broker.node_results(workflow_id, node, after=after))
        found += page.results
        after = page.after
    return _values(app, found)


async def results_taken(app: AppProtocol, workflow: Mapping[str, str]) -> list[Any]:
    """The arguments that come before a call's own (`Message.workflow`)."""
    takes = workflow.get("takes")
    if not takes:
        return []
    values = list((await aread_results(app, workflow["id"], workflow["node"])).values())
    return [values] if takes == "results" else values


def _values(app: AppProtocol, found: Sequence[NodeResult]) -> dict[str, Any]:
    for one in found:
        if not one.is_there:
            raise ResultGoneError(one.name)
    return {one.name: value_in(app, one.body) for one in found}
