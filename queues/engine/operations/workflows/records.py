"""Operations on the record of a workflow: one for each script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import constants
from ...keys import WorkflowKeys, partition_keys, workflow_index_key
from ...operation import Argument, Operation, Reply, clock_argument, expect_ok, tag_of, unexpected
from ...scripts import Script, load
from ...workflow_values import WorkflowState, WorkflowSummary
from .nodes import PENDING, Fate, Node, PendingJob, fate_of, node_of, pending_of

_FIND = load("find_nodes")
_STAGE = load("stage_nodes")
_COMMIT = load("commit_nodes")
_READ_UNPUBLISHED = load("read_unpublished")
_MARK_PUBLISHED = load("mark_published")
_NOTE = load("note_nodes")
_READ_NODES = load("read_nodes")
_LIST = load("list_workflows")
_CANCEL = load("cancel_workflow")
_RETRY = load("retry_workflow")
_END_TASK = load("end_task")
_READ_TASK = load("read_task")
_TAKE = load("take_workflows")
_DROP_STAGED = load("drop_staged")
_FORGET = load("forget_workflow")


class Found(NamedTuple):
    """A node that was found by its name; `number`: its place in the workflow."""

    number: int
    node: Node
    fate: Fate


class Record(NamedTuple):
    """`summary` None: there is no such workflow. `is_repeated`: it has the nodes of the request already.

    `found`: the node of each name; None: there is none.
    """

    now_ms: int
    summary: WorkflowSummary | None
    is_repeated: bool
    found: tuple[Found | None, ...]


def find_nodes(
    workflow: WorkflowKeys, names: Sequence[str] = (), *, digest: str = "", now_ms: int | None = None
) -> Operation[Record]:
    """The record without its nodes, and the nodes with these names."""

    def decode(reply: Reply) -> Record:
        if tag_of(reply) == "missing":
            return Record(int(reply[1]), None, False, (None,) * len(names))
        now, has_digest, fields, *nodes = expect_ok(_FIND, reply)
        found = tuple([Found(int(one[0]), node_of(one[1]), fate_of(one[2])) if one else None for one in nodes])
        return Record(int(now), _summary_of(workflow, int(now), fields), bool(has_digest), found)

    return Operation(_FIND, workflow.select(_FIND.keys), (clock_argument(now_ms), digest, *names), decode)


def _summary_of(workflow: WorkflowKeys, now_ms: int, fields: Sequence[Any]) -> WorkflowSummary:
    name, created, retention, nodes, done, failed, state, ended, _changed, _cancelled = fields
    return WorkflowSummary(
        namespace=workflow.namespace,
        workflow_id=workflow.workflow_id,
        name=name.decode(),
        state=WorkflowState(state.decode()),
        created_ms=int(created),
        ended_ms=int(ended) or None,
        retention_ms=int(retention),
        nodes_total=int(nodes),
        nodes_done=int(done),
        nodes_failed=int(failed),
        now_ms=now_ms,
    )


def stage_nodes(
    workflow: WorkflowKeys, bodies: Sequence[tuple[str, bytes]], *, now_ms: int | None = None
) -> Operation[bool]:
    """Write bodies, each behind the id of its job."""
    args: list[Argument] = [part for one in bodies for part in one]
    return Operation(
        _STAGE,
        workflow.select(_STAGE.keys),
        (clock_argument(now_ms), workflow.name, constants.WORKFLOW_STAGED_MS, *args),
        lambda reply: not expect_ok(_STAGE, reply),
        alone=True,
    )


class Commit(NamedTuple):
    """The outcome of a commit: the word that lua/commit_nodes.lua replies, and the value behind it."""

    word: str
    value: Any = None


def commit_nodes(
    workflow: WorkflowKeys,
    nodes: Sequence[tuple[Node, bool]],
    *,
    base: int | None,
    digest: str,
    name: str,
    retention_ms: int,
    needed: Sequence[int],
    now_ms: int | None = None,
) -> Operation[Commit]:
    """Add nodes, each with whether it depends on none of them. `base` None: make the workflow."""

    def decode(reply: Reply) -> Commit:
        word = tag_of(reply)
        if word not in _COMMIT.replies:
            raise unexpected(_COMMIT, reply)
        value = reply[1] if len(reply) > 1 else None
        return Commit(word, value.decode() if isinstance(value, bytes) else value)

    fields: list[Argument] = []
    places: list[Argument] = []
    first = base or 0
    for number, (node, is_root) in enumerate(nodes, first):
        fields += (f"={node.name}", number, f"#{number}", node.text)
        places += (2 * first + is_root, number)
    head = (
        clock_argument(now_ms),
        workflow.name,
        "" if base is None else base,
        digest,
        name,
        retention_ms,
        constants.WORKFLOW_NODES_MAX,
        len(needed),
        len(nodes),
        *needed,
    )
    args = (*head, *fields, *places, *[node.job_id for node, _ in nodes])
    return Operation(_COMMIT, workflow.select(_COMMIT.keys), args, decode, alone=True, replicated=True)


class Unpublished(NamedTuple):
    """Nodes whose jobs are to be published next, in any order."""

    now_ms: int
    nodes: tuple[tuple[int, Node, PendingJob], ...]


def read_unpublished(workflow: WorkflowKeys, *, now_ms: int | None = None) -> Operation[Unpublished]:
    """Nodes whose jobs are to be published, all of one rank."""

    def decode(reply: Reply) -> Unpublished:
        now, *nodes = expect_ok(_READ_UNPUBLISHED, reply)
        return Unpublished(
            int(now), tuple([(int(number), node_of(node), pending_of(raw)) for number, node, raw in nodes])
        )

    args = (clock_argument(now_ms), constants.NODE_PAGE, constants.NODE_STAGE_BYTES)
    return Operation(_READ_UNPUBLISHED, workflow.select(_READ_UNPUBLISHED.keys), args, decode, alone=True)


def mark_published(
    workflow: WorkflowKeys, nodes: Sequence[tuple[int, str]], *, now_ms: int | None = None
) -> Operation[WorkflowState | None]:
    """Record that jobs of nodes, by their numbers and ids, have been published. Returns the workflow's state.

    None: the workflow is gone.
    """

    def decode(reply: Reply) -> WorkflowState | None:
        if tag_of(reply) == "missing":
            return None
        return WorkflowState(expect_ok(_MARK_PUBLISHED, reply)[1].decode())

    args = [part for one in nodes for part in one]
    keys = workflow.select(_MARK_PUBLISHED.keys)
    return Operation(_MARK_PUBLISHED, keys, (clock_argument(now_ms), workflow.name, *args), decode)


def note_nodes(
    workflow: WorkflowKeys, fates: Sequence[tuple[int, Fate]], *, now_ms: int | None = None
) -> Operation[bool]:
    """Record what has become of nodes. Returns whether there is such a workflow."""

    def decode(reply: Reply) -> bool:
        return tag_of(reply) != "missing" and bool(expect_ok(_NOTE, reply))

    args: list[Argument] = []
    for number, fate in fates:
        args += (number, fate.outcome, fate.as_of_ms, fate.rest)
    return Operation(_NOTE, workflow.select(_NOTE.keys), (clock_argument(now_ms), workflow.name, *args), decode)


def read_nodes(workflow: WorkflowKeys, *, first: int, limit: int) -> Operation[tuple[tuple[Node, Fate], ...]]:
    """Nodes by their numbers, from `first` on."""

    def decode(reply: Reply) -> tuple[tuple[Node, Fate], ...]:
        return tuple(
            [
                (node_of(node), PENDING if pending else fate_of(fate))
                for node, fate, pending in expect_ok(_READ_NODES, reply)
            ]
        )

    keys = workflow.select(_READ_NODES.keys)
    return Operation(_READ_NODES, keys, (first, first + limit - 1), decode, alone=True)


def list_partition_workflows(partition: int, namespace: str, *, before: str, limit: int) -> Operation[tuple[str, ...]]:
    """`MS/ID` of workflows of a namespace in one partition, the newest first. `before`: as ZREVRANGEBYLEX takes it."""
    return Operation(
        _LIST,
        (workflow_index_key(partition, namespace),),
        (before, limit),
        lambda reply: tuple([member.decode() for member in expect_ok(_LIST, reply)]),
    )


class Asked(NamedTuple):
    """What was asked for. `word`: as the script replies, ok if it was accepted, at `value`, ms."""

    word: str
    value: Any = None
    changed: bool = True


def cancel_record(workflow: WorkflowKeys, *, now_ms: int | None = None) -> Operation[Asked]:
    """Mark a workflow as cancelled."""
    args = (clock_argument(now_ms), workflow.name, constants.PUBLISH_WITHIN_MS + constants.CANCEL_AGAIN_AFTER_MS)
    return Operation(_CANCEL, workflow.select(_CANCEL.keys), args, lambda reply: _asked(_CANCEL, reply))


def retry_record(workflow: WorkflowKeys, *, now_ms: int | None = None) -> Operation[Asked]:
    """Mark that the dead nodes of a workflow are to be revived."""
    args = (clock_argument(now_ms), workflow.name)
    return Operation(_RETRY, workflow.select(_RETRY.keys), args, lambda reply: _asked(_RETRY, reply))


def _asked(script: Script, reply: Reply) -> Asked:
    word, *values = reply
    if word.decode() not in script.replies:
        raise unexpected(script, reply)
    value = values[0].decode() if values and isinstance(values[0], bytes) else values[0] if values else None
    return Asked(word.decode(), value, len(values) < 2 or bool(values[1]))


def end_task(
    workflow: WorkflowKeys, *, task: str = "", asked_ms: int = 0, now_ms: int | None = None
) -> Operation[bool]:
    """Record that this has been done, and set what comes next. Returns whether there is such a workflow."""

    def decode(reply: Reply) -> bool:
        return tag_of(reply) != "missing" and bool(expect_ok(_END_TASK, reply))

    args = (clock_argument(now_ms), workflow.name, task, asked_ms)
    keys = workflow.select(_END_TASK.keys)
    return Operation(_END_TASK, keys, args, decode)


class Task(NamedTuple):
    """What is to be done with a workflow. `state` None: there is none. `pending`: number of bodies.

    `again_ms`: when its jobs are cancelled once more, `ends_ms`: when it is dropped; 0: not at all.
    """

    now_ms: int
    pending: int
    state: WorkflowState | None = None
    task: str = ""
    asked_ms: int = 0
    again_ms: int = 0
    nodes: int = 0
    ends_ms: int = 0


def read_task(workflow: WorkflowKeys, *, now_ms: int | None = None) -> Operation[Task]:
    """Read what is to be done with a workflow."""

    def decode(reply: Reply) -> Task:
        if tag_of(reply) == "missing":
            return Task(int(reply[1]), int(reply[2]))
        now, pending, task, asked, again, state, nodes, ends = expect_ok(_READ_TASK, reply)
        return Task(now, pending, WorkflowState(state.decode()), task.decode(), asked, again, nodes, ends)

    return Operation(_READ_TASK, workflow.select(_READ_TASK.keys), (clock_argument(now_ms),), decode)


def take_workflows(partition: int, *, now_ms: int | None = None) -> Operation[tuple[str, ...]]:
    """Take some workflows of a partition that have something to do, as `namespace/workflow`.

    They are returned again a moment later, in case the caller died.
    """
    args = (clock_argument(now_ms), constants.WORKFLOWS_AT_ONCE, constants.ATTEND_AGAIN_MS)
    return Operation(
        _TAKE,
        (partition_keys(partition)["workflows"],),
        args,
        lambda reply: tuple([name.decode() for name in expect_ok(_TAKE, reply)]),
    )


def drop_staged(workflow: WorkflowKeys, *, cursor: str, now_ms: int | None = None) -> Operation[str]:
    """Drop bodies that were not added in time. Returns the cursor of the next call; "0": it was at the end."""
    args = (clock_argument(now_ms), workflow.name, constants.WORKFLOW_STAGED_MS, cursor)
    return Operation(
        _DROP_STAGED,
        workflow.select(_DROP_STAGED.keys),
        args,
        lambda reply: str(expect_ok(_DROP_STAGED, reply)[0].decode()),
    )


def forget_workflow(workflow: WorkflowKeys) -> Operation[int]:
    """Drop a part of the record. Returns how many fields are left."""
    keys = workflow.select(_FORGET.keys)
    return Operation(
        _FORGET, keys, (workflow.name, constants.NODE_READ_PAGE), lambda reply: int(expect_ok(_FORGET, reply)[0])
    )
