"""How numbers are shown."""

from __future__ import annotations

from typing import Final

from django import template

from queues.engine.values import QueueStats

register = template.Library()

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


@register.filter
def age(milliseconds: int | None) -> str:
    """`1500` → `1 s`: whole numbers of the largest unit that fits; a dash for None."""
    if milliseconds is None:
        return "–"
    for size, unit in _UNITS:
        if milliseconds >= size:
            return f"{milliseconds // size} {unit}"
    return "0 ms"


@register.filter
def count(queue: QueueStats, state: str) -> int:
    """Number of the queue's jobs in `state`."""
    return next((number for known, number in queue.counts.items() if known == state), 0)
