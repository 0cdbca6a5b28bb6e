"""Layers: a unit stands right of everything that it depends on. Edges that pass layers get a bend in each of them.

The order within each layer is found by barycentres, swept to and fro, for few crossings of edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from .units import Graph

BENDS_PER_PART: Final = 4
"""Bends that a graph may have for each of its units and edges, so that long edges cannot make the work quadratic."""


@dataclass(slots=True, kw_only=True)
class Layers:
    """Units and bends in columns. Bends have numbers from `units` on.

    `columns`: the items of each layer, from top to bottom. `routes`: of each edge its items, the unit where it begins
    first and the unit where it ends last. `before`, `after`: of each item its neighbours in the layers beside it.
    """

    units: int
    column_of: list[int]
    columns: list[list[int]]
    routes: list[list[int]]
    before: list[list[int]]
    after: list[list[int]]


def assign_columns(graph: Graph) -> list[int]:
    """The column of each unit: the longest path to it; what depends on nothing stands close to what needs it."""
    columns = [0] * len(graph.order)
    for unit in graph.order:
        columns[unit] = max([columns[one] + 1 for one in graph.before[unit]], default=0)
    for unit in graph.order:
        if not graph.before[unit] and graph.after[unit]:
            columns[unit] = min(columns[one] for one in graph.after[unit]) - 1
    return columns


def make_layers(graph: Graph) -> Layers:
    """The columns, in the order in which a walk along the edges comes upon the items."""
    column_of = assign_columns(graph)
    units = len(column_of)
    layers = Layers(
        units=units,
        column_of=column_of,
        columns=[[] for _ in range(max(column_of, default=-1) + 1)],
        routes=[],
        before=[[] for _ in range(units)],
        after=[[] for _ in range(units)],
    )
    _add_routes(layers, graph)
    for item in _walk(layers):
        layers.columns[column_of[item]].append(item)
    return layers


def _add_routes(layers: Layers, graph: Graph) -> None:
    """Short edges first; those for which no bends are left pass under whatever is in their way."""
    columns, edges = layers.column_of, graph.edges
    left = BENDS_PER_PART * (layers.units + len(edges))
    for source, target in sorted(edges, key=lambda edge: columns[edge[1]] - columns[edge[0]]):
        between = range(columns[source] + 1, columns[target])
        left -= len(between)
        if left < 0:
            layers.routes.append([source, target])
            continue
        bends = range(len(columns), len(columns) + len(between))
        columns.extend(between)
        layers.before.extend([] for _ in bends)
        layers.after.extend([] for _ in bends)
        route = [source, *bends, target]
        for one, other in pairwise(route):
            layers.after[one].append(other)
            layers.before[other].append(one)
        layers.routes.append(route)


def _walk(layers: Layers) -> list[int]:
    """All items, depth first: what belongs together comes together."""
    seen: set[int] = set()
    found: list[int] = []
    for root in range(layers.units):
        to_visit = [root] if not layers.before[root] else []
        while to_visit:
            item = to_visit.pop()
            if item not in seen:
                seen.add(item)
                found.append(item)
                to_visit += reversed(layers.after[item])
    return found


SWEEPS: Final = 8
PATIENCE: Final = 3
"""After so many sweeps without fewer crossings it is good enough."""


def order_layers(layers: Layers) -> None:
    """Reorder `layers.columns`. Equal layers are ordered equally."""
    best, fewest, waited = layers.columns, count_crossings(layers), 0
    for sweep in range(SWEEPS):
        if not fewest or waited == PATIENCE:
            break
        _sweep(layers, forward=sweep % 2 == 0)
        crossings = count_crossings(layers)
        waited += 1
        if crossings < fewest:
            best, fewest, waited = [list(column) for column in layers.columns], crossings, 0
    layers.columns = best


def _sweep(layers: Layers, *, forward: bool) -> None:
    """Put every item where the mean of its neighbours in the column before (or behind) is."""
    neighbours = layers.before if forward else layers.after
    place: dict[int, float] = {}
    columns = list(layers.columns)
    for number in range(len(columns)) if forward else reversed(range(len(columns))):
        column = columns[number]
        wanted = [_mean([place[one] for one in neighbours[item]], own) for own, item in enumerate(column)]
        column = [column[old] for old in sorted(range(len(column)), key=wanted.__getitem__)]
        columns[number] = column
        place.update(zip(column, _spread(len(column)), strict=True))
    layers.columns = columns


def _spread(count: int) -> Iterable[float]:
    return map(float, range(count))


def _mean(places: Sequence[float], own: float) -> float:
    return sum(places) / len(places) if places else own


def count_crossings(layers: Layers) -> int:
    """How often edges cross between neighbouring columns, in O(edges x log edges)."""
    crossings = 0
    for column, following in zip(layers.columns, layers.columns[1:], strict=False):
        place = {item: number for number, item in enumerate(following)}
        ends = [end for item in column for end in sorted(place[one] for one in layers.after[item])]
        crossings += _count_inversions(ends, len(following))
    return crossings


def _count_inversions(numbers: Sequence[int], size: int) -> int:
    """Pairs of which the greater one comes first: a Fenwick tree of those seen."""
    tree, inversions = [0] * (size + 1), 0
    for seen, number in enumerate(numbers):
        at, smaller_or_equal = number + 1, 0
        while at:
            smaller_or_equal += tree[at]
            at &= at - 1
        inversions += seen - smaller_or_equal
        at = number + 1
        while at <= size:
            tree[at] += 1
            at += at & -at
    return inversions
