"""Runs several child processes as one: starts them, restarts those that die, stops them all, leaves nothing behind.

A child that dies is restarted, for the jobs are in Redis and every part comes back by itself: stopping everything
because the pump crashed once would turn a hiccup into an outage. A child that cannot stay up is a mistake that a
restart does not mend: after GIVE_UP_AFTER deaths in a row, each soon after its start, everything stops and the
message says where to look. A child that hangs is killed, and then started again (`heartbeats`).

Standard library only; every layer may call it.
"""

from .child import Child, ChildSpec
from .heartbeats import BEAT_EVERY_S, HEART, Pulse, Watch, has_beaten
from .logs import last_lines
from .parent_death_signal import end_with_parent, tied_to_parent
from .supervisor import GIVE_UP_AFTER, ChildGivenUpError, NotReadyError, Supervisor

__all__ = [
    "BEAT_EVERY_S",
    "GIVE_UP_AFTER",
    "HEART",
    "Child",
    "ChildGivenUpError",
    "ChildSpec",
    "NotReadyError",
    "Pulse",
    "Supervisor",
    "Watch",
    "end_with_parent",
    "has_beaten",
    "last_lines",
    "tied_to_parent",
]
