"""Places the nodes of a workflow for its picture: from what depends on what to coordinates, in close to linear time.

Knows neither Django nor jobs; the view of a workflow calls `lay_out`. The steps are those of Sugiyama: layers by the
longest path, and an order within each with few crossings (`layers`), then coordinates (`coordinates`).
Before that, nodes with the same neighbours are put together into a block (`units`), which is placed as one.
"""

from .layout import Block, Edge, GraphLayout, count_edges, lay_out

__all__ = ["Block", "Edge", "GraphLayout", "count_edges", "lay_out"]
