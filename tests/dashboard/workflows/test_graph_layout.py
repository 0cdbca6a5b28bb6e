"""Where the nodes of a workflow are drawn: left to right, nothing over anything else, in linear time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import Any

from dashboard.workflow_graph import GraphLayout, count_edges, lay_out
from dashboard.workflow_graph.coordinates import settle_column
from dashboard.workflow_graph.layers import BENDS_PER_PART, count_crossings, make_layers, order_layers
from dashboard.workflow_graph.units import find_units, graph_of_units, make_graph
from tests.support.rows import in_one_test

from .shapes import SHAPES, Shape, bipartite, chain, fan, far_reaching, ladder, lanes, woven

WIDTH = 120
SIZE = 200


def overlaps(boxes: list[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Pairs of boxes (left, top, right, bottom) that share an inner point; sorted by left side, so few are compared."""
    order = sorted(range(len(boxes)), key=lambda one: boxes[one])
    found = []
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            if boxes[other][0] >= boxes[one][2]:
                break
            if boxes[one][1] < boxes[other][3] and boxes[other][1] < boxes[one][3]:
                found.append((one, other))
    return found


def node_boxes(layout: GraphLayout) -> list[tuple[int, int, int, int]]:
    return [(x, y, x + layout.node_width, y + layout.node_height) for x, y in layout.corners]


def unit_boxes(layout: GraphLayout) -> list[tuple[int, int, int, int]]:
    """Single nodes, and the frames of blocks."""
    frames = {block.nodes[0]: block for block in layout.blocks}
    nodes = node_boxes(layout)
    return [
        nodes[unit[0]]
        if len(unit) == 1
        else (
            frames[unit[0]].x,
            frames[unit[0]].y,
            frames[unit[0]].x + frames[unit[0]].width,
            frames[unit[0]].y + frames[unit[0]].height,
        )
        for unit in layout.units
    ]


@in_one_test("name", SHAPES)
def test_nothing_is_drawn_over_anything_else_and_all_of_it_inside(name: str) -> None:
    layout = lay_out(SHAPES[name](SIZE), node_width=WIDTH)

    assert overlaps(node_boxes(layout)) == []
    assert overlaps(unit_boxes(layout)) == []
    for left, top, right, bottom in (*node_boxes(layout), *unit_boxes(layout)):
        assert 0 <= left < right <= layout.width
        assert 0 <= top < bottom <= layout.height
    for edge in layout.edges:
        assert all(0 <= x <= layout.width for x in edge.points[::2])
        assert all(0 <= y <= layout.height for y in edge.points[1::2])


@in_one_test("name", SHAPES)
def test_a_node_stands_right_of_all_that_it_depends_on(name: str) -> None:
    shape = SHAPES[name](SIZE)
    layout = lay_out(shape, node_width=WIDTH)

    for node, needed in enumerate(shape):
        for one in needed:
            assert layout.corners[one][0] + WIDTH < layout.corners[node][0]


@in_one_test("name", SHAPES)
def test_edges_join_their_units_and_never_turn_back(name: str) -> None:
    shape = SHAPES[name](SIZE)
    layout = lay_out(shape, node_width=WIDTH)
    boxes = unit_boxes(layout)
    unit_of = {node: number for number, unit in enumerate(layout.units) for node in unit}

    wanted = {(unit_of[one], unit_of[node]) for node, needed in enumerate(shape) for one in needed}
    assert {(edge.source, edge.target) for edge in layout.edges} == {pair for pair in wanted if pair[0] != pair[1]}
    for edge in layout.edges:
        source, target = boxes[edge.source], boxes[edge.target]
        assert edge.points[0] == source[2]
        assert source[1] <= edge.points[1] <= source[3]
        assert edge.points[-2] == target[0]
        assert target[1] <= edge.points[-1] <= target[3]
        assert all(left <= right for left, right in pairwise(edge.points[::2]))


@in_one_test("name", SHAPES)
def test_the_same_graph_is_always_drawn_the_same(name: str) -> None:
    assert lay_out(SHAPES[name](SIZE), node_width=WIDTH) == lay_out(SHAPES[name](SIZE), node_width=WIDTH)


def test_a_fan_is_a_block_with_one_edge_in_and_one_out() -> None:
    layout = lay_out(fan(1_000), node_width=WIDTH)

    (block,) = layout.blocks
    assert len(block.nodes) == 998
    assert len(layout.edges) == 2
    assert layout.width < 3 * layout.height  # no line of a thousand, neither across
    assert layout.height < 3 * layout.width  # nor down


