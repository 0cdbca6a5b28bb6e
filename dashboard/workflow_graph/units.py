"""What is placed as one: a single node, or a block of nodes that have the same neighbours.

A thousand jobs between one that splits and one that joins would be a column of a thousand; as a block they are a grid,
with one edge into it and one out. The same holds for chains: a thousand times "fetch, then resize".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BLOCK_MIN: Final = 4
"""So many equal chains make a block; fewer are placed one by one."""

Neighbours = tuple[tuple[int, ...], ...]
"""Of each node, by its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Chains of equal length, the nodes of each in order. A single node is one chain of one."""

    chains: tuple[tuple[int, ...], ...]

    @property
    def is_block(self) -> bool:
        """Whether it is drawn with a frame around it."""
        return len(self.chains) > 1

    @property
    def nodes(self) -> tuple[int, ...]:
        """All of them, chain by chain."""
        return tuple([node for chain in self.chains for node in chain])


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """An acyclic graph. `order`: every node after those that it depends on."""

    before: Neighbours
    after: Neighbours
    order: tuple[int, ...]

    @property
    def edges(self) -> list[tuple[int, int]]:
        """From and to, in the order of the nodes that they come from."""
        return [(source, target) for source, targets in enumerate(self.after) for target in targets]


def make_graph(depends_on: Sequence[Sequence[int]]) -> Graph:
    """Drop what cannot be drawn: repeated dependencies, unknown nodes, and those of nodes on or behind a circle."""
    known = range(len(depends_on))
    before = [tuple(sorted({one for one in given if one in known})) for given in depends_on]
    order = _sort(before)
    if len(order) < len(before):  # nothing of ours makes circles; a picture is no place to fail for one
        reached = set(order)
        before = [given if node in reached else () for node, given in enumerate(before)]
        order = _sort(before)
    return Graph(before=tuple(before), after=tuple(map(tuple, _turn(before))), order=tuple(order))


def _sort(before: Sequence[Sequence[int]]) -> list[int]:
    """Nodes behind those that they depend on; without those that are on a circle or depend on one."""
    after, missing = _turn(before), [len(given) for given in before]
    ready, order = deque(node for node, count in enumerate(missing) if not count), list[int]()
    while ready:
        node = ready.popleft()
        order.append(node)
        for one in after[node]:
            missing[one] -= 1
            if not missing[one]:
                ready.append(one)
    return order


def _turn(before: Sequence[Sequence[int]]) -> list[list[int]]:
    after: list[list[int]] = [[] for _ in before]
    for node, given in enumerate(before):
        for one in given:
            after[one].append(node)
    return after


def find_units(graph: Graph) -> list[Unit]:
    """Every node is in exactly one of them; in the order of their first nodes."""
    alike: dict[tuple[tuple[int, ...], tuple[int, ...], int], list[tuple[int, ...]]] = {}
    for chain in _chains(graph):
        alike.setdefault((graph.before[chain[0]], graph.after[chain[-1]], len(chain)), []).append(chain)
    units: list[Unit] = []
    for chains in alike.values():
        if len(chains) >= BLOCK_MIN:
            units.append(Unit(chains=tuple(chains)))
        else:
            units += [Unit(chains=((node,),)) for chain in chains for node in chain]
    return sorted(units, key=lambda unit: unit.chains[0][0])


def _chains(graph: Graph) -> list[tuple[int, ...]]:
    """The longest stretches in which each node has only the next one behind it, and that only this one before it."""
    chains: list[tuple[int, ...]] = []
    for head in range(len(graph.before)):
        if _follows(graph, head):
            continue
        chain = [head]
        while len(graph.after[chain[-1]]) == 1 and _follows(graph, graph.after[chain[-1]][0]):
            chain.append(graph.after[chain[-1]][0])
        chains.append(tuple(chain))
    return chains


def _follows(graph: Graph, node: int) -> bool:
    """Whether it continues the chain of the only node that it depends on."""
    before = graph.before[node]
    return len(before) == 1 and len(graph.after[before[0]]) == 1


def graph_of_units(graph: Graph, units: Sequence[Unit]) -> Graph:
    """What depends on what among units: whatever holds for one node of a block holds for all."""
    unit_of = {node: number for number, unit in enumerate(units) for node in unit.nodes}
    return make_graph(
        [
            list(dict.fromkeys(unit_of[one] for one in graph.before[unit.chains[0][0]] if unit_of[one] != number))
            for number, unit in enumerate(units)
        ]
    )
