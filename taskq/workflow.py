"""Workflows: calls of tasks that are enqueued together, each to run once those before it are done.

    flow = Workflow("invoice")
    order = flow.add(load_order.call(7))
    pdf = flow.add(render.call(), after=order, takes="result")
    flow.add(send.call("x@example.com"), after=[order, pdf])
    handle = flow.enqueue()

`chain`, `group` and `chord` make the common ones; `task.map` a group of one task.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from queues.engine import NodeRequest
from queues.engine.constants import NODE_TTL_S, NODES_PER_REQUEST, WORKFLOW_RETENTION_S
from queues.engine.names import make_workflow_id

from .errors import NotConfiguredError, TaskqClientError
from .job import AppProtocol
from .outcomes import Delay, seconds
from .workflow_handle import WorkflowHandle

Takes: TypeAlias = Literal["", "result", "results"]
"""What a call gets before its own arguments: nothing; the result of the one call that it comes after; a list of the
results of all of them."""

OnFailure: TypeAlias = Literal["wait", "fail", "continue"]

DEFAULT_RETENTION: Final = float(WORKFLOW_RETENTION_S)


class Call(NamedTuple):
    """A task with its arguments, to be enqueued with others: by `enqueue_many`, or in a workflow.

    `takes_results`: in a chain, what the call before it returned comes before its own arguments.
    """

    task: Any
    """A BoundTask."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    takes_results: bool = True

    def immutable(self) -> Call:
        """The same, which in a chain gets its own arguments only."""
        return self._replace(takes_results=False)


@dataclass(frozen=True, slots=True)
class Node:
    """A call of a workflow, by the name that it has there."""

    name: str
    call: Call
    after: tuple[str, ...] = ()
    takes: Takes = ""
    on_failure: OnFailure = "wait"


Part: TypeAlias = "Call | Workflow"


class Workflow:
    """Calls and what each comes after. Nothing is sent before `enqueue`.

    `name`: for people. `retention`: how long it and its results are kept once it has ended. Its calls may come after
    each other in any way but a circle.
    """

    def __init__(self, name: str = "", *, retention: Delay = DEFAULT_RETENTION) -> None:
        self.name = name
        self.retention = retention
        self.nodes: dict[str, Node] = {}
        self._gives_list = False
        """Whether what comes behind it in a chain gets a list: it is a group."""

    def __repr__(self) -> str:
        return f"<Workflow {self.name!r} of {len(self.nodes)}>"

    def add(
        self,
        call: Call,
        *,
        name: str | None = None,
        after: Node | str | Iterable[Node | str] = (),
        takes: Takes = "",
        on_failure: OnFailure = "wait",
    ) -> Node:
        """Add a call, by default under its task's name. `after`: nodes, or names of nodes, that must be done before.

        `takes`: what it gets as its first argument. `on_failure`: what it means if one of these fails: `wait` until it
        is retried, `fail` as well, or `continue`. Raises NotConfiguredError for a name that is taken.
        """
        if not isinstance(call, Call):
            raise TypeError(f"a workflow takes calls, made by task.call(...), not {call!r}")
        names = [after] if isinstance(after, Node | str) else list(after)
        before = tuple(dict.fromkeys([one.name if isinstance(one, Node) else one for one in names]))
        if takes == "result" and len(before) != 1:
            raise NotConfiguredError('takes="result" needs exactly one call that it comes after')
        if name is None:
            name = self._free_name(call)
        elif name in self.nodes:
            raise NotConfiguredError(f"the workflow has a node {name!r} already")
        node = self.nodes[name] = Node(name, call, before, takes if before else "", on_failure)
        return node

    @property
    def first(self) -> list[Node]:
        """Those that come after no other."""
        return [node for node in self.nodes.values() if not node.after]

    @property
    def last(self) -> list[Node]:
        """Those that no other comes after."""
        awaited = {name for node in self.nodes.values() for name in node.after}
        return [node for node in self.nodes.values() if node.name not in awaited]

    def enqueue(self, workflow_id: str | None = None) -> WorkflowHandle:
        """Enqueue it: all of its jobs, or none. With an id of your own a repetition enqueues nothing again.

        Raises InvalidArgumentError (a circle, ...), WorkflowConflictError (another workflow has the id), and what
        `Task.enqueue` raises.
        """
        app, used_id = self._app, workflow_id or make_workflow_id()
        app.broker.run(self._creation(app, used_id))
        return self._handle(app, used_id)

    async def aenqueue(self, workflow_id: str | None = None) -> WorkflowHandle:
        """The same for asyncio."""
        app, used_id = self._app, workflow_id or make_workflow_id()
        await app.broker.arun(self._creation(app, used_id))
        return self._handle(app, used_id)

    def _creation(self, app: AppProtocol, workflow_id: str) -> Any:
        retention_ms = round(seconds(self.retention) * 1000)
        nodes = self.requests(workflow_id)
        return app.broker.create_workflow(workflow_id, nodes, name=self.name, retention_ms=retention_ms)

    def _handle(self, app: AppProtocol, workflow_id: str) -> WorkflowHandle:
        last = tuple(node.name for node in self.last)
        tasks = {name: node.call.task.task for name, node in self.nodes.items()}
        return WorkflowHandle(app, workflow_id, tasks=tasks, last=last, gives_list=self._gives_list)

    def requests(self, workflow_id: str) -> list[NodeRequest]:
        """What is sent. Raises NotConfiguredError, and what `Task.enqueue` raises."""
        if len(self.nodes) > NODES_PER_REQUEST:
            raise NotConfiguredError(
                f"a workflow begins with at most {NODES_PER_REQUEST} nodes; more are added while it runs"
            )
        return [_request(node, workflow_id) for node in self.nodes.values()]

    @property
    def _app(self) -> AppProtocol:
        if not self.nodes:
            raise NotConfiguredError("the workflow has no nodes")
        app: AppProtocol = next(iter(self.nodes.values())).call.task.task.app
        if app.is_testing:
            raise NotConfiguredError("workflows need a taskq: they do not run within taskq.testing")
        return app

    def _free_name(self, call: Call) -> str:
        stem = str(call.task.task.name).rpartition(".")[2][:80]
        name, number = stem, 1
        while name in self.nodes:
            number += 1
            name = f"{stem}-{number}"
        return name

    # Putting workflows together

    def append(self, part: Part) -> Workflow:
        """Put a call or a workflow behind all that there is so far. The calls that it begins with get what its last
        calls returned, unless they are `immutable`."""
        last, takes = self.last, _takes(self)
        self._include(part, after=[node.name for node in last], takes=takes)
        self._gives_list = isinstance(part, Workflow) and part._gives_list  # noqa: SLF001
        return self

    def include(self, part: Part) -> Workflow:
        """Put a call or a workflow beside all that there is so far."""
        self._include(part, after=(), takes="")
        return self

    def _include(self, part: Part, *, after: Sequence[str], takes: Takes) -> None:
        if isinstance(part, Call):
            part = _single(part)
        if not isinstance(part, Workflow):
            raise TypeError(f"expected a call, made by task.call(...), or a workflow, not {part!r}")
        if not part.nodes:
            raise NotConfiguredError("a group or workflow without calls cannot be a part of another one")
        nodes = tuple(part.nodes.values())
        names: dict[str, str] = {}
        for node in nodes:
            names[node.name] = self._free_name(node.call) if node.name in self.nodes else node.name
            self.nodes[names[node.name]] = replace(node, name=names[node.name])
        for node in nodes:  # which may come after nodes that were added later
            own = tuple([names.get(name, name) for name in node.after])
            self.nodes[names[node.name]] = replace(self.nodes[names[node.name]], after=own)
        for node in part.first:
            name = names[node.name]
            its = takes if self.nodes[name].call.takes_results else ""
            self.nodes[name] = replace(self.nodes[name], after=tuple(after), takes=its if after else "")


