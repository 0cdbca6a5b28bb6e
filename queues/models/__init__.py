"""What people decide and did, kept in a database: pools, namespaces, tokens, limits, policies, schedules, activity; and
reports.

Jobs are in Redis only.
"""

from .activity import Activity, ActivityAction
from .namespace import Namespace, Token, TokenLimit
from .objective import ObjectiveWindow
from .policy import QueuePolicy
from .pool import DEFAULT_POOL, Pool
from .push import PushEndpoint
from .report import LakeMeasurement, QueueDay, ReportDay, ReportState, ReportTrigger
from .schedule import CatchUp, FireOutcome, Overlap, Schedule, ScheduleFire, ScheduleKind, ScheduleSource

__all__ = [
    "DEFAULT_POOL",
    "Activity",
    "ActivityAction",
    "CatchUp",
    "FireOutcome",
    "LakeMeasurement",
    "Namespace",
    "ObjectiveWindow",
    "Overlap",
    "Pool",
    "PushEndpoint",
    "QueueDay",
    "QueuePolicy",
    "ReportDay",
    "ReportState",
    "ReportTrigger",
    "Schedule",
    "ScheduleFire",
    "ScheduleKind",
    "ScheduleSource",
    "Token",
    "TokenLimit",
]
