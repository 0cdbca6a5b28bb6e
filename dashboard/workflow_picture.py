"""The graph of a workflow as its page gets it: where nodes are, once; then only what has changed since.

A page says which version it shows. The states of the versions that were sent last are remembered in this process, so
that the answer can be the difference; a page of which nothing is remembered gets everything again, which is right, too.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from threading import Lock
from typing import Any, Final

from queues.engine import Workflow, WorkflowNode
from queues.odd_characters import spell_out

from .workflow_graph import GraphLayout, count_edges, lay_out

NODES_MAX: Final = 3_000
EDGES_MAX: Final = 100_000
DRAWN_EDGES_MAX: Final = 10_000
"""Between single nodes and blocks of nodes. What has more is listed, but not drawn: 100,000 take ten seconds."""

LAYOUTS_KEPT: Final = 16
VERSIONS_KEPT: Final = 128
ERROR_SHOWN: Final = 200

LABEL_MAX: Final = 24
"""Latin letters; others are twice as wide."""
LETTER: Final = 7
LABEL_ROOM: Final = 44
"""For the sign of the state, and at both ends."""
WIDTH_MIN: Final = 104

State = tuple[str, int, int, int, str]
"""Of a node: state, attempts, start and end in ms (0: not yet), error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a page shows. `graph`: of names and dependencies; `states`: of everything that changes."""

    graph: str
    states: str

    @property
    def text(self) -> str:
        return f"{self.graph}.{self.states}"


def version_of(workflow: Workflow) -> Version:
    """Equal versions look the same."""
    return _version_with(workflow, _states(workflow))


def _version_with(workflow: Workflow, states: tuple[State, ...]) -> Version:
    graph = [(node.name, node.queue, node.job_id, node.depends_on) for node in workflow.nodes]
    return Version(graph=_digest(graph), states=_digest(states))


def can_be_drawn(workflow: Workflow) -> bool:
    """Whether it is small enough."""
    edges = sum(len(node.depends_on) for node in workflow.nodes)
    if len(workflow.nodes) > NODES_MAX or edges > EDGES_MAX:
        return False
    return edges <= DRAWN_EDGES_MAX or _count_drawn_edges(_dependencies(workflow)) <= DRAWN_EDGES_MAX


def picture_of(workflow: Workflow) -> dict[str, Any]:
    """All of it, as JSON: nodes as `[name, label, queue, job id, x, y, *state]`; edges connect units."""
    states = _states(workflow)
    version = _version_with(workflow, states)
    _sent.remember(workflow.workflow_id, version.text, states)
    layout = _layout(workflow)
    blocks = {block.nodes[0]: block for block in layout.blocks}
    return {
        "version": version.text,
        "size": [layout.width, layout.height],
        "node": [layout.node_width, layout.node_height],
        "nodes": [
            [spell_out(node.name), short_label(spell_out(node.name)), node.queue, node.job_id, *corner, *state]
            for node, corner, state in zip(workflow.nodes, layout.corners, states, strict=True)
        ],
        "units": [{"nodes": nodes, "chain": blocks[nodes[0]].chain if len(nodes) > 1 else 1} for nodes in layout.units],
        "blocks": [[block.x, block.y, block.width, block.height, len(block.nodes)] for block in layout.blocks],
        "edges": [[edge.source, edge.target, edge.points] for edge in layout.edges],
    }


def changes_since(workflow: Workflow, shown: str) -> dict[str, Any] | None:
    """What a page that shows this version has to change: `changed` as `[number, *state]`. None: it needs all of it."""
    states = _states(workflow)
    version = _version_with(workflow, states)
    before = _sent.recall(workflow.workflow_id, shown)
    if before is None or shown.partition(".")[0] != version.graph:
        return None
    _sent.remember(workflow.workflow_id, version.text, states)
    pairs = zip(before, states, strict=True)
    changed = [[number, *state] for number, (old, state) in enumerate(pairs) if old != hash(state)]
    return {"version": version.text, "changed": changed}


def short_label(name: str) -> str:
    """At most LABEL_MAX letters wide: of a long name both ends, for numbers are at the end."""
    if _width(name) <= LABEL_MAX:
        return name
    tail = _cut(name[::-1], LABEL_MAX // 2 - 1)[::-1]
    return f"{_cut(name, LABEL_MAX - _width(tail) - 1)}…{tail}"


def _cut(text: str, most: int) -> str:
    used = 0
    for place, letter in enumerate(text):
        used += _width(letter)
        if used > most:
            return text[:place]
    return text


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


Dependencies = tuple[tuple[int, ...], ...]
"""Of each node the numbers of those that it waits for."""


def _dependencies(workflow: Workflow) -> Dependencies:
    numbers = {node.name: number for number, node in enumerate(workflow.nodes)}
    return tuple([tuple([numbers[one] for one in node.depends_on if one in numbers]) for node in workflow.nodes])


def _layout(workflow: Workflow) -> GraphLayout:
    longest = max((_width(short_label(spell_out(node.name))) for node in workflow.nodes), default=0)
    return _cached_layout(_dependencies(workflow), max(WIDTH_MIN, longest * LETTER + LABEL_ROOM))


@lru_cache(maxsize=LAYOUTS_KEPT)
def _cached_layout(depends_on: Dependencies, node_width: int) -> GraphLayout:
    return lay_out(depends_on, node_width=node_width)


@lru_cache(maxsize=LAYOUTS_KEPT)
def _count_drawn_edges(depends_on: Dependencies) -> int:
    return count_edges(depends_on)


def _states(workflow: Workflow) -> tuple[State, ...]:
    return tuple(map(_state, workflow.nodes))


def _state(node: WorkflowNode) -> State:
    error = spell_out(node.error[:ERROR_SHOWN])
    return str(node.state), node.attempts, node.started_ms or 0, node.ended_ms or 0, error


def _digest(values: Sequence[Any]) -> str:
    return blake2b(repr(values).encode("utf-8", "replace"), digest_size=9).hexdigest()


class _SentVersions:
    """Hashes of the states of the versions that were sent last, 8 bytes a node; of the oldest nothing is kept."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._hashes: OrderedDict[tuple[str, str], array[int]] = OrderedDict()

    def remember(self, workflow_id: str, version: str, states: Sequence[State]) -> None:
        hashes = array("q", map(hash, states))
        with self._lock:
            self._hashes[workflow_id, version] = hashes
            self._hashes.move_to_end((workflow_id, version))
            if len(self._hashes) > VERSIONS_KEPT:
                self._hashes.popitem(last=False)

    def recall(self, workflow_id: str, version: str) -> Sequence[int] | None:
        with self._lock:
            return self._hashes.get((workflow_id, version))


_sent: Final = _SentVersions()
