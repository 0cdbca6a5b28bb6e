"""What a process keeps of the queues that it was asked for."""

from __future__ import annotations

import tracemalloc

from queues.engine.constants import NAME_MAX_BYTES
from queues.engine.keys import QUEUES_KEPT, Layout
from queues.engine.scripts import load

MOST_BYTES_EACH = 6_144


def test_random_names_of_queues_cost_a_bounded_amount_of_memory() -> None:
    layout = Layout(8)
    keys = load("consume").keys
    tracemalloc.start()
    try:
        for number in range(2 * QUEUES_KEPT):
            layout.queue("shop", f"{number:0{NAME_MAX_BYTES}}").select(keys)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held < QUEUES_KEPT * MOST_BYTES_EACH
