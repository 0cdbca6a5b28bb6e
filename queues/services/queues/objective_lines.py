"""The objectives that a chart of waits shows as lines."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from queues.models.policy import WHOLE_NAMESPACE

from .objectives import read_objectives
from .visible_queues import VisiblePools

LINES_MAX: Final = 3
"""The strictest: more would hide the chart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveLine:
    """How long ready jobs may wait, and where: the first of `places` (a queue, or a namespace as a whole) by name."""

    objective_ms: int
    first: str
    places: int


def read_objective_lines(*, visible: VisiblePools) -> tuple[ObjectiveLine, ...]:
    """Those that policies set for what is visible, the shortest first, at most LINES_MAX. Raises
    MetadataUnavailableError."""
    found: dict[int, list[str]] = defaultdict(list)
    for view in visible.pools:
        for (namespace, queue), seconds in read_objectives(pool=view.pool).seconds.items():
            if namespace in view.namespaces:
                found[seconds * 1_000].append(namespace if queue == WHOLE_NAMESPACE else queue)
    return tuple(
        ObjectiveLine(objective_ms=objective_ms, first=min(found[objective_ms]), places=len(found[objective_ms]))
        for objective_ms in sorted(found)[:LINES_MAX]
    )