def chain(*parts: Part, name: str = "", retention: Delay = DEFAULT_RETENTION) -> Workflow:
    """One after the other; each gets what the one before returned as its first argument, unless it is `immutable`."""
    workflow = Workflow(name, retention=retention)
    for part in parts:
        workflow.append(part)
    return workflow


def group(parts: Iterable[Part], *, name: str = "", retention: Delay = DEFAULT_RETENTION) -> Workflow:
    """All at the same time. What comes behind a group gets a list of what its calls returned."""
    workflow = Workflow(name, retention=retention)
    for part in parts:
        workflow.include(part)
    workflow._gives_list = True  # noqa: SLF001
    return workflow


def chord(parts: Iterable[Part], body: Call, *, name: str = "", retention: Delay = DEFAULT_RETENTION) -> Workflow:
    """A group, and then `body`, which gets a list of what the group's calls returned."""
    return chain(group(parts), body, name=name, retention=retention)


def _single(call: Call) -> Workflow:
    workflow = Workflow()
    workflow.add(call)
    return workflow


def _takes(workflow: Workflow) -> Takes:
    """What a call gets that comes behind it."""
    return "results" if workflow._gives_list or len(workflow.last) > 1 else "result"  # noqa: SLF001


def _request(node: Node, workflow_id: str) -> NodeRequest:
    bound = node.call.task
    options = bound.options
    if options.key is not None or options.depends_on:
        raise NotConfiguredError(
            f"{bound.task.name}: a call of a workflow has neither key= nor depends_on=; take .using(key=None)"
        )
    if options.outbox:
        raise NotConfiguredError(f"{bound.task.name}: a workflow cannot go through the outbox")
    prepared = bound.task.prepare(
        options,
        node.call.args,
        node.call.kwargs,
        in_workflow={"id": workflow_id, "node": node.name, "takes": node.takes},
    )
    publish = prepared.options
    if publish.delay_ms and publish.ttl_ms and publish.ttl_ms < publish.delay_ms:
        raise TaskqClientError(f"{bound.task.name}: expires= is shorter than delay=")
    on_failure = type(publish.on_dependency_failure)(node.on_failure)
    return NodeRequest(
        name=node.name,
        queue=prepared.queue,
        body=prepared.body,
        depends_on=node.after,
        options=replace(
            publish,
            retention_ms=0,
            ttl_ms=publish.ttl_ms or NODE_TTL_S * 1000,
            on_dependency_failure=on_failure,
        ),
    )
