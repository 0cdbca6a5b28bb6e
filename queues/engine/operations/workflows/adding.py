"""Creates workflows, and adds nodes to them: bodies are staged, nodes committed in one step, and then published.

If the caller dies before the commit, nothing has happened, and the bodies are dropped a minute later. If it dies after
it, the relay publishes what is left (`attending`). A request that is repeated changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ... import constants
from ...errors import InvalidArgumentError, StoreUnavailableError, WorkflowConflictError, WorkflowNotFoundError
from ...keys import Layout, WorkflowKeys
from ...names import check_workflow_id, make_id, random_start
from ...operation import Operation, Paced, Plan, in_pages
from ...values import Dependency
from ...workflow_values import NodeRequest, NodesAdded
from ..publish import PreparedOptions
from . import records
from .checking import check_nodes, check_retention, check_workflow_name, digest_of
from .nodes import Node, PendingJob, dependant_text, wait_text
from .publishing import publish_pending
from .records import Found

_TRIES: Final = 20
OPTIONS: Final = 6
"""Of the arguments of options, those that a job without a key has."""


def create_workflow(
    layout: Layout,
    namespace: str,
    workflow_id: str,
    nodes: Sequence[NodeRequest],
    *,
    name: str = "",
    retention_ms: int = constants.WORKFLOW_RETENTION_S * 1000,
    now_ms: int | None = None,
) -> Plan[NodesAdded]:
    """Make a workflow and publish its jobs: all or nothing, and nothing if it was made by the same request before.

    Raises InvalidArgumentError (names, options, unknown dependencies, a cycle), WorkflowConflictError (another workflow
    has the id).
    """
    check_workflow_id(workflow_id)
    check_workflow_name(name)
    check_retention(retention_ms)
    prepared = check_nodes(nodes)
    digest = digest_of(nodes, prepared, "create", name, str(retention_ms))
    workflow = layout.workflow(namespace, workflow_id)
    request = _Request(layout, workflow, nodes, prepared, digest, name, retention_ms, True, now_ms)
    return (yield from request.run())


def add_nodes(
    layout: Layout, namespace: str, workflow_id: str, nodes: Sequence[NodeRequest], *, now_ms: int | None = None
) -> Plan[NodesAdded]:
    """Add nodes to a workflow that is running, or failed: they may depend on each other, and on nodes that it has.

    Raises as `create_workflow`; WorkflowNotFoundError; WorkflowConflictError if it is done or cancelled.
    """
    check_workflow_id(workflow_id)
    prepared = check_nodes(nodes)
    workflow = layout.workflow(namespace, workflow_id)
    request = _Request(layout, workflow, nodes, prepared, digest_of(nodes, prepared, "add"), "", 0, False, now_ms)
    return (yield from request.run())


@dataclass(frozen=True, slots=True)
class _Request:
    layout: Layout
    workflow: WorkflowKeys
    nodes: Sequence[NodeRequest]
    prepared: Sequence[PreparedOptions]
    digest: str
    name: str
    retention_ms: int
    creates: bool
    now_ms: int | None

    def run(self) -> Plan[NodesAdded]:
        for _ in range(_TRIES):
            found = yield from self._find()
            if found is None:
                yield from publish_pending(self.layout, self.workflow, now_ms=self.now_ms)
                return NodesAdded(workflow_id=self.workflow.workflow_id, nodes=len(self.nodes), is_new=False)
            record, old = found
            job_ids = _job_ids(record.now_ms, len(self.nodes))
            yield from self._stage(job_ids, old)
            base = None if self.creates else (record.summary.nodes_total if record.summary else 0)
            commit = yield from self._commit(job_ids, old, base)
            if commit.word in ("ok", "repeated"):
                yield from publish_pending(self.layout, self.workflow, now_ms=self.now_ms)
                return NodesAdded(
                    workflow_id=self.workflow.workflow_id, nodes=len(self.nodes), is_new=commit.word == "ok"
                )
            if commit.word not in ("changed", "unstaged"):
                raise self._refusal(commit, old)
        raise StoreUnavailableError("the nodes were not added: others are being added all the time")

    def _find(self) -> Plan[tuple[records.Record, Mapping[str, Found]] | None]:
        """The record, and the nodes that these depend on and that are not among them; None: it has all of them."""
        own = {node.name for node in self.nodes}
        others = list(dict.fromkeys([name for node in self.nodes for name in node.depends_on if name not in own]))
        if self.creates and others:
            self._refuse_unknown(others[0])
        names = [*own, *others]
        old: dict[str, Found] = {}
        record: records.Record | None = None
        for part in in_pages(names, constants.NODES_PER_REQUEST):
            (record,) = yield [records.find_nodes(self.workflow, part, digest=self.digest, now_ms=self.now_ms)]
            if record.is_repeated:
                return None
            if record.summary is None and not self.creates:
                raise WorkflowNotFoundError
            if record.summary is not None and self.creates:
                raise WorkflowConflictError(f"there is another workflow with the id {self.workflow.workflow_id}")
            for name, found in zip(part, record.found, strict=True):
                if found is not None and name in own:
                    raise InvalidArgumentError(f'node "{name}" is there already')
                if found is None and name not in own:
                    self._refuse_unknown(name)
                if found is not None:
                    old[name] = found
        assert record is not None  # there is at least one node
        return record, old

    def _refuse_unknown(self, name: str) -> None:
        node = next(node for node in self.nodes if name in node.depends_on)
        raise InvalidArgumentError(
            f'node "{node.name}" depends on "{name[: constants.NODE_NAME_MAX]}", which is unknown'
        )

    def _stage(self, job_ids: Sequence[str], old: Mapping[str, Found]) -> Plan[None]:
        for part in _parts(self._pending(job_ids, old)):
            yield Paced([records.stage_nodes(self.workflow, part, now_ms=self.now_ms)])

    def _pending(self, job_ids: Sequence[str], old: Mapping[str, Found]) -> Iterator[tuple[str, bytes]]:
        places = {
            node.name: Dependency(queue=node.queue, job_id=job_id)
            for node, job_id in zip(self.nodes, job_ids, strict=True)
        }
        dependants: dict[str, list[str]] = {}
        for node, prepared in zip(self.nodes, self.prepared, strict=True):
            place = places[node.name]
            text = dependant_text(prepared.policy, f"{self.workflow.namespace}/{place.queue}", place.job_id)
            for name in node.depends_on:
                dependants.setdefault(name, []).append(text)
        for node, prepared, job_id in zip(self.nodes, self.prepared, job_ids, strict=True):
            waits = []
            for name in node.depends_on:
                if name in places:
                    waits.append(wait_text("+", prepared.policy, places[name]))
                else:
                    its = old[name].node
                    waits.append(wait_text("?", prepared.policy, Dependency(queue=its.queue, job_id=its.job_id)))
            pending = PendingJob(
                prepared.arguments[:OPTIONS], tuple(waits), tuple(dependants.get(node.name, ())), node.body
            )
            yield job_id, pending.pack()

    def _commit(self, job_ids: Sequence[str], old: Mapping[str, Found], base: int | None) -> Plan[records.Commit]:
        numbers = {name: found.number for name, found in old.items()}
        numbers |= {node.name: (base or 0) + place for place, node in enumerate(self.nodes)}
        own = {node.name for node in self.nodes}
        nodes = [
            (
                Node(
                    node.name, node.queue, job_id, prepared.policy, tuple([numbers[name] for name in node.depends_on])
                ),
                own.isdisjoint(node.depends_on),
            )
            for node, prepared, job_id in zip(self.nodes, self.prepared, job_ids, strict=True)
        ]
        operation: Operation[records.Commit] = records.commit_nodes(
            self.workflow,
            nodes,
            base=base,
            digest=self.digest,
            name=self.name,
            retention_ms=self.retention_ms,
            needed=sorted({found.number for found in old.values()}),
            now_ms=self.now_ms,
        )
        (commit,) = yield Paced([operation])
        return commit  # type: ignore[no-any-return]

    def _refusal(self, commit: records.Commit, old: Mapping[str, Found]) -> Exception:
        if commit.word == "missing":
            return WorkflowNotFoundError()
        if commit.word == "exists":
            return WorkflowConflictError(f"there is another workflow with the id {self.workflow.workflow_id}")
        if commit.word == "ended":
            return WorkflowConflictError(f"the workflow is {commit.value}: no nodes can be added to it")
        if commit.word == "lost":
            name = next(name for name, found in old.items() if found.number == commit.value)
            return WorkflowConflictError(f'node "{name}" was deleted or has expired, so nothing can wait for it')
        return InvalidArgumentError(
            f"too many nodes: the workflow has {commit.value}, cannot exceed {constants.WORKFLOW_NODES_MAX}"
        )


def _job_ids(now_ms: int, number: int) -> list[str]:
    """Ascending ids, all with this time."""
    random, counter = random_start(number)
    return [make_id(now_ms, random, counter + place) for place in range(number)]


def _parts(bodies: Iterator[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """In parts of about NODE_STAGE_BYTES."""
    part: list[tuple[str, bytes]] = []
    size = 0
    for job_id, raw in bodies:
        if part and (size + len(raw) > constants.NODE_STAGE_BYTES or len(part) == constants.NODE_PAGE):
            yield part
            part, size = [], 0
        part.append((job_id, raw))
        size += len(raw)
    if part:
        yield part
