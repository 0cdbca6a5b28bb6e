"""Numbers as a mail writes them."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "–"


def count(number: int) -> str:
    """`12345` → `12,345`."""
    return f"{number:,}"


def percent(share: float | None) -> str:
    """`0.9987` → `99.87 %`: rounded down, so that 100 % means all."""
    return UNKNOWN if share is None else f"{int(share * 10_000) / 100:g} %"


def duration(ms: int | None) -> str:
    """`250` → `250 ms`, `5020` → `5.02 s`, `90061000` → `1 d 1 h`."""
    if ms is None:
        return UNKNOWN
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1_000:.3g} s"
    minutes, hours, days = ms // 60_000, ms // 3_600_000, ms // 86_400_000
    if days:
        return f"{days} d {hours % 24} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {ms // 1_000 % 60} s"
