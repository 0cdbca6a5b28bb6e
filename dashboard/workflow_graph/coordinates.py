"""Heights: every item as close to the mean of its neighbours as its place in the column allows.

With the order given, the best places of a column are an isotonic regression: items that would push each other form a
group, which takes the mean of what its members want ("pool adjacent violators", linear).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from .layers import Layers

PASSES: Final = 6
GAP: Final = 14
"""Between two units of a column, in the units of the picture."""
BEND_GAP: Final = 10
BEND_WEIGHT: Final = 4.0
"""Long edges are kept straight before units are centred."""


def centre_items(layers: Layers, heights: Sequence[int]) -> list[float]:
    """The middle of each item. `heights`: of the units; a bend has none."""
    middles = [0.0] * len(layers.column_of)
    distances = [_distances(layers, heights, column) for column in layers.columns]
    for column, apart in zip(layers.columns, distances, strict=True):
        offsets = list(accumulate(apart, initial=0.0))
        for item, offset in zip(column, offsets, strict=True):
            middles[item] = offset - offsets[-1] / 2
    for number in range(PASSES):
        forward = number % 2 == 0
        both = number >= PASSES - 2
        for at in range(len(layers.columns)) if forward else reversed(range(len(layers.columns))):
            column = layers.columns[at]
            wanted = [_wanted(layers, middles, item, forward=forward, both=both) for item in column]
            weights = [1.0 if item < layers.units else BEND_WEIGHT for item in column]
            for item, middle in zip(column, settle_column(wanted, weights, distances[at]), strict=True):
                middles[item] = middle
    return middles


def _distances(layers: Layers, heights: Sequence[int], column: Sequence[int]) -> list[float]:
    """The least distance between the middles of each two that follow each other."""
    sizes = [heights[item] if item < layers.units else 0 for item in column]
    gaps = [GAP if item < layers.units else BEND_GAP for item in column]
    return [(sizes[n] + sizes[n + 1]) / 2 + max(gaps[n], gaps[n + 1]) for n in range(len(column) - 1)]


def _wanted(layers: Layers, middles: Sequence[float], item: int, *, forward: bool, both: bool) -> float:
    near = layers.before[item] if forward else layers.after[item]
    if both or not near:
        near = [*layers.before[item], *layers.after[item]]
    return sum(middles[one] for one in near) / len(near) if near else middles[item]


def settle_column(wanted: Sequence[float], weights: Sequence[float], distances: Sequence[float]) -> list[float]:
    """Places in this order, at least `distances` apart, with the least sum of weighted squares from those wanted."""
    offsets = list(accumulate(distances, initial=0.0))
    groups: list[tuple[float, float, int]] = []  # sum of weighted wishes, sum of weights, members
    for wish, weight, offset in zip(wanted, weights, offsets, strict=True):
        total, mass, members = (wish - offset) * weight, weight, 1
        while groups and groups[-1][0] * mass >= total * groups[-1][1]:
            earlier = groups.pop()
            total, mass, members = total + earlier[0], mass + earlier[1], members + earlier[2]
        groups.append((total, mass, members))
    places = [total / mass for total, mass, members in groups for _ in range(members)]
    return [place + offset for place, offset in zip(places, offsets, strict=True)]


def place_columns(widths: Sequence[int], edges: Sequence[int], *, gap: int) -> list[int]:
    """The left end of each column. Where more edges pass between two columns, there is more room for them."""
    room = [gap + min(3 * gap, 2 * count) for count in edges]
    return list(accumulate([width + between for width, between in zip(widths, room, strict=False)], initial=0))
