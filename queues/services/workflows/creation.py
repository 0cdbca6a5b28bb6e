"""Workflows that clients ask for: the policies of the queues fill in what a node leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from queues.engine import (
    InvalidArgumentError,
    Layout,
    LimitReachedError,
    NodeRequest,
    NodesAdded,
    Plan,
    RequestLimit,
    TaskqError,
    add_nodes,
    constants,
    create_workflow,
    give_back_token_limit,
    take_token_limit,
)
from queues.engine.names import check_queue
from queues.engine.operation import Apart

from ..jobs.publishing import PublishRequest, effective_options
from ..policies import EffectivePolicy
from ..schedules.checking import QUEUE_WORDS

T = TypeVar("T")

NOTHING_SAID: Final = PublishRequest()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedNode:
    """A node as a client gave it."""

    name: str
    queue: str
    body: bytes
    depends_on: tuple[str, ...] = ()
    publish: PublishRequest = NOTHING_SAID


def queues_of(nodes: Sequence[AskedNode]) -> list[str]:
    """The queues whose policies are needed. Raises InvalidArgumentError for a name that no queue has."""
    names = list(dict.fromkeys([node.queue for node in nodes]))
    for name in names:
        check_queue(name)
    return names


def create(
    *,
    layout: Layout,
    namespace: str,
    workflow_id: str,
    nodes: Sequence[AskedNode],
    policies: Mapping[str, EffectivePolicy],
    name: str,
    retention_ms: int | None,
) -> Plan[NodesAdded]:
    """Make a workflow and publish its jobs. Raises as the engine's `create_workflow`."""
    if workflow_id in QUEUE_WORDS:
        raise InvalidArgumentError("invalid workflow id: it is a word of the queues' routes")
    kept_ms = constants.WORKFLOW_RETENTION_S * 1000 if retention_ms is None else retention_ms
    return create_workflow(layout, namespace, workflow_id, _requests(nodes, policies), name=name, retention_ms=kept_ms)


def add(
    *,
    layout: Layout,
    namespace: str,
    workflow_id: str,
    nodes: Sequence[AskedNode],
    policies: Mapping[str, EffectivePolicy],
) -> Plan[NodesAdded]:
    """Add nodes to a workflow. Raises as the engine's `add_nodes`."""
    return add_nodes(layout, namespace, workflow_id, _requests(nodes, policies))


def counted(plan: Plan[T], limit: RequestLimit | None) -> Plan[T]:
    """The plan, counted as a request of a token with a limit, unless it is refused. Raises LimitReachedError."""
    if limit is None:
        return (yield from plan)
    (taken,) = yield [take_token_limit(limit)]
    if not taken.allowed:
        raise LimitReachedError(limit.kind, taken.retry_after_ms)
    try:
        return (yield from plan)
    except TaskqError:
        yield Apart([give_back_token_limit(taken)])
        raise


def _requests(nodes: Sequence[AskedNode], policies: Mapping[str, EffectivePolicy]) -> list[NodeRequest]:
    return [_request(node, policies[node.queue]) for node in nodes]


def _request(node: AskedNode, policy: EffectivePolicy) -> NodeRequest:
    asked = node.publish
    if asked.ttl_s is None and policy.ttl_s is None:
        asked = replace(asked, ttl_s=constants.NODE_TTL_S)
    try:
        options = effective_options(request=asked, policy=policy)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f'node "{node.name[: constants.NODE_NAME_MAX]}": {error}') from None
    return NodeRequest(
        name=node.name,
        queue=node.queue,
        body=node.body,
        depends_on=node.depends_on,
        options=options,
    )
