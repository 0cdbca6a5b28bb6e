"""What a supervisor keeps running: a command line, how it shows that it works, and when it is started again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from .heartbeats import HUNG_AFTER_S

GIVE_UP_AFTER: Final = 6
"""Deaths in a row, each within STEADY_AFTER_S of the start, after which a child is given up."""

STEADY_AFTER_S: Final = 10.0
"""A child that lived this long has no bad record any more."""


class ExitAction(Enum):
    """What follows when a child has ended by itself."""

    RESTART = "restart"
    """It died: it is started again after a pause."""
    RESTART_AT_ONCE = "restart at once"
    """It asked to be started again."""
    DONE = "over"
    """It has done its work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """The first pause, doubled with each death soon after a start, up to the longest. `give_up_after`: None for never.

    `on_exit`: what follows an exit status. `action`, `level`: the log line's, when it is started again.
    """

    first_pause_s: float = 0.25
    longest_pause_s: float = 5.0
    give_up_after: int | None = GIVE_UP_AFTER
    on_exit: Callable[[int], ExitAction] = lambda _status: ExitAction.RESTART
    action: str = "restart_child"
    level: int = logging.WARNING

    def pause_s(self, deaths: int) -> float:
        """How long to wait after so many deaths in a row."""
        return min(self.longest_pause_s, self.first_pause_s * 2.0 ** min(deaths - 1, 30))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """What to run, as `Child` takes it. `env`: None for this process's own. `log` receives what it prints; None: it
    prints where this process does. `keep_fds`: open files that it inherits.

    `is_ready` tells whether it does its work yet, `is_loading` whether it still reads its data, for which it has any
    time. It hangs when it has sent no heartbeat for `hung_after_s`, or `answers`, if given, has not been true. Then it
    is killed, but not before `killed_after_s`. `sends_heartbeats` False, without `answers`: nobody looks.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    log: Path | None = None
    keep_fds: tuple[int, ...] = ()
    is_tied: bool = True
    leads_group: bool = True
    kills_group: bool = True
    is_ready: Callable[[], bool] = lambda: True
    is_loading: Callable[[], bool] = lambda: False
    sends_heartbeats: bool = True
    answers: Callable[[], bool] | None = None
    hung_after_s: float = HUNG_AFTER_S
    killed_after_s: float = 0.0
    stop_timeout_s: float = 15.0
    restarts: RestartPolicy = field(default_factory=RestartPolicy)
