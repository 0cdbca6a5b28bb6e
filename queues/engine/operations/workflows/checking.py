"""Checks requests for workflows: names, numbers, dependencies; finds cycles and names them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ... import constants
from ...errors import InvalidArgumentError
from ...names import check_queue
from ...workflow_values import NodeRequest
from ..publish import PreparedOptions, prepare

RESULT_KEPT_MS: Final = constants.SECONDS_MAX * 1000
"""Retention of the jobs of nodes: they and their results are deleted with their workflow (`attending`)."""

_SHOWN: Final = 40
_CYCLE_SHOWN: Final = 20


def check_workflow_name(name: str) -> None:
    """Raises InvalidArgumentError."""
    if len(name) > constants.WORKFLOW_NAME_MAX or not name.isprintable():
        raise InvalidArgumentError(
            f"invalid name: expected up to {constants.WORKFLOW_NAME_MAX} characters without control characters"
        )


def check_retention(retention_ms: int) -> None:
    """Raises InvalidArgumentError."""
    if not constants.WORKFLOW_RETENTION_MIN_S * 1000 <= retention_ms <= constants.SECONDS_MAX * 1000:
        raise InvalidArgumentError(f"invalid retention: it is {constants.WORKFLOW_RETENTION_MIN_S} seconds or more")


def check_nodes(nodes: Sequence[NodeRequest]) -> tuple[PreparedOptions, ...]:
    """The options that the job of each node is published with. Raises InvalidArgumentError, which names the node.

    Does not check whether the workflow has the nodes that these depend on and that are not among them."""
    if not 1 <= len(nodes) <= constants.NODES_PER_REQUEST:
        raise InvalidArgumentError(
            f"too many nodes, a request cannot exceed {constants.NODES_PER_REQUEST}" if nodes else "no nodes"
        )
    names: set[str] = set()
    prepared = []
    edges = 0
    for node in nodes:
        if not 1 <= len(node.name) <= constants.NODE_NAME_MAX or not node.name.isprintable():
            raise InvalidArgumentError(
                f"invalid node name {node.name[:_SHOWN]!r}: expected 1 to {constants.NODE_NAME_MAX} characters "
                "without control characters"
            )
        if node.name in names:
            raise InvalidArgumentError(f'node "{node.name}" is there twice')
        names.add(node.name)
        prepared.append(_prepare(node))
        edges += len(node.depends_on)
    if edges > constants.EDGES_PER_REQUEST:
        raise InvalidArgumentError(f"too many dependencies, a request cannot exceed {constants.EDGES_PER_REQUEST}")
    cycle = find_cycle_among({node.name: node.depends_on for node in nodes})
    if cycle:
        shown = [*cycle[:_CYCLE_SHOWN], "…", cycle[-1]] if len(cycle) > _CYCLE_SHOWN else cycle
        raise InvalidArgumentError(f"the workflow has a cycle: {' → '.join(shown)}")
    return tuple(prepared)


def _prepare(node: NodeRequest) -> PreparedOptions:
    try:
        check_queue(node.queue)
        if len(node.depends_on) > constants.NODE_DEPENDENCIES_MAX:
            raise InvalidArgumentError(f"too many dependencies, cannot exceed {constants.NODE_DEPENDENCIES_MAX}")
        if len(set(node.depends_on)) < len(node.depends_on):
            raise InvalidArgumentError("a dependency is there twice")
        if len(node.body) > constants.BODY_MAX_BYTES:
            raise InvalidArgumentError("body too large")
        options = node.options
        if options.key is not None:
            raise InvalidArgumentError("a node has no key")
        if options.depends_on:
            raise InvalidArgumentError("a node has no depends_on but the nodes that it comes after")
        if options.ttl_ms and options.ttl_ms < options.delay_ms:
            raise InvalidArgumentError("ttl is shorter than delay")
        return prepare(replace(options, retention_ms=RESULT_KEPT_MS))
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f'node "{node.name}": {error}') from None


def find_cycle_among(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """A cycle, as names of which each depends on the next, the first one again at the end; empty: there is none.

    In time linear in names and dependencies.
    """
    done: set[str] = set()
    for start in needs:
        if start in done:
            continue
        path, on_path, others_of = [start], {start}, [iter(needs[start])]
        while path:
            other = next(others_of[-1], None)
            if other is None:
                done.add(path[-1])
                on_path.discard(path.pop())
                others_of.pop()
            elif other in on_path:
                return [*path[path.index(other) :], other]
            elif other not in done and other in needs:
                path.append(other)
                on_path.add(other)
                others_of.append(iter(needs[other]))
    return []


def digest_of(nodes: Sequence[NodeRequest], prepared: Sequence[PreparedOptions], *about: str) -> str:
    """A digest of all that a request asks for, by which its repetition is recognised."""
    digest = hashlib.sha256()
    for text in about:
        digest.update(f"{len(text)} {text}\n".encode("utf-8", "replace"))
    for node, options in zip(nodes, prepared, strict=True):
        parts = (node.name, node.queue, repr(node.depends_on), repr(options.arguments), options.policy)
        for part in (*[part.encode() for part in parts], node.body):
            digest.update(b"%d " % len(part))
            digest.update(part)
    return digest.hexdigest()[:32]
