"""What the keys of workflows hold, and what must hold of them at any instant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from queues.engine.keys import WORKFLOW_KEYS, partition_of
from queues.engine.operations.workflows.nodes import Fate, Node, fate_of, node_of

WORKFLOW_KEY = re.compile(rb"\{tq(\d+)\}:workflow:([-\w]+)/([-\w]+):(\w+)\Z")
INDEX_KEY = re.compile(rb"\{tq(\d+)\}:workflows:([-\w]+)\Z")

_FAILED = ("dead", "deleted", "expired")


@dataclass(slots=True, kw_only=True)
class WorkflowContent:
    """What the keys of one workflow hold."""

    name: str
    partition: int
    fields: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    fates: dict[int, Fate] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    unpublished: dict[int, int] = field(default_factory=dict)


def read_workflow_keys(values: dict[bytes, Any], partitions: int) -> tuple[dict[str, WorkflowContent], set[str]]:
    """Takes their keys out of `values`: the workflows by `namespace/id`, and the names that are in an index."""
    found: dict[str, WorkflowContent] = {}
    indexed: set[str] = set()
    for key in list(values):
        if match := INDEX_KEY.match(key):
            namespace = match[2].decode()
            members = [member.decode() for member, score in values.pop(key) if score == 0]
            indexed |= {f"{namespace}/{member.partition('/')[2]}" for member in members}
        elif match := WORKFLOW_KEY.match(key):
            number, namespace, workflow_id, kind = (part.decode() for part in match.groups())
            assert kind in WORKFLOW_KEYS, f"unknown key {key!r}"
            assert int(number) == partition_of(namespace, workflow_id, partitions), f"{key!r} lies wrong"
            name = f"{namespace}/{workflow_id}"
            one = found.setdefault(name, WorkflowContent(name=name, partition=int(number)))
            _fill(one, kind, values.pop(key))
    return found, indexed


def _fill(one: WorkflowContent, kind: str, value: Any) -> None:
    if kind == "pending":
        one.pending = {job_id.decode() for job_id in value}
    elif kind == "unpublished":
        one.unpublished = {int(number): int(rank) for number, rank in value}
    else:
        for raw_name, raw in value.items():
            name = raw_name.decode()
            if name[0] == "#":
                one.nodes[int(name[1:])] = node_of(raw)
            elif name[0] == "@":
                one.fates[int(name[1:])] = fate_of(raw)
            elif name[0] == "=":
                one.numbers[name[1:]] = int(raw)
            else:
                one.fields[name] = raw.decode()


def problems_of_workflow(one: WorkflowContent, due: dict[str, int], indexed: set[str]) -> Iterator[str]:
    """`due`: the partition's workflows with something to do."""
    if one.name not in due and (one.unpublished or one.pending or one.fields.get("task")):
        yield f"{one.name}: nobody will attend to it"
    if not one.fields:
        return
    if one.name not in indexed:
        yield f"{one.name}: it is in no index"
    if one.numbers != {node.name: number for number, node in one.nodes.items()}:
        yield f"{one.name}: names {one.numbers} of nodes {one.nodes}"
    outcomes = [fate.outcome for fate in one.fates.values()]
    counted = [len(one.nodes), outcomes.count("done"), sum(outcome in _FAILED for outcome in outcomes)]
    said = [int(one.fields[name]) for name in ("nodes", "done", "failed")]
    if counted != said:
        yield f"{one.name}: nodes, done, failed are {counted}, it says {said}"
    state = (
        "cancelled"
        if "cancelled" in one.fields
        else "failed"
        if counted[2]
        else "done"
        if counted[1] == counted[0]
        else "running"
    )
    if one.fields["state"] != state:
        yield f"{one.name}: it says {one.fields['state']}, is {state}"
    if (state == "running") != (one.fields["ended"] == "0"):
        yield f"{one.name}: {state}, ended at {one.fields['ended']}"
    if state != "running" and one.name not in due:
        yield f"{one.name}: nobody will drop it"
    for number in one.unpublished:
        if one.nodes[number].job_id not in one.pending:
            yield f"{one.name}: node {number} has no body"
