"""Child processes: starts them, restarts those that die or hang, stops them all, leaves nothing behind.

A child that dies is restarted: stopping everything because one part crashed once would turn a hiccup into an outage. A
child that cannot stay up is a mistake that a restart does not mend: after GIVE_UP_AFTER deaths in a row, each soon
after its start, a supervisor gives up, unless it is told never to. A child that hangs is killed, and then started again
(`heartbeats`). All end with the process that started them, however that ends (`parent_death_signal`).

`Child` is one process. `Supervisor` keeps several: the parts of `up`, the pages process of `serve`, the processes of
`taskq worker`. Standard library only, as workers run where there is no Django; every layer may call it.
"""

from .child import Child, last_lines
from .heartbeats import BEAT_EVERY_S, HEARTBEAT, HangDetector, has_beaten, warn_hung
from .parent_death_signal import end_with_parent, tied_to_parent
from .supervisor import (
    GIVE_UP_AFTER,
    ChildGivenUpError,
    ChildSpec,
    ExitAction,
    NotReadyError,
    RestartPolicy,
    Supervisor,
)

__all__ = [
    "BEAT_EVERY_S",
    "GIVE_UP_AFTER",
    "HEARTBEAT",
    "Child",
    "ChildGivenUpError",
    "ChildSpec",
    "ExitAction",
    "HangDetector",
    "NotReadyError",
    "RestartPolicy",
    "Supervisor",
    "end_with_parent",
    "has_beaten",
    "last_lines",
    "tied_to_parent",
    "warn_hung",
]
