"""Puts the steps together: boxes of nodes, frames of blocks and the courses of edges, in whole units of the picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .coordinates import centre_items, place_columns
from .layers import Layers, make_layers, order_layers
from .units import Unit, find_units, graph_of_units, make_graph

MARGIN: Final = 24
NODE_HEIGHT: Final = 32
COLUMN_GAP: Final = 56
CHAIN_GAP: Final = 24
"""Between the nodes of a chain in a block."""
CELL_GAP: Final = 10
CHAINS_GAP: Final = 40
"""Between chains of a block side by side: more than between the nodes of one."""
FRAME: Final = 12
"""Between the frame of a block and its nodes."""
BLOCK_SHAPE: Final = 1.6
"""Width of a block by its height, as screens are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The frame around nodes with the same neighbours; `chain`: how many nodes of it follow each other."""

    x: int
    y: int
    width: int
    height: int
    nodes: tuple[int, ...]
    chain: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """From a unit to one right of it. `points`: x and y by turns; every second stretch is straight."""

    source: int
    target: int
    points: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLayout:
    """Where everything is. `corners`: the upper left one of each node. `units`: their nodes; edges connect units."""

    width: int
    height: int
    node_width: int
    node_height: int
    corners: tuple[tuple[int, int], ...]
    units: tuple[tuple[int, ...], ...]
    blocks: tuple[Block, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grid:
    """The cells of a unit: each holds one chain."""

    columns: int
    cell: int
    gap: int
    width: int
    height: int
    inset: int


def lay_out(depends_on: Sequence[Sequence[int]], *, node_width: int) -> GraphLayout:
    """`depends_on`: of each node the numbers of those that it waits for. The same graph is always drawn the same."""
    graph = make_graph(depends_on)
    units = find_units(graph)
    layers = make_layers(graph_of_units(graph, units))
    order_layers(layers)
    grids = [_grid(unit, node_width) for unit in units]
    middles = _from_the_top(centre_items(layers, [grid.height for grid in grids]), grids)
    spans = _spans(layers, grids)
    corners = [(0, 0)] * len(depends_on)
    blocks: list[Block] = []
    for number, (unit, grid) in enumerate(zip(units, grids, strict=True)):
        x, y = spans[layers.column_of[number]][0], middles[number] - grid.height // 2
        _place_nodes(corners, unit, grid, x, y, node_width)
        if unit.is_block:
            chain = len(unit.chains[0])
            blocks.append(Block(x=x, y=y, width=grid.width, height=grid.height, nodes=unit.nodes, chain=chain))
    lowest = max((middle + grid.height // 2 for middle, grid in zip(middles, grids, strict=False)), default=0)
    return GraphLayout(
        width=(spans[-1][1] if spans else MARGIN) + MARGIN,
        height=max(lowest, *middles, 0) + MARGIN,
        node_width=node_width,
        node_height=NODE_HEIGHT,
        corners=tuple(corners),
        units=tuple(unit.nodes for unit in units),
        blocks=tuple(blocks),
        edges=tuple(_edge(route, layers, grids, middles, spans) for route in layers.routes),
    )


def count_edges(depends_on: Sequence[Sequence[int]]) -> int:
    """How many edges `lay_out` would draw: those between single nodes and blocks. Linear in what is given."""
    graph = make_graph(depends_on)
    return sum(map(len, graph_of_units(graph, find_units(graph)).before))


def _from_the_top(middles: Sequence[float], grids: Sequence[_Grid]) -> list[int]:
    """Whole numbers, the uppermost edge of all at the margin. Units come first; what follows are bends."""
    tops = [middle - (grids[item].height / 2 if item < len(grids) else 0) for item, middle in enumerate(middles)]
    shift = MARGIN - min(tops, default=0)
    return [round(middle + shift) for middle in middles]


def _grid(unit: Unit, node_width: int) -> _Grid:
    cell = len(unit.chains[0]) * (node_width + CHAIN_GAP) - CHAIN_GAP
    if not unit.is_block:
        return _Grid(columns=1, cell=cell, gap=0, width=cell, height=NODE_HEIGHT, inset=0)
    count = len(unit.chains)
    gap = CHAINS_GAP if len(unit.chains[0]) > 1 else 2 * CELL_GAP
    wide, high = cell + gap, NODE_HEIGHT + CELL_GAP
    columns = min(count, max(1, round(math.sqrt(count * BLOCK_SHAPE * high / wide))))
    rows = math.ceil(count / columns)
    columns = math.ceil(count / rows)  # as many as these rows need
    return _Grid(
        columns=columns,
        cell=cell,
        gap=gap,
        width=columns * wide - gap + 2 * FRAME,
        height=rows * high - CELL_GAP + 2 * FRAME,
        inset=FRAME,
    )


def _place_nodes(corners: list[tuple[int, int]], unit: Unit, grid: _Grid, left: int, top: int, node_width: int) -> None:
    for number, chain in enumerate(unit.chains):
        row, column = divmod(number, grid.columns)
        x = left + grid.inset + column * (grid.cell + grid.gap)
        y = top + grid.inset + row * (NODE_HEIGHT + CELL_GAP)
        for place, node in enumerate(chain):
            corners[node] = (x + place * (node_width + CHAIN_GAP), y)


def _spans(layers: Layers, grids: Sequence[_Grid]) -> list[tuple[int, int]]:
    """Left and right end of each column."""
    widths = [max([grids[item].width for item in column if item < len(grids)], default=0) for column in layers.columns]
    crossing = Counter(layers.column_of[item] for item, after in enumerate(layers.after) for _ in after)
    offsets = place_columns(widths, [crossing[number] for number in range(len(widths))], gap=COLUMN_GAP)
    return [(MARGIN + left, MARGIN + left + width) for left, width in zip(offsets, widths, strict=False)]


def _edge(
    route: Sequence[int],
    layers: Layers,
    grids: Sequence[_Grid],
    middles: Sequence[int],
    spans: Sequence[tuple[int, int]],
) -> Edge:
    """Out of the right side of a unit, straight through every column, into the left side of another one."""
    source, *bends, target = route
    left, right = spans[layers.column_of[source]]
    points = [left + grids[source].width, middles[source], right, middles[source]]
    for bend in bends:
        left, right = spans[layers.column_of[bend]]
        points += [left, middles[bend], right, middles[bend]]
    points += [spans[layers.column_of[target]][0], middles[target]]
    return Edge(source=source, target=target, points=tuple(points))
