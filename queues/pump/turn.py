"""One turn of a role: ticks while there is more to do and time to do it."""

from __future__ import annotations

import time
from collections.abc import Callable

from queues.engine import Counts, Engine

from .role import Role


def take_turn(
    role: Role,
    engine: Engine,
    *,
    should_stop: Callable[[], bool],
    now_ms: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Counts:
    """Tick once, and again as long as the tick says `more`, the role's budget lasts and nobody asks to stop.

    The sum of the ticks; its `more` is that of the last one. Raises what the engine raises.
    """
    began = clock()
    ends = began + role.budget_s
    total = counts = role.tick(engine, now_ms)
    while counts.more and clock() < ends and not should_stop():
        if role.share < 1:
            sleep((clock() - began) * (1 / role.share - 1))
        began = clock()
        counts = role.tick(engine, now_ms)
        total = total + counts
    return Counts(queues=total.queues, jobs=total.jobs, dead=total.dead, more=counts.more)
