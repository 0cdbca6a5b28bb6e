"""The order within each layer: barycentres, swept to and fro, for few crossings of edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from .layers import Layers

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