def test_only_edges_that_are_drawn_are_counted() -> None:
    """Forty nodes that all depend on forty others: two blocks, and one edge between them."""
    crossed: Shape = ((),) * 40 + (tuple(range(40)),) * 40
    assert count_edges(crossed) == len(lay_out(crossed, node_width=WIDTH).edges) == 1


def test_chains_side_by_side_are_a_block_of_chains_in_which_each_is_a_row() -> None:
    shape = lanes(302)
    layout = lay_out(shape, node_width=WIDTH)

    (block,) = layout.blocks
    assert (len(block.nodes), block.chain) == (300, 3)
    for first, second in pairwise(block.nodes):
        if shape[second] == (first,):
            assert layout.corners[first][1] == layout.corners[second][1]


def test_a_few_equal_neighbours_are_no_block() -> None:
    layout = lay_out(fan(5), node_width=WIDTH)

    assert layout.blocks == ()
    assert len(layout.edges) == 6


def test_a_chain_is_a_straight_line() -> None:
    layout = lay_out(chain(5), node_width=WIDTH)

    assert len({y for _, y in layout.corners}) == 1


def test_what_depends_on_nothing_stands_beside_what_needs_it() -> None:
    layout = lay_out((*chain(5), (), (4, 5)), node_width=WIDTH)

    assert layout.corners[5][0] == layout.corners[4][0]


def test_circles_and_unknown_nodes_are_drawn_without_what_makes_them_wrong() -> None:
    layout = lay_out(((1,), (0,), (1, 9, -1, 2), ()), node_width=WIDTH)

    assert overlaps(node_boxes(layout)) == []
    assert len(layout.corners) == 4


def test_no_nodes_are_an_empty_picture() -> None:
    layout = lay_out((), node_width=WIDTH)

    assert (layout.corners, layout.blocks, layout.edges) == ((), (), ())


def test_ordering_leaves_few_crossings() -> None:
    """Two chains of pairs that were given crosswise: no edge has to cross another one."""
    shape: Shape = ((), (), (), (), *[(3 - node,) for node in range(4)], *[(7 - node, 4) for node in range(4)])
    graph = make_graph(shape)
    layers = make_layers(graph_of_units(graph, find_units(graph)))
    before = count_crossings(layers)
    order_layers(layers)

    assert count_crossings(layers) <= before
    graph = make_graph(woven(SIZE))
    layers = make_layers(graph_of_units(graph, find_units(graph)))
    before = count_crossings(layers)
    order_layers(layers)
    assert count_crossings(layers) < 0.8 * before


def test_a_column_settles_where_it_wants_to_be_as_far_as_order_and_room_allow() -> None:
    assert settle_column([0, 100, 200], [1, 1, 1], [10, 10]) == [0, 100, 200]
    assert settle_column([50, 50], [1, 1], [10]) == [45, 55]
    assert settle_column([50, 50], [1, 4], [10]) == [42, 52]
    assert settle_column([100, 0], [1, 1], [10]) == [45, 55]


def test_long_edges_get_a_bounded_number_of_bends() -> None:
    graph = make_graph(ladder(400))
    layers = make_layers(graph)

    parts = len(graph.order) + len(graph.edges)
    assert len(layers.column_of) - layers.units <= BENDS_PER_PART * parts
    assert len(layers.routes) == len(graph.edges)


def steps_of(work: Callable[[], object]) -> int:
    """How many lines of the layout's own code run: on any machine the same."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        if "workflow_graph" not in frame.f_code.co_filename:
            return None
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


@in_one_test("shape", [chain, fan, lanes, woven, far_reaching, ladder])
def test_steps_grow_as_the_graph_does(shape: Callable[[int], Shape]) -> None:
    small, large = shape(150), shape(600)
    parts = [sum(1 + len(needed) for needed in one) for one in (small, large)]

    steps = [steps_of(lambda one=one: lay_out(one, node_width=WIDTH)) for one in (small, large)]  # type: ignore[misc]

    assert steps[1] / steps[0] < 2 * parts[1] / parts[0]  # sweeps and bends differ; quadratic work would be at 4 times


def test_steps_grow_as_the_edges_do() -> None:
    steps = [steps_of(lambda size=size: lay_out(bipartite(size), node_width=WIDTH)) for size in (100, 200)]  # type: ignore[misc]

    assert steps[1] / steps[0] < 1.3 * 4
