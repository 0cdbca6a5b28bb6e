"""How long one client, however hostile, makes another one wait: a module per cause, each with `figures(settings)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..report import Figure, Section
from ..settings import Settings
from . import bodies, bursts, dead_letters, expiry, freeing, large_requests, passwords, patterns, reading, slow_posts

CAUSES: Final[tuple[Callable[[Settings], Sequence[Figure]], ...]] = (
    bodies.figures,
    bursts.figures,
    expiry.figures,
    freeing.figures,
    dead_letters.figures,
    large_requests.figures,
    passwords.figures,
    patterns.figures,
    reading.figures,
    slow_posts.figures,
)
"""Each takes the settings of the run and returns its figures with their bars."""


def measure(settings: Settings) -> Section:
    """The figures of every cause, in the order of CAUSES."""
    return Section(
        title="Stalls: how long one client makes others wait",
        figures=[figure for figures in CAUSES for figure in figures(settings)],
    )
